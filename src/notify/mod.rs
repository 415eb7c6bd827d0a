//! Finding changes → channels: maps and sends.
