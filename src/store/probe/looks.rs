//! The steps of a probe that only look.

use bytes::Bytes;

use super::super::endpoint::endpoint_host;
use super::super::error::SKEW_LIMIT_SECONDS;
use super::{Probe, setting_words};
use crate::domain::{Dialect, LifecycleRule, Setting, Verdict, age, duration_in_words, many};
use crate::store::StoreError;
use crate::store::error_words::{plain_endpoint, speaks_no_tls};

/// A skew below this is the resolution of the `Date` header and the way there and back.
const SKEW_FINE_SECONDS: f64 = 5.0;
/// An UploadId that no store has given out.
const MADE_UP: &str = "dalsegno-made-up-upload-id";

impl Probe<'_> {
    /// Name, TLS, chain.
    pub(super) async fn tls(&mut self) {
        let endpoint = &self.store.identity().endpoint;
        if !endpoint.starts_with("https://") {
            let hint = "use https: the keys are signed, the data is not protected".to_owned();
            return self.say("tls", Verdict::Failed, false, "plain http: anybody on the way can read the data", Some(hint));
        }
        let (Some(tls), Some((host, port))) = (&self.plan.tls, endpoint_host(endpoint)) else {
            return self.say("tls", Verdict::Unknown, false, "not looked at", None);
        };
        let seen = match tls.look(&host, port).await {
            Ok(seen) => seen,
            Err(error) => {
                let hint = speaks_no_tls(&error.to_string()).then(|| plain_endpoint(endpoint));
                return self.say("tls", Verdict::Unknown, false, error.to_string(), hint);
            }
        };
        let Some(first) = seen.chain.iter().min_by_key(|line| line.not_after) else { return };
        self.learnt.private_ca = seen.verified_by.starts_with("ca:");
        let ends = format!("{} ends {}", first.subject, age(first.not_after, self.plan.now));
        match &seen.error {
            Some(error) => {
                let hint = if speaks_no_tls(error) {
                    plain_endpoint(endpoint)
                } else {
                    "a private CA? give its certificate with `ca:`; expired? renew it".to_owned()
                };
                self.say("tls", Verdict::Failed, true, format!("{error}; {ends}"), Some(hint));
            }
            None => self.say("tls", Verdict::Proven, true, format!("vouched for by {}; {ends}", seen.verified_by), None),
        }
    }

    /// Keys, region and path style are right when a list is answered.
    pub(super) async fn list(&mut self) -> bool {
        let prefix = self.store.identity().own_prefix.clone();
        let prefix = prefix.as_ref().map_or("", |prefix| prefix.as_str());
        match self.store.peek(prefix).await {
            Ok(first) => {
                let what = if first.is_some() { "there are keys" } else { "no key" };
                self.learnt.server = self.store.last_seen().server;
                self.say("list", Verdict::Proven, true, format!("answered for \"{prefix}\": {what}"), None);
                true
            }
            Err(error) => {
                self.say_error("list", true, &error);
                matches!(error, StoreError::AccessDenied { .. })
            }
        }
    }

    /// Everything else that can be learnt without writing.
    pub(super) async fn look_closer(&mut self) {
        self.clock();
        self.region().await;
        self.rights().await;
        self.settings().await;
    }

    fn clock(&mut self) {
        let Some(skew) = self.store.clock_skew() else {
            return self.say("clock", Verdict::Unknown, false, "the store sends no Date", None);
        };
        let hint = || Some("set this machine's clock: timedatectl set-ntp true".to_owned());
        let side = if skew < 0.0 { "ahead of" } else { "behind" };
        let seen = format!("this machine's clock is {} {side} the store's", duration_in_words(skew.abs()));
        if skew.abs() < SKEW_FINE_SECONDS {
            self.say("clock", Verdict::Proven, false, "the store's clock and ours agree", None);
        } else {
            self.say("clock", Verdict::Failed, skew.abs() > SKEW_LIMIT_SECONDS, seen, hint());
        }
    }

    async fn region(&mut self) {
        let identity = self.store.identity();
        let named = match self.store.head_bucket().await {
            Ok(named) => named,
            Err(error) => return self.say_error("region", false, &error),
        };
        let ours = identity.region.as_str();
        let told = named.as_deref().map(|name| format!(", HeadBucket names {name}")).unwrap_or_default();
        if identity.dialect != Dialect::R2 {
            return match named.as_deref() {
                Some(name) if name != ours && identity.dialect == Dialect::Aws => self.say(
                    "region",
                    Verdict::Failed,
                    true,
                    format!("signed with \"{ours}\"{told}"),
                    Some(format!("set `region: {name}`")),
                ),
                _ => self.say("region", Verdict::Proven, true, format!("\"{ours}\" is accepted{told}"), None),
            };
        }
        // R2 takes auto; us-east-1 and nothing mean the same; what HeadBucket names there is a place, not a signing region.
        // https://developers.cloudflare.com/r2/api/s3/api/#bucket-region
        let hint = Some("set `region: auto`".to_owned());
        let place = if told.is_empty() { told } else { format!("{told} (a place, not a signing region)") };
        match ours {
            "auto" => self.say("region", Verdict::Proven, true, format!("\"auto\" is accepted{place}"), None),
            "" | "us-east-1" => {
                self.say("region", Verdict::Proven, true, format!("\"{ours}\" is taken as \"auto\"{place}"), hint);
            }
            _ => self.say("region", Verdict::Failed, true, format!("\"{ours}\" is not R2's signing region{place}"), hint),
        }
    }

    /// May this key write? Asked without writing: a part for an upload that does not exist.
    async fn rights(&mut self) {
        let own = self.store.identity().own_prefix.clone();
        let key = format!("{}{}rights", own.as_ref().map_or("", |prefix| prefix.as_str()), super::FOLDER);
        let answer = self.store.inner.calls.upload_part(&key, MADE_UP, 1, Bytes::from_static(b"dalsegno")).await;
        let at = self.store.at("UploadPart", &key);
        match self.store.counted(answer, super::super::open::Class::A, &at) {
            Err(StoreError::NoSuchUpload { .. }) => {
                self.say("may-write", Verdict::Proven, false, "this key may write (NoSuchUpload for a made-up upload)", None);
            }
            // A key that is there to read needs no more, and is better without.
            Err(StoreError::AccessDenied { .. }) if own.is_none() => {
                self.say("may-write", Verdict::Proven, false, "the reading key may only read, as it should", None);
            }
            Err(error @ StoreError::AccessDenied { .. }) => {
                self.say("may-write", Verdict::Failed, false, "this key may only read", error_hint(&error));
            }
            Err(error) => {
                self.say("may-write", Verdict::Unknown, false, format!("the answer does not tell: {error}"), None);
            }
            Ok(_) => {
                self.say("may-write", Verdict::Unknown, false, "the store took a part for an upload that does not exist", None);
            }
        }
    }

    async fn settings(&mut self) {
        match self.store.versioning().await {
            Ok(setting) => {
                self.learnt.versioned = matches!(&setting, Setting::Set(state) if state == "Enabled");
                let (verdict, seen) = setting_words(&setting, Clone::clone);
                self.say("versioning", verdict, false, seen, None);
            }
            Err(error) => self.say_error("versioning", false, &error),
        }
        match self.store.object_lock().await {
            Ok(setting) => {
                let (verdict, seen) = setting_words(&setting, |held| match held {
                    Some((mode, days)) => format!("every new object is held for {days} days ({mode})"),
                    None => "on, without a default retention".to_owned(),
                });
                self.say("object-lock", verdict, false, seen, None);
            }
            Err(error) => self.say_error("object-lock", false, &error),
        }
        match self.store.lifecycle().await {
            Ok(setting) => {
                let (verdict, seen) = setting_words(&setting, |rules| lifecycle_words(rules));
                self.say("lifecycle", verdict, false, seen, None);
            }
            Err(error) => self.say_error("lifecycle", false, &error),
        }
    }
}

fn error_hint(error: &StoreError) -> Option<String> {
    crate::domain::Explained::hint(error)
}

fn lifecycle_words(rules: &[LifecycleRule]) -> String {
    let expiring: Vec<String> = rules
        .iter()
        .filter(|rule| rule.enabled)
        .filter_map(|rule| rule.expire_days.map(|days| format!("\"{}\" after {days} d", rule.prefix)))
        .collect();
    if expiring.is_empty() {
        return format!("{} rules, none of which ends objects", many(rules.len(), "rule"));
    }
    format!("objects end below {}", expiring.join(", "))
}
