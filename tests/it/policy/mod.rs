//! Suite `policy`.
