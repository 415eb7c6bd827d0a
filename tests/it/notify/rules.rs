//! The shipped rules, by promtool's own judgement: each fires where it must and nowhere else.

use lab::Tool;
use lab::prometheus::promtool;

fn file(name: &str) -> String {
    format!("{}/deploy/alerts/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[tokio::test(flavor = "multi_thread")]
async fn promtool_takes_the_rules_and_their_unit_tests_pass() {
    if lab::need("notify", Tool::Prometheus).is_none() {
        return;
    }
    let said = promtool(&["check", "rules", &file("dalsegno.rules.yaml")]).await.unwrap();
    assert!(said.contains("SUCCESS"), "{said}");
    let said = promtool(&["test", "rules", &file("dalsegno.test.yaml")]).await.unwrap();
    assert!(said.contains("SUCCESS"), "{said}");
}

#[test]
fn every_rule_has_a_test_that_fires_and_one_that_does_not() {
    let rules = std::fs::read_to_string(file("dalsegno.rules.yaml")).unwrap();
    let tests = std::fs::read_to_string(file("dalsegno.test.yaml")).unwrap();
    let names: Vec<&str> = rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    assert!(names.len() >= 13, "{names:?}");
    for name in names {
        let fires = tests.lines().any(|line| line.trim() == format!("alertname: {name}"));
        let silent = tests.lines().any(|line| line.contains(&format!("alertname: {name}, exp_alerts: []")));
        assert!(fires && silent, "{name}: fires {fires}, silent {silent}");
    }
}

#[test]
fn every_question_of_age_has_a_twin_for_never() {
    let rules = std::fs::read_to_string(file("dalsegno.rules.yaml")).unwrap();
    for moment in ["pass_last_end", "recovery_covered_until", "drill_last_proven"] {
        let asks = |line: &&str| line.contains(&format!("dalsegno_{moment}_timestamp_seconds"));
        assert!(
            rules.lines().filter(asks).any(|line| line.contains("unless on")),
            "{moment} is asked how old, and not whether it ever was"
        );
    }
}
