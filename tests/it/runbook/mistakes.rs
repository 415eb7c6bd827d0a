//! Mistakes: all at once, each with its place and what would be right, each with a twin that is right.

use dalsegno::runbook::{Mistake, check};

use crate::execution::folder_act::VERBS;

const RIGHT: &str = "\
runbook: 1
name: drill
purpose: shows something
parameters:
  subject: {type: subject, required: true, about: the database}
  timeline: {type: timeline, about: optional}
isolation-at-least: closed
steps:
  - {name: choose, verb: archive.choose, with: {subject: $(subject), timeline: $(timeline)}}
  - {name: sandbox, verb: sandbox.make}
  - {name: base, verb: pg.restore-base, with: {folder: $(sandbox.folder), backup: $(choose.backup)}}
";

fn mistakes(text: &str) -> Vec<Mistake> {
    check(text, &VERBS).err().unwrap_or_default()
}

#[test]
fn the_twin_of_all_is_right() {
    assert_eq!(mistakes(RIGHT), []);
}

/// (what is replaced, by what, line:column, a part of the words)
const WRONG: &[(&str, &str, &str, &str)] = &[
    ("runbook: 1", "runbook: 2", "1:10", "speaks version 1"),
    ("runbook: 1\n", "", "1:1", "\"runbook: 1\""),
    ("runbook: 1", "runbook: one", "1:10", "must be the number 1"),
    ("purpose: shows something\n", "", "1:1", "\"purpose\" is missing"),
    ("name: drill", "name: Drill One", "2:7", "not a name"),
    ("name: drill", "naem: drill", "2:1", "did you mean \"name\"?"),
    ("isolation-at-least: closed", "isolation-at-least: close", "7:21", "did you mean \"closed\"?"),
    ("type: timeline", "type: time-line", "6:20", "did you mean \"timeline\"?"),
    ("required: true", "required: yes", "5:38", "must be true or false"),
    ("required: true", "default: app, required: true", "5:37", "kind/scope/name"),
    ("required: true", "default: pg/a/b, required: true", "5:37", "keep one of the two"),
    ("verb: sandbox.make", "verb: sandbox.mak", "10:27", "did you mean \"sandbox.make\"?"),
    ("verb: sandbox.make", "verb: volume.wipe", "10:27", "name it under \"allows:\""),
    ("verb: sandbox.make", "verb: schedule.pause", "10:27", "name it under \"allows:\""),
    ("steps:", "allows: [sandbox.make]\nsteps:", "8:10", "needs no allowance"),
    ("steps:", "allows: [volume.wipe]\nsteps:", "8:10", "no step calls it"),
    ("subject: $(subject), ", "", "9:48", "needs the argument \"subject\""),
    ("timeline: $(timeline)", "timelime: 3", "9:70", "did you mean \"timeline\"?"),
    ("$(sandbox.folder)", "$(sandbox.foldr)", "11:56", "did you mean \"folder\"?"),
    ("$(sandbox.folder)", "$(sandbx.folder)", "11:56", "did you mean \"sandbox\"?"),
    ("$(sandbox.folder)", "$(base.folder)", "11:56", "only earlier steps have outputs"),
    ("$(sandbox.folder)", "$(folder", "11:56", "neither $(parameter) nor $(step.output)"),
    ("$(sandbox.folder)", "$(SANDBOX)", "11:56", "neither $(parameter) nor $(step.output)"),
    ("subject: $(subject)", "subject: $(subjekt)", "9:58", "did you mean \"subject\"?"),
    ("required: true, ", "", "9:58", "make it required or give it a default"),
    ("name: sandbox", "name: choose", "10:12", "a second step called \"choose\""),
    ("name: sandbox", "name: subject", "10:12", "already a parameter"),
    ("verb: sandbox.make", "verb: sandbox.make, time-limit: 5", "10:53", "must be a duration"),
    ("verb: sandbox.make", "verb: sandbox.make, on-failure: retry", "10:53", "\"stop\" or \"continue\""),
    ("verb: sandbox.make", "verb: sandbox.make, assert: [{output: foldr, present: true}]", "10:59", "did you mean \"folder\"?"),
    ("verb: sandbox.make", "verb: sandbox.make, assert: [{output: folder}]", "10:50", "exactly one of"),
    ("verb: sandbox.make", "verb: sandbox.make, assert: [{output: folder, present: 1}]", "10:76", "must be true or false"),
    ("steps:", "budgets: {rto: 30}\nsteps:", "8:16", "must be a duration"),
    ("steps:", "budgets: {rto: $(timeline)}\nsteps:", "8:16", "a budget needs a duration"),
    ("steps:", "budgets: {rot: 30m}\nsteps:", "8:11", "did you mean \"rto\"?"),
    ("name: drill", "name: ${NAME}", "2:7", "Flux's envsubst"),
    ("name: drill", "name: \"{{ .Values.name }}\"", "2:8", "Helm"),
    ("name: drill", "name: {{ .Values.name }}", "2:7", "Helm"),
    ("name: drill", "name: [drill", "", "not readable as YAML"),
    ("name: drill", "name: drill\nname: other", "", "not readable as YAML"),
];

#[test]
fn each_mistake_is_found_at_its_place_with_what_would_be_right() {
    let mut misplaced = Vec::new();
    for (from, to, place, words) in WRONG {
        let text = RIGHT.replacen(from, to, 1);
        assert_ne!(text, RIGHT, "{from} is not in the text");
        let found = mistakes(&text);
        let lines: Vec<String> = found.iter().map(|mistake| mistake.in_file("f")).collect();
        assert!(found.iter().any(|mistake| mistake.what.contains(words)), "{to}: no \"{words}\" in {lines:#?}");
        let there = found.iter().find(|mistake| mistake.what.contains(words)).unwrap();
        let seen = format!("{}:{}", there.line, there.column);
        if !place.is_empty() && seen != *place {
            misplaced.push(format!("{to}: at {seen}, expected {place}"));
        }
    }
    assert!(misplaced.is_empty(), "{misplaced:#?}");
}

#[test]
fn all_mistakes_are_told_at_once_in_the_order_of_the_text() {
    let text = RIGHT
        .replace("name: drill", "naem: drill")
        .replace("closed", "close")
        .replace("verb: sandbox.make", "verb: sandbox.mak")
        .replace("$(choose.backup)", "$(choose.backups)");
    let found = mistakes(&text);
    let lines: Vec<u64> = found.iter().map(|mistake| mistake.line).collect();
    assert_eq!(lines, [1, 2, 7, 10, 11], "{found:#?}");
}

#[test]
fn other_peoples_parameters_in_a_comment_are_no_mistake() {
    assert_eq!(mistakes(&format!("# written by ${{USER}} and {{{{ tool }}}}\n{RIGHT}")), []);
}

#[test]
fn our_own_parameters_survive_envsubst_and_helm() {
    // Flux's envsubst replaces ${x} (and $x in strict shells), Helm replaces {{x}}: the text has neither.
    assert!(!RIGHT.contains("${") && !RIGHT.contains("{{"));
    let after_flux = RIGHT.replace("${", "?").replace("{{", "?");
    assert_eq!(after_flux, RIGHT);
}

#[test]
fn hostile_yaml_is_refused_soon() {
    let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d,*d]\n";
    let deep = "[".repeat(10_000);
    for text in [bomb, deep.as_str()] {
        let began = std::time::Instant::now();
        assert!(!mistakes(text).is_empty());
        assert!(began.elapsed().as_secs() < 2, "{:?}", began.elapsed());
    }
}
