//! What every error of ours offers besides its text: a code, a runnable hint, the exit it leads to.

use super::ExitCode;

/// Short for [`ExitCode`] where an error names its exit.
pub type Exit = ExitCode;

/// An error that helps. The text says what happened and where; the hint says what to run or change next.
pub trait Explained: std::error::Error {
    /// Stable kebab-case word for machines.
    fn code(&self) -> &'static str;
    /// What to do next; runnable where possible.
    fn hint(&self) -> Option<String>;
    /// The exit code the process ends with when nothing catches this.
    fn exit(&self) -> Exit;
}
