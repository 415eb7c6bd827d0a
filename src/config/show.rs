//! The outcome of a configuration, as data that may be printed: secrets are stars.

use serde_json::{Value, json};

use super::channels::WaySettings;
use super::load::Loaded;
use super::settings::{LedgerSettings, Settings};
use crate::domain::{Secret, Span};
use crate::providers::cnpg::config::CnpgSettings;
use crate::providers::objectstore::config::{Keys, StoreSettings};
use crate::providers::postgres::config::PostgresSettings;

/// Everything that came out, with placeholders, gaps and warnings.
pub fn shown(loaded: &Loaded) -> Value {
    json!({
        "settings": settings(&loaded.settings),
        "placeholders": loaded.placeholders,
        "gaps": loaded.gaps,
        "warnings": loaded.warnings,
    })
}

fn settings(settings: &Settings) -> Value {
    json!({
        "site": settings.site,
        "environment": settings.environment,
        "state": {"folder": settings.state_folder},
        "ledger": match &settings.ledger {
            LedgerSettings::Volume => json!({"home": "volume"}),
            LedgerSettings::Bucket { store, prefix } => json!({"home": "bucket", "store": store, "prefix": prefix}),
        },
        "stores": settings.stores.iter().map(|store| (store.id.to_string(), shown_store(store))).collect::<serde_json::Map<_, _>>(),
        "postgres": settings.postgres.iter().map(|db| (db.name.clone(), shown_database(db))).collect::<serde_json::Map<_, _>>(),
        "cnpg": settings.cnpg.iter().map(|of| (of.kubernetes.id.to_string(), shown_cnpg(of))).collect::<serde_json::Map<_, _>>(),
        "drill": {
            "folder": settings.drill.folder,
            "user": settings.drill.user,
            "postgres": settings.drill.postgres,
            "isolation": settings.drill.isolation,
        },
        "notify": {
            "webhooks": settings.notify.webhooks.iter()
                .map(|hook| (hook.name.clone(), json!({"url": stars(&hook.url), "at-least": hook.at_least})))
                .collect::<serde_json::Map<_, _>>(),
            "channels": settings.notify.channels.iter()
                .map(|of| (of.name.clone(), json!({"at-least": of.at_least, "way": shown_way(&of.way)})))
                .collect::<serde_json::Map<_, _>>(),
            "heartbeat": settings.notify.heartbeat.as_ref().map(stars),
        },
        "attention": settings.attention,
        "pass": {
            "deadline": Span(settings.pass.deadline),
            "provider-deadline": Span(settings.pass.provider_deadline),
            "mode": settings.pass.mode,
        },
    })
}

fn shown_cnpg(of: &CnpgSettings) -> Value {
    json!({
        "subject": of.kubernetes.subject,
        "environment": of.kubernetes.environment,
        "kubeconfig": of.kubernetes.kubeconfig,
        "context": of.kubernetes.context,
        "namespaces": of.namespaces,
        "reads": of.reads,
        "use-their-keys": of.their_keys.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "stores": of.same_stores,
        "policy": of.policy,
    })
}

fn shown_store(store: &StoreSettings) -> Value {
    json!({
        "subject": store.subject,
        "endpoint": store.endpoint,
        "bucket": store.bucket,
        "region": store.region,
        "dialect": store.dialect,
        "ca": store.ca_file,
        "read": shown_keys(&store.read),
        "own": store.own.as_ref().map(|own| json!({"prefix": own.prefix, "keys": shown_keys(&own.keys)})),
        "immutability": store.immutability,
        "requests-per-day": store.requests_per_day,
    })
}

fn shown_database(database: &PostgresSettings) -> Value {
    json!({
        "subject": database.subject,
        "archive": database.place,
        "system-id": database.system_id,
        "policy": database.policy,
        "checks": database.checks,
    })
}

fn shown_way(way: &WaySettings) -> Value {
    match way {
        WaySettings::Alertmanager(url, auth) => json!({"url": url, "authorization": auth.as_ref().map(stars)}),
        WaySettings::Ntfy(url, auth) => json!({"url": stars(url), "authorization": auth.as_ref().map(stars)}),
        WaySettings::Mail(mail) => json!({
            "server": mail.server,
            "port": mail.port,
            "user": mail.user,
            "password": mail.password.as_ref().map(stars),
            "from": mail.from,
            "to": mail.to,
        }),
        WaySettings::Events(cluster) => json!({"cluster": cluster}),
        WaySettings::Pushgateway(url, job, auth) => json!({"url": url, "job": job, "authorization": auth.as_ref().map(stars)}),
        WaySettings::File(path) => json!({"file": path}),
    }
}

fn shown_keys(keys: &Keys) -> Value {
    json!({
        "access-key-id": stars(&keys.access_key_id),
        "secret-access-key": stars(&keys.secret_access_key),
        "session-token": keys.session_token.as_ref().map(stars),
    })
}

/// Always as many: the length of a secret is nobody's business.
fn stars(secret: &Secret) -> String {
    secret.to_string()
}
