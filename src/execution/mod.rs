//! Runs a plan: journal, act, undo, finally, sweep.
