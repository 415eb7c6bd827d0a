//! What dalsegno remembers, in SQLite. The only SQL of ours.
