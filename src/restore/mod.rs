//! Streams base backup and WAL into a data directory, starts and stops PostgreSQL. Implements Act.
