use std::time::Duration;

use dalsegno::domain::{Message, Secret, Severity, Told};
use dalsegno::notify::{Channel, Mail, Sent, Way, send};
use lab::smtp::{Manner, Smtp};

use super::{at, finding, means, new, notice, of, said};

const LIMIT: Duration = Duration::from_secs(5);
const PASSWORD: &str = "correct-horse";

fn channel(server: &Smtp, password: Option<&str>) -> Channel {
    let mail = Mail {
        server: "localhost".into(),
        port: server.port(),
        user: password.map(|_| "dalsegno".to_owned()),
        password: password.map(|password| Secret::new(password.to_owned())),
        from: "dalsegno <dalsegno@our.lan>".into(),
        to: vec!["vera@our.lan".into(), "ops@our.lan".into()],
        ca_pem: Some(server.authority_pem().as_bytes().to_vec()),
    };
    of("mail/team", Way::Mail(Box::new(mail)))
}

fn a_letter(channel: &Channel) -> Message {
    said(channel, &[new("wal-gap", "keycloak-db", Severity::Critical)]).unwrap()
}

async fn sent(channel: &Channel) -> Sent {
    send(&means(), channel, &a_letter(channel), at(0), LIMIT).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mail_arrives_behind_starttls_with_title_text_and_key() {
    let server = Smtp::with_login("dalsegno", PASSWORD).unwrap();
    let channel = channel(&server, Some(PASSWORD));
    assert_eq!(sent(&channel).await, Sent::Delivered, "{:?}", server.refused());
    let mails = server.mails();
    assert_eq!((mails.len(), mails[0].to.len(), mails[0].user.as_deref()), (1, 2, Some("dalsegno")));
    assert_eq!(mails[0].header("subject").as_deref(), Some("dalsegno home: 1 new (1 critical)"));
    assert!(mails[0].body().contains("key: home/wal-gap/pg/home/prod/keycloak-db"), "{}", mails[0].text);
    sent(&channel).await;
    let ids: Vec<_> = server.mails().iter().map(|mail| mail.header("message-id")).collect();
    assert!(ids[0].is_some() && ids[0] == ids[1], "a second copy can be told: {ids:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_starttls_gets_neither_password_nor_mail() {
    let server = Smtp::with_login("dalsegno", PASSWORD).unwrap();
    server.answer(Manner::Plain);
    let sent = sent(&channel(&server, Some(PASSWORD))).await;
    assert!(matches!(sent, Sent::Later { .. } | Sent::Never { .. }), "{sent:?}");
    assert!(server.mails().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_authority_that_nobody_vouches_for_gets_nothing() {
    let server = Smtp::start().unwrap();
    let mut channel = channel(&server, None);
    if let Way::Mail(mail) = &mut channel.way {
        mail.ca_pem = None;
    }
    assert!(!matches!(sent(&channel).await, Sent::Delivered));
    assert!(server.mails().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_may_pass_is_tried_again_and_what_will_not_is_given_up() {
    let server = Smtp::start().unwrap();
    let channel = channel(&server, None);
    server.answer(Manner::Refuse(450));
    assert!(matches!(sent(&channel).await, Sent::Later { .. }));
    server.answer(Manner::Refuse(550));
    assert!(matches!(sent(&channel).await, Sent::Never { .. }));
    server.answer(Manner::Hang);
    let begun = std::time::Instant::now();
    let hanging = send(&means(), &channel, &a_letter(&channel), at(0), Duration::from_secs(1)).await;
    assert!(matches!(hanging, Sent::Later { .. }) && begun.elapsed() < Duration::from_secs(3), "{hanging:?}");
    server.answer(Manner::Fine);
    assert_eq!(sent(&channel).await, Sent::Delivered, "the twin");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_is_said_without_the_password() {
    let server = Smtp::with_login("dalsegno", PASSWORD).unwrap();
    let sent = sent(&channel(&server, Some("wrong-staple-battery"))).await;
    assert!(matches!(sent, Sent::Never { .. } | Sent::Later { .. }));
    assert!(!format!("{sent:?}").contains("wrong-staple-battery"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_name_adds_no_header() {
    let server = Smtp::start().unwrap();
    let channel = channel(&server, None);
    let mut hostile = finding("wal-gap", "a", Severity::Critical);
    hostile.summary = "x\r\nBcc: all@our.lan\r\n\r\n.\r\nQUIT".into();
    let letter = said(&channel, &[notice(Told::New, None, hostile)]).unwrap();
    assert_eq!(send(&means(), &channel, &letter, at(0), LIMIT).await, Sent::Delivered);
    let mail = server.mails().remove(0);
    assert_eq!((mail.header("bcc"), mail.to.len()), (None, 2));
}
