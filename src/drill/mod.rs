//! Receipts and assertions → verdict and evidence. Pure: `now` is a parameter, nothing is read from outside.
//!
//! There are three verdicts. *Proven* needs every ingredient; *failed* needs something that was looked at and is bad; all the
//! rest, our own lacks included, is *unknown*.

mod declared;
mod evidence;
mod facts;
mod judge;
mod reason;
mod report;
mod rpo;

pub use declared::{Course, Declared};
pub use evidence::evidence;
pub use judge::{Judgement, judge};
pub use report::{headline, report, step_line};
