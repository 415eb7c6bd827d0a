//! Mail by SMTP. STARTTLS is required: a server that offers none gets neither password nor message. RFC 3207, RFC 6409.

use std::time::Duration;

use lettre::message::Mailbox;
use lettre::message::header::ContentType;
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Certificate, Tls, TlsParameters};
use lettre::{AsyncSmtpTransport, AsyncTransport as _, Tokio1Executor};
use serde::{Deserialize, Serialize};

use super::About;
use super::channel::Mail;
use super::send::Sent;
use super::text::{tame, text, title};
use crate::domain::Notice;

/// A mail may be long; this keeps hostile summaries from making it a nuisance.
const TEXT_BYTES: usize = 60_000;

/// What is kept.
#[derive(Debug, Serialize, Deserialize)]
struct Letter {
    subject: String,
    text: String,
}

/// The body of a message.
pub(super) fn body(about: &About, notices: &[&Notice]) -> String {
    let letter = Letter { subject: title(about, notices), text: text(about, notices, TEXT_BYTES) };
    serde_json::to_string(&letter).unwrap_or_default()
}

/// Sends a letter once. `key` becomes the message's id, the same at every attempt, so that a second copy can be dropped.
pub(super) async fn send(mail: &Mail, key: &str, body: &str, limit: Duration) -> Sent {
    let message = match letter(mail, key, body) {
        Ok(message) => message,
        Err(why) => return Sent::Never { why },
    };
    let transport = match transport(mail, limit) {
        Ok(transport) => transport,
        Err(error) => return Sent::Never { why: format!("the mail server's authority cannot be used: {error}") },
    };
    let name = format!("{}:{}", mail.server, mail.port);
    match tokio::time::timeout(limit, transport.send(message)).await {
        Err(_) => Sent::Later { why: format!("{name}: no answer within {} s", limit.as_secs()), retry_after: None },
        Ok(Ok(_)) => Sent::Delivered,
        Ok(Err(error)) => refused(&name, &error),
    }
}

/// A temporary answer (4xx) and a lost connection may pass; a refusal (5xx) will not. A server without STARTTLS may have been
/// stripped of it by somebody between us, so it is tried again.
fn refused(name: &str, error: &lettre::transport::smtp::Error) -> Sent {
    let mut words = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        let inner_words = inner.to_string();
        if !words.contains(&inner_words) {
            words = format!("{words}: {inner_words}");
        }
        cause = inner.source();
    }
    let why = tame(&format!("{name}: {words}"), 300);
    if error.is_permanent() { Sent::Never { why } } else { Sent::Later { why, retry_after: None } }
}

fn letter(mail: &Mail, key: &str, body: &str) -> Result<lettre::Message, String> {
    let letter: Letter = serde_json::from_str(body).map_err(|error| format!("the kept message is none of ours: {error}"))?;
    let address = |text: &str| text.parse::<Mailbox>().map_err(|error| format!("{text} is no mail address: {error}"));
    let id: String = key.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '.' }).collect();
    let mut message = lettre::Message::builder()
        .from(address(&mail.from)?)
        .subject(letter.subject)
        .message_id(Some(format!("<{id}@dalsegno>")))
        .header(ContentType::TEXT_PLAIN);
    for to in &mail.to {
        message = message.to(address(to)?);
    }
    message.body(letter.text).map_err(|error| format!("the message cannot be written: {error}"))
}

fn transport(mail: &Mail, limit: Duration) -> Result<AsyncSmtpTransport<Tokio1Executor>, lettre::transport::smtp::Error> {
    let mut tls = TlsParameters::builder(mail.server.clone());
    if let Some(pem) = &mail.ca_pem {
        tls = tls.add_root_certificate(Certificate::from_pem(pem)?);
    }
    let mut builder = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(mail.server.as_str())
        .port(mail.port)
        .tls(Tls::Required(tls.build()?))
        .timeout(Some(limit));
    if let (Some(user), Some(password)) = (&mail.user, &mail.password) {
        builder = builder.credentials(Credentials::new(user.clone(), password.expose().to_owned()));
    }
    Ok(builder.build())
}
