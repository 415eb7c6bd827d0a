//! Good or bad about CNPG Clusters: who archives where and whether that works, restores, volumes; and backups and their schedules.
//!
//! A condition of CNPG has no heartbeat, so it is never believed alone, neither the good word nor the bad one. What was not looked at
//! (`None`) makes no finding here and never makes fine: the gap speaks. One cause is one finding: the rule that names the more exact
//! cause stands, and the general one asks it first.

use super::ground::Ground;
use crate::domain::Finding;

pub(super) fn judge(_ground: &Ground) -> Vec<Finding> {
    Vec::new()
}
