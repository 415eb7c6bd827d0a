//! JUnit XML of a check, for the test reports of CI: one case per subject and code; a subject without findings is one case that passes.
//!
//! The form: <https://github.com/testmoapp/junitxml>.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::check::word;
use crate::conductor::Checked;
use crate::domain::{Exit, ExitCode, Explained, Finding, Severity, Subject};

/// Why no report was written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}", .0.display())]
pub struct JunitError(PathBuf, #[source] std::io::Error);

impl Explained for JunitError {
    fn code(&self) -> &'static str {
        "file-not-written"
    }

    fn hint(&self) -> Option<String> {
        Some("does the folder exist, and may this user write there?".to_owned())
    }

    fn exit(&self) -> Exit {
        ExitCode::CouldNotLook
    }
}

/// Writes the report, over an older one.
pub fn write(file: &Path, checked: &Checked, threshold: Severity) -> Result<(), JunitError> {
    std::fs::write(file, report(checked, threshold)).map_err(|error| JunitError(file.to_owned(), error))
}

/// The report. A finding below the threshold passes and says so; what could not be looked at is an error, never a pass.
pub fn report(checked: &Checked, threshold: Severity) -> String {
    let found: BTreeSet<&Subject> = checked.findings.iter().map(|finding| &finding.subject).collect();
    let fine: Vec<&Subject> = checked.seen.iter().filter(|subject| !found.contains(subject)).collect();
    let fails = |finding: &&Finding| !finding.could_not_look && finding.severity >= threshold;
    let failures = checked.findings.iter().filter(fails).count();
    let errors = checked.findings.iter().filter(|finding| finding.could_not_look).count() + checked.bugs.len();
    let tests = checked.findings.len() + checked.bugs.len() + fine.len();
    let counts = format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" time=\"{:.3}\"", checked.seconds);
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"dalsegno\" {counts}>\n  <testsuite name=\"dalsegno check\" {counts} timestamp=\"{}\">\n",
        checked.now
    );
    for finding in &checked.findings {
        let element = if finding.could_not_look {
            "error"
        } else if fails(&finding) {
            "failure"
        } else {
            "system-out"
        };
        let _ = write!(text, "{}", case(finding, element));
    }
    for (subject, kind) in &checked.bugs {
        let said = format!("neither fact nor gap ({kind:?}); please report this");
        let _ = write!(
            text,
            "    <testcase classname=\"{}\" name=\"looked-at\">\n      <error message=\"{}\"/>\n    </testcase>\n",
            escaped(&subject.to_string()),
            escaped(&said)
        );
    }
    for subject in fine {
        let _ = writeln!(text, "    <testcase classname=\"{}\" name=\"no findings\"/>", escaped(&subject.to_string()));
    }
    text.push_str("  </testsuite>\n</testsuites>\n");
    text
}

fn case(finding: &Finding, element: &str) -> String {
    let mut lines = vec![finding.summary.clone(), format!("because {}", finding.cause)];
    lines.extend(finding.evidence.iter().map(|line| format!("seen    {line}")));
    lines.push(format!("hint    {}", finding.remedy));
    let attributes = if element == "system-out" {
        String::new()
    } else {
        format!(" type=\"{}\" message=\"{}\"", word(finding), escaped(&finding.summary))
    };
    format!(
        "    <testcase classname=\"{}\" name=\"{}\">\n      <{element}{attributes}>{}</{element}>\n    </testcase>\n",
        escaped(&finding.subject.to_string()),
        escaped(&finding.code),
        escaped(&lines.join("\n"))
    )
}

/// For text and attributes; what XML 1.0 cannot hold is replaced (<https://www.w3.org/TR/xml/#charsets>).
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&apos;"),
            '\n' | '\t' => safe.push(c),
            '\u{FFFE}' | '\u{FFFF}' => safe.push('\u{FFFD}'),
            c if c.is_control() => safe.push('\u{FFFD}'),
            c => safe.push(c),
        }
    }
    safe
}
