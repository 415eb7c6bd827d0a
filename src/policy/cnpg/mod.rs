//! Good or bad about CNPG Clusters: who archives where and whether that works, restores, volumes; and backups and their schedules.
//!
//! A condition of CNPG has no heartbeat, so it is never believed alone, neither the good word nor the bad one. What was not looked at
//! (`None`) makes no finding here and never makes fine: the gap speaks. One cause is one finding: the rule that names the more exact
//! cause stands, and the general one asks it first.

mod backups;
mod restores;

use super::ground::Ground;
use crate::domain::Finding;

pub(super) use backups::{only_snapshots, tells_incomplete, why_old, without_wal};

pub(super) fn judge(ground: &Ground) -> Vec<Finding> {
    let mut findings = backups::judge_orphans(ground);
    for cluster in &ground.cnpg {
        findings.extend(backups::judge(ground, cluster));
        findings.extend(restores::judge(ground, cluster));
    }
    findings
}
