//! Receipts and assertions → verdict and evidence. Pure.
