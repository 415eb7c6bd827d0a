//! Logs: tracing to stderr, as text or JSON.
