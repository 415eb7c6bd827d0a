//! The nouns every room speaks, and the two contracts of a provider: [`Observe`] and [`Act`].
//!
//! Imports no other room. `async` appears in signatures only; nothing here does I/O or reads a clock
//! (`now` is always a parameter).

mod act;
mod archive;
mod check;
mod code;
mod complaint;
mod evidence;
mod expect;
mod fact;
mod finding;
mod hint;
mod id;
mod message;
mod observe;
mod place;
mod point;
mod secret;
mod span;
mod store;
mod subject;
mod verdict;
mod words;

pub use act::{Act, ActError, Call, Guard, Handle, Intent, Makes, Permit, Receipt, Refused, Risk, State, Undo, Undone, VerbSpec};
pub use archive::{
    ArchiveFact, BackupStatus, BaseBackup, EmptyObject, EndOfWal, OrphanHistory, PartialInside, SegmentSeen, SystemSeen, WalGap,
    Window,
};
pub use check::{Expectation, SqlCheck};
pub use code::{CODES, CodeSpec, code};
pub use complaint::{Complaint, Weight};
pub use evidence::{
    AssertionResult, Drilled, EVIDENCE_FORMAT, Evidence, Isolation, Outcome3, Phase, RecoveryEnd, Rpo, StepEnd, StepRecord,
};
pub use expect::{Expected, Placeholder, Policy};
pub use fact::{BUDGET_USED, Control, Denied, Fact, FactKind, Gap, Known, Memory, Observation, REQUESTS_LEFT, Requests, Sample};
pub use finding::{Change, Finding, FindingKey, Severity};
pub use hint::{Exit, Explained};
pub use id::{ProviderId, RunId, SystemId};
pub use message::Message;
pub use observe::{Cx, Observe, Progress, Quiet};
pub use place::{Place, Prefix, StoreId};
pub use point::{Mechanism, RecoveryPoint};
pub use secret::{Secret, SecretRef};
pub use span::{Span, SpanError};
pub use store::{CertificateSeen, Dialect, LifecycleRule, Right, Rights, Setting, StoreFact, UploadSeen};
pub use subject::{Subject, SubjectError, SubjectKind};
pub use verdict::{ExitCode, Verdict};
pub use words::{age, bytes_in_words, duration_in_words, rate};
