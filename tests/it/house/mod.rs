//! Suite `house`: the rules of the layout, read from the source itself.

mod imports;
mod names;
mod tls;
