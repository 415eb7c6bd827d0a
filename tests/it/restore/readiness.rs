//! What a drill needs of a machine, and how it is told when it is not there.

use std::os::unix::fs::PermissionsExt as _;

use dalsegno::domain::{Isolation, RunId, Subject, SubjectKind};
use dalsegno::restore::hold::Tried;
use dalsegno::restore::process::ProcessMark;
use dalsegno::restore::readiness::closed;
use dalsegno::restore::sandbox::{Marker, Sandbox};
use dalsegno::restore::{Candidate, Limits, Need, RestoreSettings, Restorer};

fn settings(folder: &std::path::Path) -> RestoreSettings {
    RestoreSettings {
        folder: folder.to_owned(),
        user: String::new(),
        postgres_folders: Vec::new(),
        isolation: Isolation::None,
        fence: true,
        executable: env!("CARGO_BIN_EXE_dalsegno").into(),
        limits: Limits { reserve_bytes: 1 << 20, wal_ahead_bytes: 1 << 20, ..Limits::default() },
    }
}

fn candidate(major: Option<u32>, cluster_bytes: u64) -> Candidate {
    let subject = Subject::new(SubjectKind::Pg, &["home", "prod", "keycloak-db"]);
    Candidate { subject, major, cluster_bytes: Some(cluster_bytes) }
}

async fn needs(settings: RestoreSettings, of: Candidate) -> Vec<Need> {
    Restorer::new(settings, Vec::new()).readiness(&[of]).await
}

fn unmet(needs: &[Need]) -> Vec<&str> {
    let seen = |need: &'_ Need| match need {
        Need::Unmet { hint, .. } => assert!(!hint.is_empty(), "{need:?}"),
        Need::Met { .. } | Need::NotKnown { .. } => {}
    };
    needs.iter().for_each(seen);
    needs.iter().filter_map(|need| if let Need::Unmet { seen, .. } = need { Some(seen.as_str()) } else { None }).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_of_a_major_that_nobody_has_are_missed_and_nothing_else_is() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let needs = needs(settings(&folder.path().join("not/there/yet")), candidate(Some(99), 1)).await;
    let missed = unmet(&needs);
    assert_eq!(missed.len(), 1, "{needs:#?}");
    assert!(missed[0].contains("PostgreSQL 99"), "{needs:#?}");
    assert!(!needs.iter().any(|need| matches!(need, Need::NotKnown { .. })), "{needs:#?}");
    assert!(!folder.path().join("not").exists(), "to look must not make");
}

#[tokio::test(flavor = "multi_thread")]
async fn too_little_room_a_folder_that_is_none_and_a_user_that_is_none_are_each_told() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let room = needs(settings(folder.path()), candidate(None, 1 << 60)).await;
    assert!(unmet(&room)[0].contains("not enough space"), "{room:#?}");
    assert!(room.iter().any(|need| matches!(need, Need::NotKnown { why, .. } if why.contains("which PostgreSQL"))), "{room:#?}");
    let file = folder.path().join("file");
    std::fs::write(&file, "x").unwrap();
    assert!(unmet(&needs(settings(&file.join("below")), candidate(None, 1)).await)[0].contains("is no folder"));
    if nix::unistd::geteuid().is_root() {
        let nobody = RestoreSettings { user: "no-user-of-this-name".into(), ..settings(folder.path()) };
        assert!(unmet(&needs(nobody, candidate(None, 1)).await)[0].contains("there is no user no-user-of-this-name"));
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
        assert!(unmet(&needs(settings(folder.path()), candidate(None, 1)).await)[0].contains("cannot be entered"));
    }
}

#[test]
fn how_closed_a_sandbox_can_be_is_held_against_what_is_demanded() {
    let all = Tried::default();
    let no_network = Tried { network: Some("unshare: EPERM".into()), ..Tried::default() };
    let no_fence = Tried { fence: Some("the kernel has no Landlock, or it is switched off".into()), ..Tried::default() };
    for (tried, wanted, met) in [
        (&all, Isolation::Sealed, true),
        (&no_network, Isolation::Sealed, false),
        (&no_network, Isolation::Closed, true),
        (&no_fence, Isolation::Closed, false),
        (&no_fence, Isolation::None, true),
    ] {
        assert_eq!(matches!(closed(tried, wanted), Need::Met { .. }), met, "{tried:?} {wanted:?}");
    }
    let Need::Unmet { seen, hint } = closed(&no_fence, Isolation::Closed) else { panic!("met") };
    assert!(seen.contains("no Landlock") && hint.contains("/sys/kernel/security/lsm"), "{seen} {hint}");
    let Need::Unmet { hint, .. } = closed(&no_network, Isolation::Sealed) else { panic!("met") };
    assert!(hint.contains("kernel.unprivileged_userns_clone"), "{hint}");
}

const PLACE: &str = "DALSEGNO_TEST_ROOT_PLACE";

/// Not a test by itself: a process with a umask of its own.
#[test]
#[ignore = "started by the test of umask"]
fn child() {
    let Ok(place) = std::env::var(PLACE) else { return };
    let run = RunId::new();
    let sandbox = Sandbox::of(std::path::Path::new(&place), run, "sandbox");
    let maker = ProcessMark::of(std::process::id()).unwrap();
    let mark = Marker { run, step: "sandbox".to_owned(), maker, made_by: "0".to_owned() };
    let nobody = nix::unistd::User::from_name("nobody").unwrap().unwrap();
    sandbox.make(&mark, Some((nobody.uid, nobody.gid))).unwrap();
}

#[test]
fn what_root_makes_lets_the_drills_user_in_whatever_the_umask_is() {
    if !nix::unistd::geteuid().is_root() {
        return; // files are simply ours then
    }
    let above = tempfile::tempdir().unwrap();
    std::fs::set_permissions(above.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let place = above.path().join("var/dalsegno");
    let mut shell = std::process::Command::new("/bin/sh");
    shell.args(["-c", "umask 077; exec \"$0\" \"$@\""]).arg(std::env::current_exe().unwrap());
    shell.args(["restore::readiness::child", "--exact", "--ignored", "--quiet"]).env(PLACE, &place);
    let output = shell.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    for made in [above.path().join("var"), place] {
        assert_eq!(std::fs::metadata(&made).unwrap().permissions().mode() & 0o777, 0o711, "{}", made.display());
    }
}
