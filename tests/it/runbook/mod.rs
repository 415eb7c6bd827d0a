//! Suite `runbook`.
