//! The volume that holds pg_wal: full, not growing although it was told to, or too small for what the settings permit.

use super::super::ground::{Ground, HOUR, MINUTE, say, some_of};
use super::numbers::Numbers;
use super::stand;
use crate::domain::{Bootstrap, ClaimSeen, CnpgFact, Finding, PodSeen, Severity, bytes_in_words, metric};

/// A volume grows within minutes where storage can do it while it is in use.
const RESIZE: f64 = 15.0 * MINUTE;
/// The instance manager's exit code for "not one free segment on the WAL volume".
const NO_ROOM: i32 = 4;
/// What the kernel and the instance manager say when there is none.
const NO_ROOM_SAID: &[&str] = &["No space left on device", "low-disk space condition"];
/// PostgreSQL's default for max_wal_size.
const MAX_WAL_SIZE: u64 = 1 << 30;
/// CNPG's default for wal_keep_size; PostgreSQL's own is 0.
const WAL_KEEP_SIZE: u64 = 512 << 20;
/// PostgreSQL's default segment.
const SEGMENT: u64 = 16 << 20;
/// The rate of WAL is taken over half an hour at least: shorter looks see one checkpoint or none.
const RATE_WINDOW: f64 = HOUR / 2.0;

pub(super) fn judge(ground: &Ground, cluster: &CnpgFact) -> Vec<Finding> {
    if cluster.deleting.is_some() {
        return Vec::new();
    }
    let numbers = Numbers::of(ground, cluster);
    let resize = resize(ground, cluster);
    // The operator does not resize what lacks room: that is the cause, and a full volume its sign.
    let told = resize.as_ref().is_some_and(|finding| finding.severity == Severity::Critical);
    let full = if told || stand::is_asleep(cluster) { None } else { full(cluster, &numbers) };
    let room = if full.is_none() && !told { headroom(ground, cluster) } else { None };
    [resize, full, room].into_iter().flatten().collect()
}

/// The operator says that room is short. Its phase is a text; this word of it has stood since 1.20.
fn says_no_room(cluster: &CnpgFact) -> bool {
    let short =
        |text: &Option<String>| text.as_deref().is_some_and(|text| text.to_ascii_lowercase().contains("enough disk space"));
    short(&cluster.phase)
}

fn segment(cluster: &CnpgFact) -> u64 {
    let of_bootstrap = match &cluster.bootstrap {
        Bootstrap::Initdb { wal_segment_mb, .. } => wal_segment_mb.map(|mb| u64::from(mb) << 20),
        _ => None,
    };
    cluster.last_position.as_ref().map(|position| position.segment).or(of_bootstrap).unwrap_or(SEGMENT)
}

/// What a pod shows of a full volume: PostgreSQL's container, ended for want of room, or its words before the end.
fn signs(pod: &PodSeen) -> Vec<String> {
    let ended = pod
        .containers
        .iter()
        .filter(|container| {
            container.name == "postgres" && container.last_exit == Some(NO_ROOM) && container.running != Some(true)
        })
        .map(|container| {
            let waits = container.waiting.as_deref().unwrap_or("down");
            format!(
                "pod {}: container postgres ended with exit code {NO_ROOM}, {} restart(s), {waits}",
                pod.name, container.restarts
            )
        });
    let said = pod.log.iter().flatten().rfind(|line| NO_ROOM_SAID.iter().any(|words| line.contains(words)));
    ended.chain(said.map(|line| format!("pod {}: {line}", pod.name))).collect()
}

fn full(cluster: &CnpgFact, numbers: &Numbers) -> Option<Finding> {
    let need = segment(cluster) as f64;
    let free = numbers.room.map(|(free, _)| free);
    let answers = stand::primary(cluster).and_then(|pod| pod.ready) == Some(true);
    // Old log lines and a phase that stayed: a volume with room and a server that answers show that it is over.
    if free.is_some_and(|free| free >= 2.0 * need) && (answers || !says_no_room(cluster)) {
        return None;
    }
    let stuck: Vec<&PodSeen> =
        cluster.pods.iter().flatten().filter(|pod| pod.ready != Some(true) && !signs(pod).is_empty()).collect();
    let no_segment = free.is_some_and(|free| free < need);
    let says = says_no_room(cluster) && !answers;
    if stuck.is_empty() && !no_segment && !says {
        return None;
    }
    let pod = stuck.first().map_or_else(|| stand::primary_name(cluster), |pod| pod.name.clone());
    let mut evidence: Vec<String> = stuck.iter().flat_map(|pod| signs(pod)).collect();
    evidence.extend(cluster.phase.as_ref().filter(|_| says).map(|phase| format!("phase \"{phase}\"")));
    evidence.extend(numbers.lines());
    let claim = claim_of(cluster, &pod);
    let wanted = claim
        .and_then(|claim| claim.capacity)
        .map_or_else(|| "SIZE".to_owned(), |bytes| format!("{}Gi", (bytes >> 30) + (bytes >> 31) + 1));
    let name = claim.map_or_else(|| usual_claim(cluster, &pod), |claim| claim.name.clone());
    let field = if cluster.wal_storage.is_some() { "walStorage" } else { "storage" };
    Some(Finding {
        evidence,
        cause: format!(
            "less than one WAL segment ({}) is free on the volume of {pod} that holds pg_wal",
            bytes_in_words(segment(cluster))
        ),
        remedy: format!(
            "kubectl -n {} patch pvc {name} -p '{{\"spec\":{{\"resources\":{{\"requests\":{{\"storage\":\"{wanted}\"}}}}}}}}', then the same size in \
             spec.{field}.size; repair archiving; never delete from pg_wal; take a base backup afterwards",
            cluster.cluster.namespace
        ),
        ..say(
            "wal-volume-full",
            Severity::Critical,
            &cluster.subject,
            format!("the volume that holds pg_wal of {pod} is full: PostgreSQL does not run until it grows"),
        )
    })
}

/// The role of the claims that hold pg_wal.
const fn wal_role(cluster: &CnpgFact) -> &'static str {
    if cluster.wal_storage.is_some() { "PG_WAL" } else { "PG_DATA" }
}

fn claim_of<'a>(cluster: &'a CnpgFact, pod: &str) -> Option<&'a ClaimSeen> {
    let role = wal_role(cluster);
    cluster.claims.iter().flatten().find(|claim| claim.instance.as_deref() == Some(pod) && claim.role.as_deref() == Some(role))
}

fn usual_claim(cluster: &CnpgFact, pod: &str) -> String {
    if cluster.wal_storage.is_some() { format!("{pod}-wal") } else { pod.to_owned() }
}

/// What keeps a claim from growing.
struct Held<'a> {
    claim: &'a ClaimSeen,
    wanted: u64,
    why: String,
}

fn resize(ground: &Ground, cluster: &CnpgFact) -> Option<Finding> {
    let held: Vec<Held> = cluster.claims.iter().flatten().filter_map(|claim| held(ground, cluster, claim)).collect();
    let first = held.first()?;
    let namespace = &cluster.cluster.namespace;
    let evidence = held
        .iter()
        .map(|held| {
            let has = |bytes: Option<u64>| bytes.map_or_else(|| "not said".to_owned(), bytes_in_words);
            format!(
                "claim {}: the Cluster wants {}, requested {}, has {}; {}",
                held.claim.name,
                bytes_in_words(held.wanted),
                has(held.claim.requested),
                has(held.claim.capacity),
                held.why
            )
        })
        .collect();
    let names: Vec<String> = held.iter().map(|held| held.claim.name.clone()).collect();
    let remedy = if held.iter().any(|held| held.claim.class_expands == Some(false)) {
        format!(
            "the storage class cannot grow a volume: add an instance with a larger volume (a new class), fail over, and remove the old one; \
             see: kubectl -n {namespace} describe pvc {}",
            first.claim.name
        )
    } else {
        format!(
            "kubectl -n {namespace} patch pvc {} -p '{{\"spec\":{{\"resources\":{{\"requests\":{{\"storage\":\"{}\"}}}}}}}}'",
            first.claim.name,
            quantity(first.wanted)
        )
    };
    Some(Finding {
        evidence,
        cause: first.why.clone(),
        remedy,
        ..say(
            "volume-resize-not-applied",
            if says_no_room(cluster) { Severity::Critical } else { Severity::Warning },
            &cluster.subject,
            format!("the size in the Cluster was raised to {}, and {} never grew", bytes_in_words(first.wanted), some_of(&names)),
        )
    })
}

fn held<'a>(ground: &Ground, cluster: &CnpgFact, claim: &'a ClaimSeen) -> Option<Held<'a>> {
    let wanted = match claim.role.as_deref()? {
        "PG_WAL" => cluster.wal_storage?,
        "PG_DATA" => cluster.storage?,
        _ => return None,
    };
    let (requested, capacity) = (claim.requested?, claim.capacity?);
    let growing = claim.conditions.iter().find(|condition| condition.is_true() && condition.kind.contains("Resiz"));
    let young = growing.is_some_and(|condition| condition.since.is_some_and(|at| ground.age(at) <= RESIZE));
    // Some storage gives less than was asked for by a rounding of its own; a growth that matters is more than that.
    let grown = capacity >= requested - requested / 50;
    if (requested >= wanted && grown) || young {
        return None;
    }
    let why = if claim.class_expands == Some(false) {
        format!("storage class {} does not let a volume grow", claim.class.as_deref().unwrap_or("of the claim"))
    } else if let Some(condition) = growing {
        format!(
            "condition {} since {}",
            condition.kind,
            condition.since.map_or_else(|| "not said".to_owned(), |at| at.to_string())
        )
    } else if says_no_room(cluster) {
        "the operator waits for disk space before it resizes the volume that lacks it".to_owned()
    } else if requested < wanted {
        "the operator did not hand the new size to the claim (resizeInUseVolumes, reconciliation stopped, or it waits)".to_owned()
    } else {
        "the claim asks for more than it has, and nothing is resizing it".to_owned()
    };
    Some(Held { claim, wanted: wanted.max(requested), why })
}

/// Bytes as a Kubernetes quantity.
fn quantity(bytes: u64) -> String {
    match bytes {
        whole if whole.is_multiple_of(1 << 30) => format!("{}Gi", whole >> 30),
        whole if whole.is_multiple_of(1 << 20) => format!("{}Mi", whole >> 20),
        other => other.to_string(),
    }
}

/// The settings permit more WAL than there is room for: an outage of the archive, or a bulk load, fills the volume unannounced.
fn headroom(ground: &Ground, cluster: &CnpgFact) -> Option<Finding> {
    if stand::is_stopped(cluster) {
        return None;
    }
    let setting = |name: &str, default: u64| cluster.parameters.get(name).map_or(Some(default), |text| size(text));
    let (max, keep) = (setting("max_wal_size", MAX_WAL_SIZE)?, setting("wal_keep_size", WAL_KEEP_SIZE)?);
    // -1 = no limit, which the disk-full clock watches; it permits nothing that could be added up here.
    let slots = cluster.parameters.get("max_slot_wal_keep_size").and_then(|text| size(text)).unwrap_or(0);
    let hourly = hourly(ground, cluster);
    let permitted = max.saturating_add(keep).saturating_add(slots).saturating_add(hourly.unwrap_or(0));
    let volume = cluster.wal_storage.or(cluster.storage)?;
    let room =
        if cluster.wal_storage.is_some() { volume } else { free_part(ground, cluster).map_or(volume, |free| free.min(volume)) };
    if permitted <= room {
        return None;
    }
    let own = cluster.wal_storage.is_some();
    let day = permitted.saturating_add(hourly.unwrap_or(0).saturating_mul(23));
    let mut evidence = vec![format!(
        "max_wal_size {} + wal_keep_size {} + max_slot_wal_keep_size {} + one hour of WAL {} = {}",
        bytes_in_words(max),
        bytes_in_words(keep),
        bytes_in_words(slots),
        hourly.map_or_else(|| "not known".to_owned(), bytes_in_words),
        bytes_in_words(permitted)
    )];
    let what = if own { "walStorage" } else { "storage, which holds the data as well," };
    evidence.push(format!("{what} is {}; for WAL there are {}", bytes_in_words(volume), bytes_in_words(room)));
    Some(Finding {
        evidence,
        cause: format!("{} of WAL are permitted where {} fit", bytes_in_words(permitted), bytes_in_words(room)),
        remedy: format!(
            "give WAL a volume of its own that holds a day of it: kubectl -n {} patch cluster {} --type merge -p \
             '{{\"spec\":{{\"walStorage\":{{\"size\":\"{}Gi\"}}}}}}'",
            cluster.cluster.namespace,
            cluster.cluster.name,
            (day >> 30) + 1
        ),
        ..say(
            "wal-headroom-too-small",
            Severity::Warning,
            &cluster.subject,
            format!("{} of WAL are permitted on a volume with {} for it", bytes_in_words(permitted), bytes_in_words(room)),
        )
    })
}

/// What is free on the data volume, with what WAL takes of it already.
fn free_part(ground: &Ground, cluster: &CnpgFact) -> Option<u64> {
    let value = |metric| ground.value(&cluster.subject, metric);
    whole(value(metric::DATA_VOLUME_AVAILABLE)? + value(metric::WAL_BYTES).unwrap_or(0.0))
}

/// WAL made in an hour, by the position's way over the time that is known.
fn hourly(ground: &Ground, cluster: &CnpgFact) -> Option<u64> {
    let (more, seconds) = ground.growth(&cluster.subject, metric::WAL_POSITION, RATE_WINDOW)?;
    whole(more * HOUR / seconds)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "bytes; not negative by the filter, and huge ones saturate"
)]
fn whole(bytes: f64) -> Option<u64> {
    (bytes >= 0.0).then_some(bytes as u64)
}

/// A size as PostgreSQL reads one: a number with kB, MB, GB, TB; megabytes without. `None` for -1, and for what it would refuse.
fn size(text: &str) -> Option<u64> {
    let text = text.trim().trim_matches('\'').trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let shift = match unit.trim() {
        "B" => 0,
        "kB" => 10,
        "MB" | "" => 20,
        "GB" => 30,
        "TB" => 40,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
}
