//! When, and in which order: the pass, schedules, locks.
