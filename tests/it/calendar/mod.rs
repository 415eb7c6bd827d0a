//! Calendars: what robfig/cron says of several thousand texts, and what must hold of every one.

mod corners;
mod golden;
mod properties;
