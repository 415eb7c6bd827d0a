//! The only user of the S3 client: list, get, range, put, head, multipart, probe.
