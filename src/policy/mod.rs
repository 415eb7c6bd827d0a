//! Observations → findings: good or bad, for the platform. Pure.
