use std::path::Path;
use std::time::Instant;

use assert_cmd::Command;

fn dalsegno() -> Command {
    let mut command = Command::cargo_bin("dalsegno").unwrap();
    command.env_clear().env("COLUMNS", "100").current_dir(std::env::temp_dir());
    command
}

fn run(args: &[&str]) -> (i32, String, String) {
    let output = dalsegno().args(args).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn help_of_config_says_what_can_be_done() {
    let (exit, stdout, _) = run(&["config", "check", "--help"]);
    assert_eq!(exit, 0);
    for word in ["--without-secrets", "--config <PATH>", "--output <FORM>", "--log-format <FORM>", "DALSEGNO_CONFIG"] {
        assert!(stdout.contains(word), "{word} is missing in\n{stdout}");
    }
}

#[test]
fn help_and_the_reference_name_the_same_exit_codes() {
    let (exit, stdout, _) = run(&["--help"]);
    assert_eq!(exit, 0);
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference/exit-codes.md")).unwrap();
    let table = stdout.split("Exit codes:").nth(1).unwrap();
    let mut codes = 0;
    for line in table.lines().filter(|line| line.starts_with("  ")) {
        let (code, meaning) = line.trim().split_once(' ').unwrap();
        assert!(page.contains(&format!("| {code} | {}", meaning.trim())), "{line} is not in docs/reference/exit-codes.md");
        codes += 1;
    }
    assert_eq!(codes, 9);
    assert!(page.contains("70, 2, 6, 5, 4, 1, 3, 0") && table.contains("70, 2, 6, 5, 4, 1, 3, 0"));
}

#[test]
fn version_is_there_at_once_and_asks_for_no_configuration() {
    let mut best = u128::MAX;
    for _ in 0..5 {
        let began = Instant::now();
        dalsegno().env("DALSEGNO_CONFIG", "/nowhere").arg("--version").assert().success();
        best = best.min(began.elapsed().as_millis());
    }
    assert!(best < 15, "took {best} ms");
}

#[test]
fn usage_that_is_wrong_ends_with_2_and_unknown_commands_with_a_near_one() {
    let (exit, stdout, stderr) = run(&["confg"]);
    assert_eq!((exit, stdout.as_str()), (2, ""));
    assert!(stderr.contains("config"), "{stderr}");
    let (exit, _, stderr) = run(&["internal", "nothing-of-this-name"]);
    assert_eq!(exit, 2);
    assert!(stderr.contains("nothing-of-this-name"), "{stderr}");
}

#[test]
fn without_a_configuration_the_next_command_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let output = dalsegno().current_dir(folder.path()).args(["config", "check"]).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr.contains("error: no configuration: neither dalsegno.yaml nor /etc/dalsegno is there"), "{stderr}");
    assert!(stderr.contains("\n\nhint: dalsegno init dalsegno.yaml"), "{stderr}");
}

#[test]
fn init_writes_once_and_never_over_something() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("dalsegno.yaml");
    let init = || dalsegno().arg("init").arg(&file).output().unwrap();
    assert_eq!(init().status.code(), Some(0));
    std::fs::write(&file, "mine").unwrap();
    let second = init();
    assert_eq!(second.status.code(), Some(2));
    assert!(String::from_utf8(second.stderr).unwrap().contains("is there already, and init never overwrites"));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    let (exit, stdout, _) = run(&["init"]);
    assert!(exit == 0 && stdout.starts_with("# Configuration of dalsegno"));
}

#[test]
fn config_check_says_all_and_config_show_hides_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("c.yaml");
    let yaml = "stores:\n  s:\n    endpoint: http://a:1\n    bucket: abc\n    read: {access-key-id: {env: ID}, secret-access-key: {env: KEY}}\n";
    std::fs::write(&file, yaml).unwrap();
    let with = |args: &[&str]| {
        let output =
            dalsegno().env("ID", "pl4nted-id").env("KEY", "pl4nted-key").args(args).arg("-c").arg(&file).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    };
    let (exit, stdout, stderr) = with(&["config", "check"]);
    assert!(exit == 0 && stdout.contains("no mistakes · 1 store · 0 databases · 0 warnings"), "{stdout}{stderr}");
    for form in ["table", "json", "yaml"] {
        let (exit, stdout, stderr) = with(&["config", "show", "-o", form]);
        assert!(exit == 0 && stdout.contains("***") && !format!("{stdout}{stderr}").contains("pl4nted"), "{stdout}{stderr}");
    }
    std::fs::write(&file, yaml.replace("bucket", "buckett").replace("http:", "ftp:")).unwrap();
    let (exit, stdout, stderr) = with(&["config", "check"]);
    assert_eq!((exit, stdout.as_str()), (2, ""));
    assert!(
        stderr.contains("error: 3 mistakes in ") && stderr.contains("did you mean \"bucket\"?") && stderr.contains("\nhint: "),
        "{stderr}"
    );
    assert!(!stderr.contains('\u{1b}'), "colour without a terminal: {stderr:?}");
}

#[test]
fn config_schema_is_json_whatever_the_form() {
    let (exit, stdout, _) = run(&["config", "schema"]);
    assert_eq!(exit, 0);
    let schema: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(schema["additionalProperties"], false);
}

#[test]
fn an_unknown_finding_code_ends_with_2() {
    let (exit, stdout, stderr) = run(&["explain", "no-such-finding"]);
    assert_eq!((exit, stdout.as_str()), (2, ""));
    assert!(stderr.contains("error: no finding has the code \"no-such-finding\"") && stderr.contains("hint: "), "{stderr}");
}

#[test]
fn completions_and_man_pages_are_made_from_the_parser() {
    let (exit, stdout, _) = run(&["completions", "bash"]);
    assert!(exit == 0 && stdout.contains("dalsegno"));
    let (exit, stdout, _) = run(&["man"]);
    assert!(exit == 0 && stdout.contains(".TH dalsegno"), "{stdout}");
}

#[test]
fn a_reader_that_went_away_is_no_failure() {
    use std::process::Stdio;
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("dalsegno"))
        .args(["config", "schema"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}
