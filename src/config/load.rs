//! The way from files and environment to settings.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::de::DeserializeOwned;

use super::mistake::{At, ConfigErrors, Mistake};
use super::placeholder::Kind;
use super::schema::Schema;
use super::secrets::{Outcome, read as read_secret};
use super::settings::Settings;
use super::tree::{Node, child};
use super::walk::{Walked, walk};
use super::{files, notice, overrides};
use crate::domain::{Complaint, Denied, FactKind, Gap, Placeholder, Secret, SecretRef, Subject, Weight};

/// What came of a configuration: everything that can be used, and what cannot and why.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// Everything that can be used.
    pub settings: Settings,
    /// Values that nobody filled in.
    pub placeholders: Vec<Placeholder>,
    /// What cannot be looked at because of a placeholder or a missing secret.
    pub gaps: Vec<Gap>,
    /// The store that each database lies on, those that cannot be used included.
    pub rests_on: BTreeMap<Subject, Subject>,
    /// Worth saying.
    pub warnings: Vec<Mistake>,
    /// As it was written, all files and overrides laid together: secrets are references in it.
    pub written: serde_json::Value,
}

/// For a pass: goes on with everything that can be used. Only mistakes of form and meaning are refused; placeholders and
/// missing secrets cost the parts they stand in.
pub fn load(sources: &[PathBuf], env: &BTreeMap<String, String>) -> Result<Loaded, ConfigErrors> {
    go_on(sources, env, true)
}

/// As [`load`], where the secrets are not at hand and not needed: a replay. Neither environment variables nor files of secrets are read.
pub fn load_without_secrets(sources: &[PathBuf], env: &BTreeMap<String, String>) -> Result<Loaded, ConfigErrors> {
    go_on(sources, env, false)
}

fn go_on(sources: &[PathBuf], env: &BTreeMap<String, String>, secrets: bool) -> Result<Loaded, ConfigErrors> {
    let (mut loaded, work) = build(sources, env, secrets)?;
    if !work.fatal.is_empty() {
        return Err(work.errors());
    }
    // Placeholders and missing secrets are said as gaps; the rest of what `config check` refuses is at least said.
    let said = |mistake: &Mistake| mistake.code == notice::PLACEHOLDER || mistake.code == notice::SECRET_MISSING;
    loaded.warnings.extend(work.refused.into_iter().filter(|mistake| !said(mistake)));
    Ok(loaded)
}

/// For `config check`: refuses placeholders, missing secrets and everything else that a pass would go on with.
pub fn check(sources: &[PathBuf], env: &BTreeMap<String, String>) -> Result<Loaded, ConfigErrors> {
    let (loaded, work) = build(sources, env, true)?;
    if work.fatal.is_empty() && work.refused.is_empty() { Ok(loaded) } else { Err(work.errors()) }
}

/// As [`check`], where the secrets are not at hand: neither environment variables nor files of secrets are read.
pub fn check_without_secrets(sources: &[PathBuf], env: &BTreeMap<String, String>) -> Result<Loaded, ConfigErrors> {
    let (loaded, work) = build(sources, env, false)?;
    if work.fatal.is_empty() && work.refused.is_empty() { Ok(loaded) } else { Err(work.errors()) }
}

fn build(sources: &[PathBuf], env: &BTreeMap<String, String>, secrets: bool) -> Result<(Loaded, Work), ConfigErrors> {
    let mut warnings = Vec::new();
    let mut root = files::read(sources, &mut warnings).map_err(ConfigErrors::new)?;
    let schema = Schema::new();
    let mut fatal = Vec::new();
    overrides::lay(&mut root, env, &schema, &mut fatal);
    let Walked { mistakes, placeholders } = walk(&schema, &root);
    fatal.extend(mistakes);
    let mut work = Work { root, env: env.clone(), secrets, placeholders, fatal, warnings, ..Work::default() };
    let settings = super::build::settings(&mut work);
    for placeholder in &work.placeholders {
        work.refused.push(work.refusal(placeholder));
    }
    let loaded = Loaded {
        written: work.root.to_json("", &|_| false),
        settings,
        placeholders: work.placeholders.clone(),
        gaps: std::mem::take(&mut work.gaps),
        rests_on: std::mem::take(&mut work.rests_on),
        warnings: std::mem::take(&mut work.warnings),
    };
    Ok((loaded, work))
}

/// Everything the way needs and gathers.
pub(super) struct Work {
    pub(super) root: Node,
    pub(super) env: BTreeMap<String, String>,
    secrets: bool,
    pub(super) placeholders: Vec<Placeholder>,
    /// Refused everywhere.
    pub(super) fatal: Vec<Mistake>,
    /// Refused by `config check`; a pass goes on.
    pub(super) refused: Vec<Mistake>,
    pub(super) gaps: Vec<Gap>,
    pub(super) rests_on: BTreeMap<Subject, Subject>,
    pub(super) warnings: Vec<Mistake>,
}

impl Default for Work {
    fn default() -> Self {
        Self {
            root: Node::empty(At::Nowhere),
            env: BTreeMap::new(),
            secrets: true,
            placeholders: Vec::new(),
            fatal: Vec::new(),
            refused: Vec::new(),
            gaps: Vec::new(),
            rests_on: BTreeMap::new(),
            warnings: Vec::new(),
        }
    }
}

impl Work {
    fn errors(self) -> ConfigErrors {
        ConfigErrors::new(self.fatal.into_iter().chain(self.refused).collect())
    }

    /// Names below a key, with the node of each.
    pub(super) fn named(&self, key: &str) -> Vec<(String, Node)> {
        let node = self.root.get(key);
        node.map(|node| node.entries().iter().map(|entry| (entry.key.clone(), entry.node.clone())).collect()).unwrap_or_default()
    }

    /// Says whose placeholders those below `path` are.
    pub(super) fn own_placeholders(&mut self, path: &str, subject: &Subject) {
        for placeholder in self.placeholders.iter_mut().filter(|placeholder| is_below(&placeholder.key_path, path)) {
            placeholder.subject = subject.clone();
        }
    }

    /// Placeholders below `path`.
    pub(super) fn placeholders_below(&self, path: &str) -> Vec<&Placeholder> {
        self.placeholders.iter().filter(|placeholder| is_below(&placeholder.key_path, path)).collect()
    }

    /// The typed form of a part, without what stands at placeholders for which `leave_out` says so. A part with mistakes or
    /// placeholders is read as far as it goes, so that the rest of it is checked too; it is never used. `None` when even
    /// that cannot be.
    pub(super) fn part<T: DeserializeOwned>(&mut self, path: &str, node: &Node, leave_out: &dyn Fn(&str) -> bool) -> Option<T> {
        let hollow = |path: &str| {
            self.fatal.iter().any(|mistake| mistake.key == path)
                || (leave_out(path) && self.placeholders.iter().any(|placeholder| takes_out(&placeholder.key_path, path)))
        };
        let mut json = node.to_json(path, &hollow);
        let torn = self.is_wrong(path) || !self.placeholders_below(path).is_empty();
        if torn {
            let schema = Schema::new();
            let parts = path.split('.').try_fold(schema.root(), |above, key| schema.below(above, key));
            if let Some(of_part) = parts {
                schema.fill(of_part, &mut json, 0);
            }
        }
        match serde_json::from_value(json) {
            Ok(value) => Some(value),
            Err(_) if torn => None,
            Err(_) => {
                // The walker should have said it better. Serde's own text may repeat a value, so it stays here.
                self.fatal.push(Mistake::new(&node.at, path, "config-type", "does not have the form that the schema describes"));
                None
            }
        }
    }

    /// Whether something at, below or above `path` is refused.
    pub(super) fn is_wrong(&self, path: &str) -> bool {
        let touches = |key: &str| is_below(key, path) || is_below(path, key);
        self.fatal.iter().any(|mistake| !mistake.key.is_empty() && touches(&mistake.key))
    }

    /// Sorts complaints by weight. One about a placeholder says nothing new.
    pub(super) fn take(&mut self, path: &str, complaints: Vec<Complaint>) {
        for complaint in complaints {
            let key = child(path, &complaint.key);
            let key = key.trim_end_matches('.').to_owned();
            if self.is_wrong(&key) || !self.placeholders_below(&key).is_empty() {
                continue;
            }
            let at = self.root.place_of(&key);
            let mistake = Mistake::new(&at, &key, &complaint.code, complaint.text).hint(complaint.hint);
            match complaint.weight {
                Weight::Warning => self.warnings.push(mistake),
                Weight::RefusedByCheck => self.refused.push(mistake),
                Weight::Refused => self.fatal.push(mistake),
            }
        }
    }

    /// Reads a secret. When it cannot be had, `troubles` gets the reason and an empty secret stands in; nobody uses a
    /// part that has troubles.
    pub(super) fn secret(
        &mut self,
        key: &str,
        reference: &SecretRef,
        kind: Kind,
        subject: &Subject,
        troubles: &mut Vec<Trouble>,
    ) -> Secret {
        let nothing = || Secret::new(String::new());
        let written = [key.to_owned(), child(key, "env"), child(key, "file")];
        if !self.secrets || self.is_wrong(key) {
            return nothing();
        }
        if self.placeholders.iter().any(|placeholder| written.contains(&placeholder.key_path)) {
            troubles.push(Trouble {
                key: key.to_owned(),
                code: notice::PLACEHOLDER,
                text: format!("{key} is a placeholder"),
                hint: "fill it in".to_owned(),
            });
            return nothing();
        }
        let at = self.root.place_of(key);
        match read_secret(reference, &at, &self.env, kind) {
            Outcome::Value(secret, warning) => {
                if let Some((text, hint)) = warning {
                    self.warnings.push(Mistake::new(&at, key, "secret-warning", text).hint(hint));
                }
                secret
            }
            Outcome::Placeholder => {
                let text = format!("{key} ({reference}) holds a placeholder");
                let hint = format!("put the real value into {reference}");
                troubles.push(Trouble { key: key.to_owned(), code: notice::PLACEHOLDER, text, hint });
                self.placeholders.push(Placeholder {
                    subject: subject.clone(),
                    key_path: key.to_owned(),
                    value: "***".to_owned(),
                    at: reference.to_string(),
                });
                nothing()
            }
            Outcome::Missing(text, hint) => {
                self.refused.push(Mistake::new(&at, key, "secret-missing", text.clone()).hint(hint.clone()));
                troubles.push(Trouble {
                    key: key.to_owned(),
                    code: notice::SECRET_MISSING,
                    text: format!("{key}: {text}"),
                    hint,
                });
                nothing()
            }
        }
    }

    /// What `config check` says of a placeholder.
    fn refusal(&self, placeholder: &Placeholder) -> Mistake {
        let at = self.root.place_of(&placeholder.key_path);
        let text = if placeholder.value == "***" {
            format!("the secret holds a placeholder ({})", placeholder.at)
        } else {
            format!("\"{}\" is a placeholder", placeholder.value)
        };
        let hint = "fill in what stands there as a placeholder; until then a pass leaves that part out, and says so";
        Mistake::new(&at, &placeholder.key_path, notice::PLACEHOLDER, text).hint(hint)
    }

    /// One gap for all that keeps us from asking.
    pub(super) fn gap(&mut self, subject: &Subject, what: FactKind, troubles: &[Trouble]) {
        let is_placeholder = |trouble: &&Trouble| !self.placeholders_below(&trouble.key).is_empty();
        let Some(first) = troubles.iter().find(is_placeholder).or_else(|| troubles.first()) else { return };
        let code = if is_placeholder(&first) { notice::PLACEHOLDER } else { first.code };
        let texts: Vec<&str> = troubles.iter().map(|trouble| trouble.text.as_str()).collect();
        let gap = Gap {
            subject: subject.clone(),
            what,
            why: Denied::NotAsked,
            code: Some(code.to_owned()),
            detail: texts.join("; "),
            hint: first.hint.clone(),
        };
        self.gaps.push(gap);
    }
}

/// Why a part cannot be used.
pub(super) struct Trouble {
    /// The key.
    pub(super) key: String,
    /// Machine word.
    pub(super) code: &'static str,
    /// What is wrong.
    pub(super) text: String,
    /// What to do.
    pub(super) hint: String,
}

/// Whether `key` is `path` or lies below it.
pub(super) fn is_below(key: &str, path: &str) -> bool {
    path.is_empty() || key.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// A placeholder takes its own key out, or the whole item of a list that it stands in.
fn takes_out(placeholder: &str, path: &str) -> bool {
    placeholder == path || (path.ends_with(']') && is_below(placeholder, path))
}
