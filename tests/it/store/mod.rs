//! Suite `store`: against a real SeaweedFS where one is there, and always against a small server of our own that can misbehave.

pub mod bucket;
pub mod mock;
pub mod real;

mod endpoint;
mod errors;
mod guard;
mod hostile;
mod probe;
mod reads;
mod speed;
mod wire_headers;
