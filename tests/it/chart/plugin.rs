//! Under the name `kubectl-dalsegno` the program is a plug-in of kubectl.

use std::path::Path;
use std::process::Command;

fn named(folder: &Path) -> std::path::PathBuf {
    let path = folder.join("kubectl-dalsegno");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_dalsegno"), &path).unwrap();
    path
}

fn said(command: &mut Command) -> (i32, String) {
    let output = command.output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.code().unwrap(), text)
}

#[test]
fn usage_says_what_a_person_types() {
    let folder = tempfile::tempdir().unwrap();
    let (exit, text) = said(Command::new(named(folder.path())).arg("--help"));
    assert!(exit == 0 && text.contains("Usage: kubectl dalsegno [OPTIONS] <COMMAND>"), "{text}");
    let (exit, text) = said(Command::new(folder.path().join("kubectl-dalsegno")).args(["drill", "--help"]));
    assert!(exit == 0 && text.contains("kubectl dalsegno drill"), "{text}");
    let (exit, text) = said(Command::new(folder.path().join("kubectl-dalsegno")).arg("--wrong"));
    assert!(exit == 2 && text.contains("kubectl dalsegno"), "{text}");
    let (_, text) = said(Command::new(env!("CARGO_BIN_EXE_dalsegno")).arg("--help"));
    assert!(text.contains("Usage: dalsegno [OPTIONS] <COMMAND>"), "{text}");
}

#[test]
fn kubectl_finds_it() {
    let folder = tempfile::tempdir().unwrap();
    named(folder.path());
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    match Command::new("kubectl").args(["dalsegno", "explain", "never-drilled"]).env("PATH", path).output() {
        Ok(output) => {
            assert!(output.status.success(), "{output:?}");
            assert!(String::from_utf8_lossy(&output.stdout).contains("never-drilled"), "{output:?}");
        }
        Err(error) => {
            assert!(std::env::var_os("CI").is_none(), "kubectl is absent: {error}");
            eprintln!("SKIPPED chart: kubectl is absent");
        }
    }
}
