use dalsegno::config::WaySettings;
use dalsegno::domain::{AwaitedWhat, FactKind, Severity, Subject, SubjectKind, Subjects, Times};

use super::{GOOD, Site};

const ALL: &str = "kubernetes: {prod: {}, dev: {}}
notify:
  grace: 10m
  alertmanager:
    main: {url: \"http://am.lan:9093\", authorization: {env: AM}}
  ntfy:
    phone: {url: {env: NTFY}, at-least: critical}
  mail:
    team: {server: mail.our.lan, user: dalsegno, password: {env: MAIL}, from: dalsegno@our.lan, to: [ops@our.lan]}
  kube-events: {clusters: [prod, dev]}
  pushgateway: {url: \"http://push.lan:9091\"}
  metrics-file: metrics.prom
";

fn site(more: &str) -> Site {
    let secrets = [("AM", "Bearer tk_planted"), ("NTFY", "https://ntfy.our.lan/alerts-planted"), ("MAIL", "planted-password")];
    secrets.into_iter().fold(Site::new(&format!("{GOOD}{more}")), |site, (name, value)| site.env(name, value))
}

#[test]
fn every_kind_of_channel_is_read() {
    let settings = site(ALL).check().unwrap().settings.notify;
    let names: Vec<_> = settings.channels.iter().map(|channel| channel.name.as_str()).collect();
    assert_eq!(
        names,
        ["alertmanager/main", "ntfy/phone", "mail/team", "kube-events/prod", "kube-events/dev", "pushgateway", "metrics-file"]
    );
    assert_eq!(settings.channels[1].at_least, Severity::Critical);
    let WaySettings::Mail(mail) = &settings.channels[2].way else { panic!("{:?}", settings.channels[2]) };
    assert_eq!((mail.port, mail.password.as_ref().unwrap().expose()), (587, "planted-password"));
    assert!((settings.grace_seconds - 600.0).abs() < f64::EPSILON);
}

#[test]
fn no_secret_of_a_channel_is_shown() {
    let loaded = site(ALL).check().unwrap();
    let shown = dalsegno::config::shown(&loaded).to_string();
    assert!(shown.contains("alertmanager/main") && !shown.contains("planted"), "{shown}");
    assert!(!format!("{loaded:?}").contains("planted"));
}

#[test]
fn a_channel_that_lacks_its_secret_is_a_gap_of_its_own_and_the_others_stay() {
    let loaded = Site::new(&format!("{GOOD}{ALL}")).env("AM", "Bearer x").env("MAIL", "TBD-PASSWORD").load().unwrap();
    let gaps: Vec<_> =
        loaded.gaps.iter().filter(|gap| gap.what == FactKind::Channel).map(|gap| gap.subject.to_string()).collect();
    assert_eq!(gaps, ["dalsegno/notify/ntfy/phone", "dalsegno/notify/mail/team"]);
    assert!(loaded.settings.notify.channels.iter().any(|channel| channel.name == "alertmanager/main"));
    assert!(!loaded.settings.notify.channels.iter().any(|channel| channel.name == "mail/team"));
}

fn refused(more: &str) -> String {
    site(more).check().unwrap_err().to_string()
}

#[test]
fn channels_that_cannot_work_are_refused_by_config_check() {
    for (more, said) in [
        ("notify: {alertmanager: {main: {url: am.lan}}}\n", "no http:// or https:// URL"),
        ("notify: {mail: {team: {server: m, from: nobody, to: [a@b]}}}\n", "no mail address"),
        ("notify: {mail: {team: {server: m, from: a@b, to: []}}}\n", "names no receiver"),
        ("notify: {mail: {team: {server: m, from: a@b, to: [a@b], user: x}}}\n", "one of user and password"),
        ("notify: {mail: {team: {server: m, from: a@b, to: [a@b], ca: gone.pem}}}\n", "cannot be read"),
        ("notify: {ntfy: {phone: {url: {env: AM}}}}\n", "no http:// or https:// URL"),
        ("notify: {kube-events: {clusters: [prod]}}\n", "no Kubernetes cluster"),
        ("notify: {ntfy: {phone: {url: \"https://x/y\"}}}\n", "a secret stands here as a value"),
    ] {
        let text = refused(more);
        assert!(text.contains(said) && !text.contains("planted"), "{more}: {text}");
    }
}

#[test]
fn what_people_decided_about_alerts_is_read() {
    let more = "dependents: {pg/keycloak-db: [SSO, Git]}
maintenance:
  - {subjects: [\"*\"], reason: disks, from: 2027-03-01, until: 2027-03-01}
  - {subjects: [store/minio], reason: restart, at: \"02:30\", lasts: 45m, days: [mon, sun], zone: Europe/Zurich}
expected:
  - {provider: linstor, planned: 2027-03-01}
  - {subject: \"pg/home/dev/*\", not-adopted: no need, until: 2027-12-31}
";
    let attention = site(more).check().unwrap().settings.attention;
    let keycloak = Subject::new(SubjectKind::Pg, &["home", "prod", "keycloak-db"]);
    assert_eq!(attention.dependents_of(&keycloak), ["SSO", "Git"]);
    let once = Times::Once { from: "2027-03-01T00:00:00Z".parse().unwrap(), until: "2027-03-02T00:00:00Z".parse().unwrap() };
    assert_eq!(attention.maintenance[0].when, once, "a day is the whole of it");
    let weekly = Times::Weekly { weekdays: vec![1, 7], minute: 150, zone: "Europe/Zurich".into(), seconds: 2_700 };
    assert_eq!(attention.maintenance[1].when, weekly);
    assert_eq!(attention.awaited[0].until, "2027-03-02T00:00:00Z".parse().unwrap(), "by that day");
    assert_eq!(attention.awaited[1].what, AwaitedWhat::Subject(Subjects("pg/home/dev/*".into())));
    assert_eq!(attention.awaited[1].reason.as_deref(), Some("no need"));
}

#[test]
fn decisions_that_mean_nothing_are_refused() {
    for (more, said) in [
        ("dependents: {\"pg//x\": [a]}\n", "names no subject"),
        ("maintenance: [{subjects: [\"*\"], reason: x}]\n", "neither from and until nor at and lasts"),
        ("maintenance: [{subjects: [], reason: x, from: 2027-03-01, until: 2027-03-02}]\n", "names no subject"),
        ("maintenance: [{subjects: [\"*\"], reason: x, from: 2027-03-02, until: 2027-03-01}]\n", "is not after"),
        ("maintenance: [{subjects: [\"*\"], reason: x, at: \"25:00\", lasts: 1h}]\n", "no time of day"),
        ("maintenance: [{subjects: [\"*\"], reason: x, at: \"02:00\", lasts: 8d}]\n", "no length of a window"),
        ("maintenance: [{subjects: [\"*\"], reason: x, at: \"02:00\", lasts: 1h, zone: Mars}]\n", "no time zone"),
        ("expected: [{provider: linstor}]\n", "neither planned by a date"),
        ("expected: [{provider: linstor, planned: soon}]\n", "neither a moment nor a date"),
        ("expected: [{planned: 2027-03-01}]\n", "names neither a subject nor a provider"),
        ("expected: [{subject: x, not-adopted: never}]\n", "neither planned by a date"),
    ] {
        let text = refused(more);
        assert!(text.contains(said), "{more}: {text}");
    }
}

#[test]
fn a_database_may_say_what_hangs_on_it_and_how_long_its_warnings_wait() {
    let name = GOOD.split("postgres:\n  ").nth(1).unwrap().split(':').next().unwrap().to_owned();
    let text = GOOD.replace(&format!("postgres:\n  {name}:\n"), &format!("postgres:\n  {name}:\n    dependents: [SSO]\n"));
    assert_ne!(text, GOOD);
    let attention = Site::new(&text).check().unwrap().settings.attention;
    assert!(attention.dependents.iter().any(|(subjects, names)| subjects.0 == format!("pg/{name}") && names == &["SSO"]));
}
