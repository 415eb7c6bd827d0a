//! Files and environment → settings, or all mistakes at once.
