//! The layout of a barman-cloud archive of PostgreSQL: names, records, headers, catalogue, windows. Pure: no I/O, no clock.
