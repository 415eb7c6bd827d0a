//! Suite `drill`.

mod evidence;
pub(crate) mod flow;
mod judge;
pub(crate) mod perfect;
mod report;
