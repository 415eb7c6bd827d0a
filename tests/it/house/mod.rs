//! Suite `house`.
