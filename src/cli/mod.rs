//! One file per command: argv and terminal.
