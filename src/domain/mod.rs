//! The nouns every room speaks, and the two contracts of a provider: [`Observe`] and [`Act`].
//!
//! Imports no other room. `async` appears in signatures only; nothing here does I/O or reads a clock
//! (`now` is always a parameter).

mod act;
mod alert;
mod archive;
mod attention;
mod calendar;
mod check;
mod clock;
mod cnpg;
mod cnpg_seen;
mod cnpg_site;
mod code;
mod complaint;
mod digest;
mod evidence;
mod expect;
mod fact;
mod finding;
mod hint;
mod id;
mod kube;
mod message;
pub mod metric;
mod mode;
mod nearest;
mod observe;
mod place;
mod placeholder;
mod point;
mod rbac;
mod secret;
mod series;
mod span;
mod store;
mod subject;
pub mod verb_names;
mod verdict;
mod words;

pub use self::kube::{Condition, KubeId, KubeName, KubeUid, SecretKey};
pub use act::{
    Act, ActError, Call, Effect, Guard, Handle, Intent, Makes, Permit, Receipt, Refused, Risk, State, Stray, Touch, Undo, Undone,
    VerbSpec,
};
pub use alert::{Ack, Alert, Ended, Glance, Heard, Notice, Silence, Told, alert_key};
pub use archive::{
    ArchiveFact, BackupStatus, BaseBackup, EmptyObject, EndOfWal, Keep, OrphanHistory, PartialInside, SegmentSeen, SystemSeen,
    WalGap, Window,
};
pub use attention::{Attention, Awaited, AwaitedWhat, Maintenance, Subjects, Times};
pub use calendar::{Calendar, CalendarError, Dialect as CalendarDialect};
pub use check::{Expectation, SqlCheck};
pub use clock::{Clock, Held, NoNumber, Outage, WalVolume, Within};
pub use cnpg::{ArchiveRef, Bootstrap, CnpgFact, ExternalCluster, LiveLocation, RecoveryTarget};
pub use cnpg_seen::{
    ClaimSeen, CnpgBackup, CnpgSchedule, ContainerSeen, EventSeen, JobSeen, ObjectStoreSeen, PodSeen, RecoveryWindowSeen,
};
pub use cnpg_site::{AlertRulesFact, CnpgGone, CnpgSiteFact, ConfiguredLocation, LastPosition, normal_endpoint};
pub use code::{CODES, CodeSpec, code};
pub use complaint::{Complaint, Weight};
pub use digest::{hex, sha256_hex, unhex};
pub use evidence::{
    AssertionResult, CheckEnd, CoveredBy, EVIDENCE_FORMAT, Evidence, Expects, Isolation, Phase, RecoveryEnd, Restored,
    RestoredBy, Rpo, StepEnd, StepRecord,
};
pub use expect::{Expected, Placeholder, Policy};
pub use fact::{
    BUDGET_USED, Control, Denied, Fact, FactKind, Gap, Known, Memory, Observation, REQUESTS_LEFT, Requests, SERIES_ABSENT, Sample,
};
pub use finding::{Change, Finding, FindingKey, Severity};
pub use hint::{Exit, Explained};
pub use id::{ProviderId, RunId, SystemId};
pub use message::Message;
pub use mode::{Holder, Mode};
pub use nearest::{nearest, nearest_few};
pub use observe::{Cx, Discovered, Observe, Progress, Quiet};
pub use place::{ArchivePlace, Place, Prefix, StoreId};
pub use placeholder::{Kind as ValueKind, is_placeholder};
pub use point::{Mechanism, RecoveryPoint};
pub use rbac::{RbacRule, RbacScope};
pub use secret::{Secret, SecretRef};
pub use series::Series;
pub use span::{Span, SpanError};
pub use store::{
    CertificateSeen, Dialect, Immutability, LifecycleRule, Right, Rights, Setting, StoreFact, StorePart, UploadSeen,
};
pub use subject::{Subject, SubjectError, SubjectKind};
pub use verdict::{ExitCode, Verdict};
pub use words::{Count, age, bytes_in_words, duration_in_words, many, rate};
