//! The clock against reality: a real PostgreSQL whose `pg_wal` is a real small volume, barman-cloud that archives to a real store, and
//! a store that refuses, or a link that is too slow, until the volume is really full. Minutes instead of days: the database switches
//! segments every second, so all of the clock's own times shrink with it.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use dalsegno::domain::{Clock, Fact, Finding, Held, Policy, Series};
use jiff::{SignedDuration, Timestamp};
use lab::barman::{Archiver, Barman, WalCompression};
use lab::link::{Link, Shape};
use lab::postgres::{Options, Postgres};
use lab::seaweed;
use lab::volume::{Kind, Volume};
use lab::{Tool, need};

use super::sim::{db, look_by};

const MIB: f64 = 1_048_576.0;
/// Bytes of WAL a second.
const LOAD: f64 = 0.8 * MIB;
const LIMIT: Duration = Duration::from_mins(8);

fn policy() -> Policy {
    Policy { archive_timeout_seconds: Some(1.0), ..Policy::default() }
}

/// What one look saw, and what the clock made of it.
struct Look {
    at: f64,
    free: f64,
    waits: f64,
    clock: Clock,
    findings: Vec<Finding>,
}

struct Bench {
    pg: Postgres,
    volume: Volume,
    archiver: Archiver,
    link: Link,
    begun: (Instant, Timestamp),
    series: Vec<(&'static str, Vec<(Timestamp, f64)>)>,
    looks: Vec<Look>,
}

/// `None` = what it needs is not here, said on stderr.
async fn bench(suite: &str, mib: u64) -> Option<Bench> {
    for tool in [Tool::Seaweed, Tool::Barman, Tool::Postgres(16)] {
        need(suite, tool)?;
    }
    let volume = match Volume::mount(Kind::Memory, mib << 20) {
        Ok(volume) => volume,
        Err(error) => {
            assert!(std::env::var_os("CI").is_none_or(|ci| ci.is_empty()), "{suite}: {error}");
            eprintln!("SKIPPED {suite}: {error}");
            return None;
        }
    };
    let weed = seaweed::shared().await.unwrap();
    let bucket = weed.fresh_bucket().await.unwrap();
    let link = Link::start(weed.endpoint(), Shape::default()).unwrap();
    let barman = Barman::new(&link.endpoint(), weed.keys().admin(), &bucket, "cnpg", "app").unwrap();
    let archiver = barman.archiver(WalCompression::None).unwrap();
    let options = Options::new(16)
        .segment_mib(1)
        .archive_command(archiver.command())
        .wal_in(volume.path())
        .setting("max_wal_size", "4MB")
        .setting("min_wal_size", "2MB")
        .setting("checkpoint_timeout", "30s")
        .setting("archive_timeout", "1s");
    let pg = Postgres::start(options).await.unwrap();
    let begun = (Instant::now(), Timestamp::now());
    Some(Bench { pg, volume, archiver, link, begun, series: Vec::new(), looks: Vec::new() })
}

impl Bench {
    fn seconds(&self) -> f64 {
        self.begun.0.elapsed().as_secs_f64()
    }

    fn now(&self) -> Timestamp {
        self.begun.1.checked_add(SignedDuration::try_from(self.begun.0.elapsed()).unwrap()).unwrap()
    }

    /// WAL for one turn, unevenly; an error is the end of the server.
    async fn write(&self, turn: u32) -> bool {
        let uneven = 0.6 + 0.8 * f64::from(turn * 7 % 10) / 9.0;
        let mut left = (LOAD * uneven * 0.5) as u64;
        while left > 0 {
            let part = left.min(200_000);
            left -= part;
            // Not transactional: it fills WAL and nothing else.
            let sql = format!("select pg_logical_emit_message(false, 'lab', repeat(md5(random()::text), {}))", part / 32 + 1);
            if self.pg.sql(&sql).await.is_err() {
                return false;
            }
        }
        true
    }

    /// One look at all numbers, and the clock of it.
    async fn look(&mut self) -> bool {
        let sql = "select concat_ws(' ', (pg_current_wal_lsn() - '0/0'::pg_lsn)::text, \
                   (select count(*) from pg_ls_archive_statusdir() where name like '%.ready'), archived_count, failed_count, \
                   (select coalesce(sum(size), 0) from pg_ls_waldir())) from pg_stat_archiver";
        let Ok(text) = self.pg.value(sql).await else { return false };
        let numbers: Vec<f64> = text.split(' ').map(|word| word.parse().unwrap()).collect();
        let space = self.volume.space().unwrap();
        let names = ["wal_position_bytes", "wal_ready_count", "wal_archived_count", "wal_failed_count", "wal_bytes"];
        let room = [("wal_volume_available_bytes", space.available as f64), ("wal_volume_capacity_bytes", space.capacity as f64)];
        let now = self.now();
        for (name, value) in names.into_iter().zip(numbers).chain(room) {
            match self.series.iter_mut().find(|(known, _)| *known == name) {
                Some((_, points)) => points.push((now, value)),
                None => self.series.push((name, vec![(now, value)])),
            }
        }
        let mut facts: Vec<Fact> = self
            .series
            .iter()
            .map(|(name, points)| {
                let metric = (*name).to_owned();
                Fact::Series(Series { subject: db("app"), metric, source: "sql".into(), points: points.clone() })
            })
            .collect();
        facts.push(Fact::Archive(Box::new(dalsegno::domain::ArchiveFact {
            segment_size: Some(1 << 20),
            ..crate::policy::scene::archive("app")
        })));
        let (clock, mut findings) = look_by(now, facts, policy());
        findings.retain(|finding| {
            ["wal-archiving-failing-disk-clock", "wal-archive-lag-growing", "wal-archive-draining"]
                .contains(&finding.code.as_str())
        });
        let waits = clock.held_bytes.unwrap_or_default();
        self.looks.push(Look { at: self.seconds(), free: space.available as f64, waits, clock, findings });
        true
    }

    /// Writes and looks until the server is gone, or so many seconds.
    async fn live(&mut self, seconds: f64) -> bool {
        let until = self.seconds() + seconds;
        let mut turn = 0;
        while self.seconds() < until {
            let next = Instant::now() + Duration::from_millis(500);
            turn += 1;
            if !self.write(turn).await || (turn % 2 == 0 && !self.look().await) || !self.pg.is_running() {
                return false;
            }
            tokio::time::sleep(next.saturating_duration_since(Instant::now())).await;
        }
        true
    }

    /// How many of the ranges that were said held what was true.
    fn held(&self, from: f64, full: f64) -> (usize, usize) {
        let said = self.looks.iter().filter(|look| look.at >= from).filter_map(|look| {
            let within = look.clock.full_in?;
            // A look takes a second, and so does the last segment.
            let truth = full - look.at;
            Some(within.low - 2.0 <= truth && truth <= within.high + 2.0)
        });
        let said: Vec<bool> = said.collect();
        (said.iter().filter(|held| **held).count(), said.len())
    }

    fn told(&self, from: f64) -> Vec<String> {
        self.looks
            .iter()
            .filter(|look| look.at >= from)
            .map(|look| format!("{:.0} s: {} waits {:.1} MiB, {:?}", look.at, look.clock, look.waits / MIB, look.clock.no_number))
            .collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_refuses_fills_the_volume_when_the_clock_said() {
    let Some(mut bench) = bench("clock: a store that refuses", 48).await else { return };
    assert!(bench.live(12.0).await, "{}", bench.pg.log_end());
    bench.archiver.break_credentials().unwrap();
    let outage = bench.seconds();
    let lived = bench.live(LIMIT.as_secs_f64()).await;
    let full = bench.seconds();
    assert!(!lived, "the volume was never full: {:#?}", bench.told(outage));
    assert!(bench.pg.log().contains("No space left on device"), "{}", bench.pg.log_end());
    let (held, said) = bench.held(outage, full);
    assert!(said >= 10 && held * 10 >= said * 8, "{held} of {said}, full after {full:.0} s: {:#?}", bench.told(outage));
    let first = bench.looks.iter().find(|look| look.clock.full_in.is_some()).unwrap();
    assert!(full - first.at > (full - outage) * 0.5, "first said after {:.0} s of {:.0}", first.at - outage, full - outage);
    let codes = bench.looks.iter().filter(|look| look.at > outage + 6.0).flat_map(|look| &look.findings);
    assert!(codes.clone().count() > 10 && codes.clone().all(|finding| finding.code == "wal-archiving-failing-disk-clock"));
    draw(&bench, outage, full);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_that_is_too_slow_fills_the_volume_though_nothing_fails() {
    let Some(mut bench) = bench("clock: a link that is too slow", 64).await else { return };
    bench.link.shape(Shape::wide_area(Duration::from_millis(20), 250_000));
    let begun = bench.seconds();
    let lived = bench.live(LIMIT.as_secs_f64()).await;
    let full = bench.seconds();
    assert!(!lived, "the volume was never full: {:#?}", bench.told(begun));
    let failed = bench.series.iter().find(|(name, _)| *name == "wal_failed_count").unwrap().1.last().unwrap().1;
    let archived = bench.series.iter().find(|(name, _)| *name == "wal_archived_count").unwrap().1.last().unwrap().1;
    assert!(failed < 0.5 && archived > 3.0, "{failed} failed, {archived} archived: the link is slow, not broken");
    let slower: Vec<&Look> = bench.looks.iter().filter(|look| look.clock.held == Held::ArchivingIsSlower).collect();
    assert!(slower.len() > 10, "{:#?}", bench.told(begun));
    let (held, said) = bench.held(begun, full);
    assert!(said >= 10 && held * 10 >= said * 8, "{held} of {said}, full after {full:.0} s: {:#?}", bench.told(begun));
}

#[tokio::test(flavor = "multi_thread")]
async fn after_the_repair_the_backlog_drains_when_the_clock_said() {
    let Some(mut bench) = bench("clock: a repair", 64).await else { return };
    assert!(bench.live(6.0).await);
    bench.archiver.break_credentials().unwrap();
    assert!(bench.live(20.0).await, "{}", bench.pg.log_end());
    bench.archiver.mend_credentials().unwrap();
    let repaired = bench.seconds();
    // Nobody writes any more: what waits can only get less.
    let mut empty = None;
    while empty.is_none() && bench.seconds() < repaired + 240.0 {
        assert!(bench.look().await);
        tokio::time::sleep(Duration::from_millis(700)).await;
        empty = bench.looks.last().filter(|look| look.clock.ready.is_some_and(|ready| ready <= 1.0)).map(|look| look.at);
    }
    let empty = empty.expect("it drains");
    let draining: Vec<&Look> =
        bench.looks.iter().filter(|look| look.at > repaired && look.clock.held == Held::Draining).collect();
    assert!(draining.len() > 3, "{:#?}", bench.told(repaired));
    let said: Vec<bool> = draining
        .iter()
        .filter_map(|look| {
            look.clock.drained_in.map(|within| (empty - look.at) <= within.high + 3.0 && within.low <= empty - look.at + 3.0)
        })
        .collect();
    assert!(said.len() > 2 && said.iter().filter(|held| **held).count() * 10 >= said.len() * 7, "{:#?}", bench.told(repaired));
    assert!(draining.iter().all(|look| look.findings.iter().all(|finding| finding.code == "wal-archive-draining")));
}

/// The picture of docs/concepts/clock.md, with its data; written only with `UPDATE_DOCS=1`.
fn draw(bench: &Bench, outage: f64, full: f64) {
    if std::env::var_os("UPDATE_DOCS").is_none() {
        return;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/concepts");
    let mut csv = String::from("seconds,free_bytes,waiting_bytes,low_seconds,middle_seconds,high_seconds,true_seconds\n");
    for look in &bench.looks {
        let (low, middle, high) = look.clock.full_in.map_or_else(
            || (String::new(), String::new(), String::new()),
            |within| (format!("{:.1}", within.low), format!("{:.1}", within.middle), format!("{:.1}", within.high)),
        );
        writeln!(csv, "{:.1},{:.0},{:.0},{low},{middle},{high},{:.1}", look.at, look.free, look.waits, full - look.at).unwrap();
    }
    std::fs::write(folder.join("clock-run.csv"), &csv).unwrap();
    std::fs::write(folder.join("clock-run.svg"), picture(bench, outage, full)).unwrap();
}

fn picture(bench: &Bench, outage: f64, full: f64) -> String {
    let (wide, tall, left, top) = (720.0, 300.0, 60.0, 24.0);
    let most = (full - outage) * 2.0;
    let x = |at: f64| left + at / full * wide;
    let y = |seconds: f64| top + tall - seconds.min(most) / most * tall;
    let capacity = bench.looks.iter().map(|look| look.free).fold(1.0, f64::max);
    let free = |bytes: f64| top + tall - bytes / capacity * tall;
    let said: Vec<(f64, f64, f64, f64)> = bench
        .looks
        .iter()
        .filter_map(|look| look.clock.full_in.map(|within| (look.at, within.low, within.middle, within.high)))
        .collect();
    let line = |points: Vec<(f64, f64)>| points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect::<Vec<_>>().join(" ");
    let upper = said.iter().map(|(at, _, _, high)| (x(*at), y(*high)));
    let lower = said.iter().rev().map(|(at, low, _, _)| (x(*at), y(*low)));
    let band = line(upper.chain(lower).collect());
    let middle = line(said.iter().map(|(at, _, middle, _)| (x(*at), y(*middle))).collect());
    let space = line(bench.looks.iter().map(|look| (x(look.at), free(look.free))).collect());
    let mut svg = String::new();
    let text = |svg: &mut String, at: (f64, f64), anchor: &str, words: &str| {
        writeln!(svg, "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"{anchor}\">{words}</text>", at.0, at.1).unwrap();
    };
    writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0} {:.0}\" font-family=\"sans-serif\" font-size=\"12\">",
        left + wide + 60.0,
        top + tall + 48.0
    )
    .unwrap();
    writeln!(svg, "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>").unwrap();
    writeln!(svg, "<polygon points=\"{band}\" fill=\"#cfe3f5\"/>").unwrap();
    writeln!(svg, "<polyline points=\"{middle}\" fill=\"none\" stroke=\"#2b6cb0\" stroke-width=\"1.5\"/>").unwrap();
    writeln!(svg, "<polyline points=\"{space}\" fill=\"none\" stroke=\"#999999\" stroke-dasharray=\"4 3\"/>").unwrap();
    let truth = line(vec![(x(outage), y(full - outage)), (x(full), y(0.0))]);
    writeln!(svg, "<polyline points=\"{truth}\" fill=\"none\" stroke=\"#c53030\" stroke-width=\"2\"/>").unwrap();
    let (bottom, right) = (top + tall, left + wide);
    writeln!(svg, "<path d=\"M{left} {top}V{bottom}H{right}\" fill=\"none\" stroke=\"#333333\"/>").unwrap();
    writeln!(svg, "<path d=\"M{0:.1} {top}V{bottom}\" stroke=\"#333333\" stroke-dasharray=\"2 3\"/>", x(outage)).unwrap();
    for part in 0..=4 {
        let seconds = most * f64::from(part) / 4.0;
        text(&mut svg, (left - 6.0, y(seconds) + 4.0), "end", &format!("{seconds:.0} s"));
        let at = full * f64::from(part) / 4.0;
        text(&mut svg, (x(at), bottom + 18.0), "middle", &format!("{at:.0} s"));
    }
    text(&mut svg, (x(outage) + 4.0, top + 12.0), "start", "the store refuses");
    text(&mut svg, (left + wide, bottom + 40.0), "end", "since the start");
    let key = "until full: band = range said, blue = its middle, red = true; dashed = free bytes";
    text(&mut svg, (left, top - 8.0), "start", key);
    svg.push_str("</svg>\n");
    svg
}
