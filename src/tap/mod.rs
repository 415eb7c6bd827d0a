//! The seam to the outside: live, recording and replaying forms of each kind of call.
