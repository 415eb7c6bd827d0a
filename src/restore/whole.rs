//! Whether all of the base backup came back: a part of a split tar that is lost leaves no mark in the names of what is there.

use std::time::Instant;

use super::held::seconds;
use super::session::{As, Door, Session, words};
use crate::domain::{AssertionResult, CheckEnd, bytes_in_words};

/// `cluster_size` is the sum of the tablespaces' sizes when the backup began. What was dropped, truncated or vacuumed away while it
/// ran, and files of sorts that barman-cloud leaves out, are in it and not in the tars: a tenth is allowed for them, and on small
/// clusters one large sort's worth.
const SLACK_SHARE: u64 = 10;
const SLACK_BYTES: u64 = 64 << 20;

/// Every file that a catalogue names must be there, and hold the pages that VACUUM last counted: half of them are allowed to be gone.
/// Sizes of the first gigabyte file count only as far as files follow each other, so that a lost one in the middle shows.
const FILES: &str = "select count(*), \
    count(*) filter (where missing), min(path) filter (where missing), \
    count(*) filter (where short and not missing), min(path) filter (where short and not missing) \
    from (select path, (pg_catalog.pg_stat_file(path, true)).size is null as missing, \
            relpages >= 256 and pg_catalog.pg_relation_size(oid) < relpages::pg_catalog.int8 * block / 2 as short \
        from (select c.oid, c.relpages, pg_catalog.pg_relation_filepath(c.oid) as path, \
                pg_catalog.current_setting('block_size')::pg_catalog.int8 as block \
            from pg_catalog.pg_class c \
            where c.relkind in ('r', 'i', 'S', 't', 'm') and c.relpersistence = 'p') named \
        where path is not null) files";

/// The restored bytes against what the cluster had.
pub fn base_size(restored: u64, cluster: Option<u64>) -> Option<AssertionResult> {
    let cluster = cluster?;
    let least = cluster.saturating_sub((cluster / SLACK_SHARE).max(SLACK_BYTES));
    // Too little can have an honest reason, so it does not say that the archive is bad; it is no proof either.
    let outcome = if restored >= least { CheckEnd::Passed } else { CheckEnd::Undecided };
    Some(AssertionResult {
        name: "base-size".to_owned(),
        expected: format!("at least {} (cluster_size of backup.info, less what may go while it is read)", bytes_in_words(least)),
        seen: bytes_in_words(restored),
        end: outcome,
        tells_stale: false,
        seconds: 0.0,
    })
}

/// Asks each database for the files of its relations.
pub async fn relation_files(door: &Door, role: &str, databases: &[String]) -> AssertionResult {
    let began = Instant::now();
    let (mut files, mut missing, mut short, mut not_asked) = (0_u64, Vec::new(), Vec::new(), Vec::new());
    for database in databases {
        let row = async {
            let mut session = Session::open(door, As::Superuser(role), database, &[]).await?;
            let row = session.row(FILES).await;
            session.close().await;
            row
        };
        let row = match row.await {
            Ok(row) => row,
            Err(error) => {
                not_asked.push(format!("{database}: {}", words(&error)));
                continue;
            }
        };
        let number = |at: usize| row.get(at).and_then(Option::as_deref).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
        let path = |at: usize| row.get(at).cloned().flatten().unwrap_or_default();
        files = files.saturating_add(number(0));
        if number(1) > 0 {
            missing.push(format!("{} of {database}, the first is {}", number(1), path(2)));
        }
        if number(3) > 0 {
            short.push(format!("{} of {database}, the first is {}", number(3), path(4)));
        }
    }
    let (outcome, seen) = match (missing.is_empty(), short.is_empty() && not_asked.is_empty()) {
        (false, _) => (CheckEnd::Failed, format!("files that the catalogue names are not there: {}", missing.join("; "))),
        (true, true) => (CheckEnd::Passed, format!("{files} files in {} databases", databases.len())),
        (true, false) if short.is_empty() => (CheckEnd::Undecided, format!("could not be asked: {}", not_asked.join("; "))),
        (true, false) => (CheckEnd::Undecided, format!("files much shorter than VACUUM counted: {}", short.join("; "))),
    };
    AssertionResult {
        name: "relation-files".to_owned(),
        expected: "the files of all relations are there".to_owned(),
        seen,
        end: outcome,
        tells_stale: false,
        seconds: seconds(began),
    }
}
