//! Suite `conductor`.
