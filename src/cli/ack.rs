//! `dalsegno ack` and `dalsegno acks`: a person knows of a finding, says why nothing is to be said of it, and until when.

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::failure::Failure;
use super::out::{Out, visible};
use crate::app::{KeptAck, Ledger};
use crate::domain::{
    Ack, Exit, ExitCode, Explained, Finding, FindingKey, Severity, Span, Subject, SubjectKind, age, nearest_few,
};

/// An acknowledgement is no way to forget: it ends within this.
const LONGEST: SignedDuration = SignedDuration::from_hours(366 * 24);

/// Acknowledge a finding: it is recorded as before, and nobody is called until the acknowledgement ends.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The finding's code, as in the message
    pub code: String,
    /// Its subject, or the end of it
    pub subject: String,
    /// Why; it is shown with the finding
    #[arg(long, value_name = "TEXT", required_unless_present = "withdraw")]
    pub reason: Option<String>,
    /// Until when: a duration (12h, 14d), a day (2027-03-01) or a moment (2027-03-01T08:00:00Z)
    #[arg(long, value_name = "WHEN", required_unless_present = "withdraw")]
    pub until: Option<String>,
    /// Who acknowledges; the user of this machine when left out
    #[arg(long, value_name = "NAME", env = "DALSEGNO_AUTHOR")]
    pub author: Option<String>,
    /// Take the acknowledgement back: what is still there is said again
    #[arg(long, conflicts_with_all = ["reason", "until"])]
    pub withdraw: bool,
}

/// Acknowledgements, newest first.
#[derive(Clone, Debug, clap::Args)]
pub struct ListArgs {
    /// Those that ended or expired too
    #[arg(long)]
    pub all: bool,
    /// How many
    #[arg(long, default_value_t = 50, value_name = "NUMBER")]
    pub limit: u32,
}

/// Why a finding cannot be acknowledged.
#[derive(Debug, thiserror::Error)]
pub enum AckError {
    /// No such finding is open.
    #[error("no open finding {code} about \"{subject}\"{}", also(.others))]
    NotOpen {
        /// The code that was given.
        code: String,
        /// The subject that was given.
        subject: String,
        /// What is open and was perhaps meant.
        others: Vec<String>,
    },
    /// Several subjects answer to it.
    #[error("\"{subject}\" means several subjects: {}", .meant.join(", "))]
    Several {
        /// The subject that was given.
        subject: String,
        /// What it can mean.
        meant: Vec<String>,
    },
    /// The time is none.
    #[error("\"{0}\" is no time in the future within a year")]
    Until(String),
    /// Nobody said who.
    #[error("who acknowledges?")]
    NoAuthor,
    /// Nothing was said.
    #[error("an acknowledgement needs a reason of its own")]
    NoReason,
}

fn also(others: &[String]) -> String {
    if others.is_empty() { String::new() } else { format!(" (open: {})", others.join(", ")) }
}

impl Explained for AckError {
    fn code(&self) -> &'static str {
        match self {
            Self::NotOpen { .. } => "ack-not-open",
            Self::Several { .. } => "ack-several",
            Self::Until(_) => "ack-until",
            Self::NoAuthor => "ack-author",
            Self::NoReason => "ack-reason",
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotOpen { .. } => "dalsegno status  shows what is open".to_owned(),
            Self::Several { .. } => "give more of the subject, from its front".to_owned(),
            Self::Until(_) => "--until 12h, --until 14d, --until 2027-03-01".to_owned(),
            Self::NoAuthor => "--author NAME, or DALSEGNO_AUTHOR".to_owned(),
            Self::NoReason => "--reason \"what is known, and what is done about it\"".to_owned(),
        })
    }

    fn exit(&self) -> Exit {
        ExitCode::Usage
    }
}

/// What was done.
#[derive(Serialize)]
struct Done {
    #[serde(flatten)]
    ack: Ack,
    withdrawn: bool,
}

/// Acknowledges, or takes it back.
pub async fn run(args: &Args, ledger: &Ledger, now: Timestamp, out: &Out) -> Result<ExitCode, Failure> {
    if args.withdraw {
        return withdraw(args, ledger, now, out).await;
    }
    let open: Vec<Finding> = ledger.open_findings().await?.into_iter().map(|open| open.finding).collect();
    let finding = meant(args, &open)?;
    let given = args.until.as_deref().unwrap_or_default();
    let until = moment(given, now).filter(|until| *until > now && until.duration_since(now) <= LONGEST);
    let reason = args.reason.as_deref().unwrap_or_default().trim();
    let ack = Ack {
        key: finding.key(),
        severity: finding.severity,
        reason: if reason.is_empty() { return Err(AckError::NoReason.into()) } else { reason.to_owned() },
        author: author(args).ok_or(AckError::NoAuthor)?,
        made_at: now,
        until: until.ok_or_else(|| AckError::Until(given.to_owned()))?,
    };
    ledger.acknowledge(&ack).await?;
    let done = Done { ack, withdrawn: false };
    out.show(&done, |_| {
        let Ack { key, severity, author, until, reason, .. } = &done.ack;
        let worse = if *severity < Severity::Critical { "; something worse is said all the same" } else { "" };
        format!(
            "acknowledged  {}  {}\n  by {author} until {until} ({}): {}\n  nobody is called until then{worse}; it stays in status and history",
            key.code,
            key.subject,
            age(*until, now),
            visible(reason),
        )
    })?;
    Ok(ExitCode::Fine)
}

async fn withdraw(args: &Args, ledger: &Ledger, now: Timestamp, out: &Out) -> Result<ExitCode, Failure> {
    let kept: Vec<KeptAck> = ledger.acks(u32::MAX).await?.into_iter().filter(|kept| kept.ended_at.is_none()).collect();
    let fits = |kept: &&KeptAck| kept.ack.key.code == args.code && answers(&kept.ack.key.subject, &args.subject);
    let found: Vec<&KeptAck> = kept.iter().filter(fits).collect();
    let [one] = found.as_slice() else {
        let others = kept.iter().map(|kept| named(&kept.ack.key)).collect();
        return Err(AckError::NotOpen { code: args.code.clone(), subject: args.subject.clone(), others }.into());
    };
    ledger.withdraw_ack(&one.ack.key, now).await?;
    let done = Done { ack: one.ack.clone(), withdrawn: true };
    out.show(&done, |_| format!("withdrawn  {}\n  the next pass says what is still there", named(&done.ack.key)))?;
    Ok(ExitCode::Fine)
}

/// Lists acknowledgements.
pub async fn list(args: &ListArgs, ledger: &Ledger, now: Timestamp, out: &Out) -> Result<ExitCode, Failure> {
    let mut kept = ledger.acks(args.limit).await?;
    kept.retain(|kept| args.all || kept.holds(now));
    out.show(&kept, |out| table(&kept, now, out))?;
    Ok(ExitCode::Fine)
}

/// One line per acknowledgement.
pub fn table(kept: &[KeptAck], now: Timestamp, out: &Out) -> String {
    if kept.is_empty() {
        return "nothing is acknowledged".to_owned();
    }
    let row = |kept: &KeptAck| {
        let state = match kept.ended_at {
            Some(at) => format!("ended {}", age(at, now)),
            None if now < kept.ack.until => format!("ends {}", age(kept.ack.until, now)),
            None => format!("expired {}", age(kept.ack.until, now)),
        };
        let Ack { key, severity, author, reason, .. } = &kept.ack;
        vec![key.subject.to_string(), key.code.clone(), severity.as_str().to_uppercase(), author.clone(), state, reason.clone()]
    };
    out.table(&["SUBJECT", "CODE", "SEVERITY", "BY", "STATE", "REASON"], kept.iter().map(row).collect())
}

/// The one open finding that is meant.
fn meant<'a>(args: &Args, open: &'a [Finding]) -> Result<&'a Finding, AckError> {
    let fits: Vec<&Finding> =
        open.iter().filter(|finding| finding.code == args.code && answers(&finding.subject, &args.subject)).collect();
    match fits.as_slice() {
        [one] => Ok(one),
        [] => {
            let keys: Vec<String> = open.iter().map(|finding| named(&finding.key())).collect();
            let same = |finding: &&Finding| finding.code == args.code || answers(&finding.subject, &args.subject);
            let mut others: Vec<String> = open.iter().filter(same).map(|finding| named(&finding.key())).collect();
            if others.is_empty() {
                let asked = format!("{} {}", args.code, args.subject);
                others = nearest_few(&asked, keys.iter().map(String::as_str), 3).into_iter().map(str::to_owned).collect();
            }
            Err(AckError::NotOpen { code: args.code.clone(), subject: args.subject.clone(), others })
        }
        several => {
            // The whole of one is never the end of another by mistake.
            if let Some(whole) = several.iter().find(|finding| finding.subject.to_string() == args.subject) {
                return Ok(whole);
            }
            let meant = several.iter().map(|finding| finding.subject.to_string()).collect();
            Err(AckError::Several { subject: args.subject.clone(), meant })
        }
    }
}

fn answers(subject: &Subject, text: &str) -> bool {
    subject.answers_to(text) || (subject.kind() == SubjectKind::Dalsegno && subject.to_string() == text)
}

fn named(key: &FindingKey) -> String {
    format!("{}  {}", key.code, key.subject)
}

/// A duration from now, the end of a day in UTC, or a moment.
fn moment(text: &str, now: Timestamp) -> Option<Timestamp> {
    if let Ok(span) = text.parse::<Span>() {
        return now.checked_add(SignedDuration::try_from(span.0).ok()?).ok();
    }
    if let Ok(at) = text.parse::<Timestamp>() {
        return Some(at);
    }
    let day: jiff::civil::Date = text.parse().ok()?;
    Some(day.tomorrow().ok()?.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp())
}

fn author(args: &Args) -> Option<String> {
    let user = || std::env::var("USER").ok();
    args.author.clone().or_else(user).map(|name| name.trim().to_owned()).filter(|name| !name.is_empty())
}
