use std::sync::Mutex;
use std::time::Duration;

use dalsegno::cli::{Failure, Format, Out, explain, out, progress};
use dalsegno::domain::{CodeSpec, Exit, ExitCode, Explained, Progress};

#[derive(Debug, thiserror::Error)]
#[error("cannot reach the store")]
struct Outer(#[source] Inner);

#[derive(Debug, thiserror::Error)]
#[error("connection refused")]
struct Inner;

impl Explained for Outer {
    fn code(&self) -> &'static str {
        "outer"
    }

    fn hint(&self) -> Option<String> {
        Some("is it running?\ndalsegno doctor".to_owned())
    }

    fn exit(&self) -> Exit {
        ExitCode::CouldNotLook
    }
}

#[test]
fn a_failure_says_what_because_of_what_and_what_to_do() {
    let failure = Failure::from(Outer(Inner));
    assert_eq!(
        failure.text(),
        "error: cannot reach the store\n  because connection refused\n\nhint: is it running?\nhint: dalsegno doctor"
    );
    assert_eq!((failure.code(), failure.exit()), ("outer", ExitCode::CouldNotLook));
}

#[test]
fn a_table_looks_like_kubectl_and_fits_its_width() {
    let out = Out::plain(Format::Table, 60);
    let rows = vec![
        vec!["pg/home/prod/keycloak-db".to_owned(), "9 h ago".to_owned(), "CRITICAL".to_owned()],
        vec!["store/minio".to_owned(), "?".to_owned(), "fine".to_owned()],
    ];
    let text = out.table(&["SUBJECT", "RESTORABLE TO", "STATE"], rows);
    insta::assert_snapshot!(text, @r"
    SUBJECT                    RESTORABLE TO   STATE
    pg/home/prod/keycloak-db   9 h ago         CRITICAL
    store/minio                ?               fine
    ");
    let long = vec![vec!["x".repeat(40), "y ".repeat(40)]];
    assert!(out.table(&["A", "B"], long.clone()).lines().all(|line| line.chars().count() <= 60));
    assert!(Out::plain(Format::Wide, 60).table(&["A", "B"], long).lines().any(|line| line.chars().count() > 60));
}

#[test]
fn control_characters_of_outside_names_are_made_visible() {
    assert_eq!(out::visible("a\u{1b}[31mb\0c\td"), "a\\u{1b}[31mb\\u{0}c\\td");
    assert_eq!(out::visible("ümlaut\nnext"), "ümlaut\nnext");
}

static CODES: &[CodeSpec] = &[
    CodeSpec {
        code: "wal-gap",
        title: "a segment is missing",
        meaning: "m",
        harm: "h",
        remedy: "r",
        sources: &["https://a", "https://b"],
    },
    CodeSpec { code: "wal-archive-failing", title: "WAL does not leave", meaning: "m", harm: "h", remedy: "r", sources: &[] },
    CodeSpec { code: "s3-clock-skew", title: "clocks differ", meaning: "m", harm: "h", remedy: "r", sources: &[] },
];

#[test]
fn near_codes_are_offered_and_far_ones_are_not() {
    assert_eq!(explain::near("wal-gapp", CODES).first(), Some(&"wal-gap"));
    assert_eq!(explain::near("archive-failing", CODES).first(), Some(&"wal-archive-failing"));
    assert_eq!(explain::near("clock", CODES).first(), Some(&"s3-clock-skew"));
    assert!(explain::near("zzzz", CODES).is_empty());
}

#[test]
fn a_code_is_explained_on_one_page() {
    let spec = CodeSpec { meaning: "one two three four five six seven eight nine ten eleven", ..CODES[0] };
    insta::assert_snapshot!(explain::page(&spec, &Out::plain(Format::Table, 40)), @r"
    wal-gap · a segment is missing

      means   one two three four five six
              seven eight nine ten eleven
      harm    h
      remedy  r
      sources https://a
              https://b
    ");
}

/// Lines that a log would get.
#[derive(Clone, Default)]
struct Heard(std::sync::Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Heard {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_log_gets_a_line_now_and_then_with_rate_and_time_left() {
    let heard = Heard::default();
    let writer = heard.clone();
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
    tracing::subscriber::with_default(subscriber, || {
        let lines = progress::Lines::new(Duration::from_millis(30));
        lines.tell("base", 0, 100 * 1024 * 1024, "B");
        lines.tell("base", 1024, 100 * 1024 * 1024, "B");
        std::thread::sleep(Duration::from_millis(40));
        lines.tell("base", 50 * 1024 * 1024, 100 * 1024 * 1024, "B");
        lines.tell("base", 60 * 1024 * 1024, 100 * 1024 * 1024, "B");
        lines.done("base");
        lines.tell("short", 1, 2, "segments");
        lines.done("short");
    });
    let text = String::from_utf8(heard.0.lock().unwrap().clone()).unwrap();
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(text.contains("base: 50.0 MiB of 100 MiB, ") && text.contains("/s, ") && text.contains(" left"), "{text}");
    assert!(text.contains("base: done, 60.0 MiB in "), "{text}");
}
