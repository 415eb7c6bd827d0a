//! Chance that can be repeated, and waiting for a moment in a drill.

use std::process::Child;
use std::time::{Duration, Instant};

use super::stage::Stage;

/// SplitMix64: enough for choosing, and the same everywhere.
pub(super) struct Chance(u64);

impl Chance {
    /// From `DALSEGNO_STORY_SEED`, else always the same; said, so that a failure can be repeated.
    pub(super) fn seeded(what: &str) -> Self {
        let seed = std::env::var("DALSEGNO_STORY_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(20_260_930);
        eprintln!("{what}: DALSEGNO_STORY_SEED={seed}");
        Self(seed)
    }

    /// Below `end`.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }

    pub(super) fn millis(&mut self, end: u64) -> Duration {
        Duration::from_millis(self.below(end))
    }
}

/// Waits until the newest drill's journal says that a step has come so far. False when the process ended before.
pub(super) fn wait_for(stage: &Stage, child: &mut Child, record: &str, step: &str) -> bool {
    let until = Instant::now() + Duration::from_mins(1);
    while Instant::now() < until {
        let journal = stage.journal();
        let there = journal.iter().any(|line| {
            let of = if record == "intent" { &line["intent"]["call"]["step"] } else { &line["step"] };
            line["record"] == record && of == step
        });
        if there {
            return true;
        }
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    panic!("no {record} of {step} within a minute: {:?}", stage.journal());
}
