//! Who watches: the exporter's text is well formed, Prometheus and Alertmanager are the real ones, the stand-ins are strict.

use std::time::Duration;

use lab::alertmanager::Alertmanager;
use lab::authority::Authority;
use lab::cnpg::exporter::{ArchiverValues, Exporter, Values};
use lab::exposition;
use lab::ntfy::Ntfy;
use lab::prometheus::{Options, Prometheus, Target};
use lab::pushgateway::Pushgateway;
use lab::smtp::{Manner, Smtp};
use lab::{Tool, need};
use rustls::pki_types::pem::PemObject;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufStream};
use tokio::net::TcpStream;

/// One request by hand: status and body.
async fn http(url: &str, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(url.trim_start_matches("http://")).await.unwrap();
    let headers = headers.iter().fold(String::new(), |all, (n, v)| all + n + ": " + v + "\r\n");
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: h\r\nconnection: close\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, answer.split_once("\r\n\r\n").unwrap().1.to_owned())
}

#[tokio::test]
async fn the_exporter_says_what_it_was_told_in_good_form() {
    let exporter = Exporter::start(Values::of("pg-main")).unwrap();
    exporter.set(|v| {
        v.ready = 900;
        v.archiver = Some(ArchiverValues { archived: 7, since_archival: 12.5, ..ArchiverValues::default() });
        v.plugin = Some([1.0, 2.0, 3.0]);
    });
    let (status, text) = http(&exporter.url(), "GET", "/metrics", &[], "").await;
    assert_eq!(status, 200);
    let samples = exposition::parse(&text).unwrap();
    let value = |name: &str, label: &str| {
        samples
            .iter()
            .find(|s| s.name == name && (label.is_empty() || s.labels.get("value").is_some_and(|v| v == label)))
            .unwrap()
            .value
    };
    assert!((value("cnpg_collector_pg_wal_archive_status", "ready") - 900.0).abs() < f64::EPSILON);
    assert!(value("cnpg_collector_pg_wal", "volume_size").is_nan());
    assert!((value("cnpg_pg_stat_archiver_seconds_since_last_archival", "") - 12.5).abs() < f64::EPSILON);
    assert!((value("barman_cloud_cloudnative_pg_io_last_failed_backup_timestamp", "") - 3.0).abs() < f64::EPSILON);
    exporter.set(|v| v.archiver = None);
    assert!(!exporter.values().text().contains("pg_stat_archiver"));
    assert_eq!(http(&exporter.url(), "GET", "/", &[], "").await.0, 404);
}

#[test]
fn text_that_is_not_the_exposition_format_is_refused_with_its_line() {
    for (text, why) in [
        ("a 1", "line feed"),
        ("a{x=1} 1\n", "quotes"),
        ("a{x=\"1\"} one\n", "no number"),
        ("9a 1\n", "no name"),
        ("a 1\n# TYPE a gauge\n", "after a sample"),
        ("a 1\nb 1\na{x=\"2\"} 1\n", "stand together"),
        ("a 1\na 2\n", "second sample"),
    ] {
        let error = exposition::parse(text).unwrap_err();
        assert!(error.contains(why), "{text:?}: {error}");
    }
    assert_eq!(exposition::parse("# TYPE a summary\na{quantile=\"0.5\"} 1\na_sum 3\na_count 2\n").unwrap().len(), 3);
}

#[tokio::test]
async fn prometheus_scrapes_an_exporter_judges_a_rule_and_alertmanager_sends_it_on() {
    for tool in [Tool::Prometheus, Tool::Alertmanager] {
        if need("lab::monitoring", tool).is_none() {
            return;
        }
    }
    let alertmanager = Alertmanager::start().await.unwrap();
    let exporter = Exporter::start(Values::of("pg-main")).unwrap();
    let folder = lab::home::Folder::new("rules").unwrap();
    let rules = folder.path().join("rules.yml");
    let text = "groups:\n- name: lab\n  rules:\n  - alert: Backlog\n    expr: cnpg_collector_pg_wal_archive_status{value=\"ready\"} > 100\n    labels: {severity: critical}\n";
    std::fs::write(&rules, text).unwrap();
    lab::prometheus::promtool(&["check", "rules", rules.to_str().unwrap()]).await.unwrap();
    let target = Target::new("cnpg", &exporter.url()).label("namespace", "prod").label("pod", "pg-main-1");
    let options = Options::default().target(target).rules(&rules).alertmanager(&alertmanager.url());
    let prometheus = Prometheus::start(&options.interval(Duration::from_millis(300))).await.unwrap();
    let limit = Duration::from_secs(20);
    let series = prometheus.wait_for("cnpg_collector_up{namespace=\"prod\"}", limit).await.unwrap();
    assert_eq!(series[0]["metric"]["pod"], "pg-main-1");
    assert_eq!(series[0]["metric"]["job"], "cnpg");
    assert!(prometheus.query("ALERTS").await.unwrap().is_empty());
    exporter.set(|v| v.ready = 900);
    let alert = alertmanager.wait_for("alertname", "Backlog", true, limit).await.unwrap();
    assert_eq!(alert["labels"]["severity"], "critical");
    let sent = alertmanager.receiver().wait_for(1, limit).await;
    assert_eq!(sent[0].json()["alerts"][0]["labels"]["pod"], "pg-main-1");
    assert!(prometheus.query("nonsense(").await.is_err());
}

#[tokio::test]
async fn alertmanager_takes_what_its_api_wants_and_says_when_it_is_over() {
    if need("lab::monitoring", Tool::Alertmanager).is_none() {
        return;
    }
    let mut alertmanager = Alertmanager::start().await.unwrap();
    let alert = |ends: &str| serde_json::json!([{"labels": {"alertname": "lab", "subject": "pg/home/prod/a"}, "endsAt": ends}]);
    assert_eq!(alertmanager.post(&alert("2099-01-01T00:00:00Z")).await.unwrap(), 200);
    assert_eq!(alertmanager.post(&serde_json::json!([{"labels": {"bad-name": "x"}}])).await.unwrap(), 400);
    let limit = Duration::from_secs(15);
    alertmanager.wait_for("subject", "pg/home/prod/a", true, limit).await.unwrap();
    alertmanager.receiver().wait_for(1, limit).await;
    assert_eq!(alertmanager.post(&alert("2020-01-01T00:00:00Z")).await.unwrap(), 200);
    alertmanager.wait_for("subject", "pg/home/prod/a", false, limit).await.unwrap();
    alertmanager.stop();
    assert!(alertmanager.post(&alert("2099-01-01T00:00:00Z")).await.is_err());
    alertmanager.resume().await.unwrap();
    assert!(alertmanager.alerts().await.is_ok());
}

#[tokio::test]
async fn a_pushgateway_keeps_groups_and_refuses_bad_text() {
    let gateway = Pushgateway::start().unwrap();
    let push = async |method: &str, path: &str, body: &str| http(&gateway.url(), method, path, &[], body).await.0;
    let path = "/metrics/job/dalsegno/site/home";
    assert_eq!(push("PUT", path, "# TYPE a gauge\na 1\nb{x=\"y\"} 2\n").await, 200);
    assert_eq!(push("POST", path, "a 3\n").await, 200);
    let group: lab::pushgateway::Group =
        [("job", "dalsegno"), ("site", "home")].map(|(a, b)| (a.to_owned(), b.to_owned())).into();
    let held: Vec<(String, f64)> = gateway.groups()[&group].iter().map(|s| (s.name.clone(), s.value)).collect();
    assert_eq!(held, [("b".to_owned(), 2.0), ("a".to_owned(), 3.0)]);
    for bad in ["a 1", "a 1 1700000000000\n", "a{site=\"away\"} 1\n"] {
        assert_eq!(push("PUT", path, bad).await, 400, "{bad:?}");
    }
    assert_eq!(push("PUT", "/metrics/site/home", "a 1\n").await, 404);
    assert_eq!(push("DELETE", path, "").await, 202);
    assert!(gateway.groups().is_empty());
}

#[tokio::test]
async fn an_ntfy_takes_headers_or_json_and_wants_its_token() {
    let ntfy = Ntfy::with_token("tk_lab").unwrap();
    let auth = ("authorization", "Bearer tk_lab");
    let post = async |path: &str, headers: &[(&str, &str)], body: &str| http(&ntfy.url(), "POST", path, headers, body).await.0;
    assert_eq!(post("/ops", &[auth, ("title", "full in 9 h"), ("priority", "high"), ("tags", "a,b")], "text").await, 200);
    assert_eq!(post("/", &[auth], "{\"topic\":\"ops\",\"message\":\"m\",\"priority\":5}").await, 200);
    assert_eq!(post("/ops", &[], "text").await, 403);
    assert_eq!(post("/ops", &[auth, ("priority", "loud")], "text").await, 400);
    assert_eq!(post("/", &[auth], "{\"topic\":\"a b\"}").await, 400);
    assert_eq!(post("/ops", &[auth], &"x".repeat(5000)).await, 413);
    let messages = ntfy.messages();
    assert_eq!(messages.iter().map(|m| (m.priority, m.tags.len())).collect::<Vec<_>>(), [(4, 2), (5, 0)]);
}

async fn ask<S: AsyncRead + AsyncWrite + Unpin>(stream: &mut BufStream<S>, line: &str) -> String {
    if !line.is_empty() {
        stream.write_all(format!("{line}\r\n").as_bytes()).await.unwrap();
        stream.flush().await.unwrap();
    }
    let mut said = String::new();
    loop {
        let mut one = String::new();
        stream.read_line(&mut one).await.unwrap();
        said.push_str(&one);
        if one.as_bytes().get(3) != Some(&b'-') {
            return said;
        }
    }
}

#[tokio::test]
async fn mail_is_taken_only_after_starttls_and_login() {
    let smtp = Smtp::with_login("ops", "secret").unwrap();
    let mut plain = BufStream::new(TcpStream::connect(("127.0.0.1", smtp.port())).await.unwrap());
    assert!(ask(&mut plain, "").await.starts_with("220"));
    assert!(ask(&mut plain, "EHLO me").await.contains("STARTTLS"));
    assert!(ask(&mut plain, "MAIL FROM:<a@b>").await.starts_with("530"));
    assert!(ask(&mut plain, "STARTTLS").await.starts_with("220"));
    let mut roots = rustls::RootCertStore::empty();
    roots.add(rustls::pki_types::CertificateDer::from_pem_slice(smtp.authority_pem().as_bytes()).unwrap()).unwrap();
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connector = tokio_rustls::TlsConnector::from(std::sync::Arc::new(config));
    let name = rustls::pki_types::ServerName::try_from("127.0.0.1").unwrap();
    let mut secure = BufStream::new(connector.connect(name, plain.into_inner()).await.unwrap());
    assert!(ask(&mut secure, "EHLO me").await.contains("AUTH PLAIN"));
    assert!(ask(&mut secure, "AUTH PLAIN AG9wcwB3cm9uZw==").await.starts_with("535"));
    assert!(ask(&mut secure, "MAIL FROM:<a@b>").await.starts_with("530"));
    assert!(ask(&mut secure, "AUTH PLAIN AG9wcwBzZWNyZXQ=").await.starts_with("235"));
    assert!(ask(&mut secure, "MAIL FROM:<a@b>").await.starts_with("250"));
    assert!(ask(&mut secure, "RCPT TO:<c@d>").await.starts_with("250"));
    assert!(ask(&mut secure, "DATA").await.starts_with("354"));
    let text = "Subject: full\r\n in 9 h\r\n\r\nbody\r\n..dot\r\n.";
    assert!(ask(&mut secure, text).await.starts_with("250"));
    let mails = smtp.wait_for(1, Duration::from_secs(2)).await;
    assert_eq!(mails[0].header("subject").as_deref(), Some("full in 9 h"));
    assert_eq!(mails[0].body(), "body\n.dot\n");
    assert_eq!((mails[0].to.len(), mails[0].user.as_deref()), (1, Some("ops")));
    assert_eq!(smtp.refused().len(), 3, "{:?}", smtp.refused());
    smtp.answer(Manner::Plain);
    let mut plain = BufStream::new(TcpStream::connect(("127.0.0.1", smtp.port())).await.unwrap());
    ask(&mut plain, "").await;
    assert!(!ask(&mut plain, "EHLO me").await.contains("STARTTLS"));
    assert!(Authority::new().unwrap().pem() != smtp.authority_pem());
}
