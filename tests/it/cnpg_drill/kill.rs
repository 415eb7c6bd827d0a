//! SIGKILL at points of the journal: after the next start nothing of ours is left, and a list by label proves it.

use std::os::unix::process::ExitStatusExt as _;

use serde_json::json;

use super::stage::{Ground, LABEL, Stage, shape};

/// Points of the two scaffolds, of the checks, and of taking back.
const POINTS: [&str; 7] = [
    "after-intent:2",
    "after-handle:2",
    "after-intent:3",
    "after-handle:3",
    "after-receipt:3",
    "after-undo-intent:1",
    "after-undone:1",
];

#[tokio::test(flavor = "multi_thread")]
async fn a_drill_that_is_killed_leaves_nothing_in_the_cluster_after_the_next_start() {
    let Some(ground) = Ground::of("cnpg_drill: kill").await else { return };
    if !cfg!(feature = "lab") {
        assert!(std::env::var_os("CI").is_none(), "the kill points are not compiled in: cargo test --features lab");
        eprintln!("SKIPPED: the kill points are not compiled in: cargo test --features lab");
        return;
    }
    let kubeconfig = ground.cluster.kubeconfig_for(&ground.token).unwrap();
    let mut stages = Vec::new();
    for point in POINTS {
        stages.push((point, Stage::of(&ground, &ground.archived.bucket, &kubeconfig, &shape()).await));
    }
    let run = |(point, stage): &(&str, Stage)| {
        let output = stage.command(&["drill", "cnpg-restore"]).env("DALSEGNO_KILL_AT", point).output().unwrap();
        assert_eq!(output.status.signal(), Some(9), "{point}: {output:?}");
    };
    std::thread::scope(|scope| {
        let run = &run;
        for chunk in stages.chunks(3) {
            scope.spawn(move || chunk.iter().for_each(run));
        }
    });
    for (turn, (point, stage)) in stages.iter().enumerate() {
        let next: &[&str] = if turn % 2 == 0 { &["drill", "gc", "-o", "json"] } else { &["run", "-o", "json"] };
        let said = stage.run(next);
        assert!(said.exit.is_some_and(|exit| [0, 1, 3].contains(&exit)), "{point}: {said:?}");
        assert!(ground.left(&stage.run_id()).await.is_empty(), "{point}: {said:?}");
        let evidence = stage.evidence();
        assert_eq!(evidence["verdict"], "unknown", "{point}: {evidence:#}");
        assert!(evidence["reasons"].to_string().contains("interrupted"), "{point}: {evidence:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_lost_its_journal_is_found_by_its_label_once_nobody_can_need_it() {
    let Some(ground) = Ground::of("cnpg_drill: strays").await else { return };
    let kubeconfig = ground.cluster.kubeconfig_for(&ground.token).unwrap();
    let stage = Stage::of(&ground, &ground.archived.bucket, &kubeconfig, &shape()).await;
    let mut made = Vec::new();
    for until in ["2999-01-01T00:00:00Z", "2020-01-01T00:00:00Z"] {
        let run = dalsegno::domain::RunId::new();
        let name = format!("dalsegno-{}-namespace", run.short());
        let labels = json!({"dalsegno.io/run": run.to_string(), "dalsegno.io/step": "namespace", LABEL: "dalsegno"});
        let object = json!({"apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": name, "labels": labels, "annotations": {"dalsegno.io/until": until}}});
        ground.cluster.apply(&object.to_string()).await.unwrap();
        made.push(run.to_string());
    }
    let said = stage.run(&["drill", "gc", "-o", "json"]);
    assert_eq!(said.exit, Some(0), "{said:?}");
    assert!(said.out.contains(&made[1]) && !said.out.contains(&made[0]), "{said:?}");
    assert_eq!(ground.left(&made[0]).await.len(), 1, "another machine may still need it");
    assert!(ground.left(&made[1]).await.is_empty());
}
