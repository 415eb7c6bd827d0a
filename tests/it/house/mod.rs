//! Suite `house`: the rules of the layout, read from the source itself.

mod codes;
mod imports;
mod names;
mod tls;
