//! Values that nobody filled in. Recognised by form, never by a list of examples.

/// What kind of value is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A name, a path, a word.
    Plain,
    /// Text in a language of its own (SQL), where `<` and `$` have a meaning.
    Free,
    /// A URL or host.
    Url,
    /// The value of a secret.
    Secret,
    /// The value of a secret that is a URL.
    SecretUrl,
}

/// Hosts that exist only in documentation (RFC 2606).
const NOBODYS_HOSTS: [&str; 3] = ["example.com", "example.org", "example.net"];

/// Whether `value` stands where a real one should.
pub fn is_placeholder(value: &str, kind: Kind) -> bool {
    let value = value.trim();
    if kind == Kind::Free {
        return whole(value);
    }
    let secret = matches!(kind, Kind::Secret | Kind::SecretUrl);
    let url = matches!(kind, Kind::Url | Kind::SecretUrl);
    token(value, "TBD")
        || token(value, "CHANGEME")
        || token(value, "CHANGE_ME")
        || token(value, "CHANGE-ME")
        || token(value, "REPLACE")
        || token(value, "REPLACEME")
        || between(value, "${", "}", |name| !name.is_empty())
        || between(value, "{{", "}}", |name| !name.trim().is_empty())
        || between(value, "<", ">", is_words)
        || (secret && is_lazy(value))
        || (url && is_nobodys_host(value))
}

/// The whole of a free text is a placeholder.
fn whole(value: &str) -> bool {
    let wrapped = |open: &str, close: &str| {
        value.strip_prefix(open).and_then(|rest| rest.strip_suffix(close)).is_some_and(|inner| is_words(inner.trim()))
    };
    let word = value.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
    wrapped("${", "}") || wrapped("<", ">") || matches!(word, "TBD" | "CHANGEME" | "CHANGE_ME" | "REPLACEME" | "REPLACE_ME")
}

/// `word` in upper case, not as a part of a longer word.
fn token(value: &str, word: &str) -> bool {
    value.match_indices(word).any(|(at, _)| {
        let before = value.get(..at).and_then(|text| text.chars().next_back());
        let after = value.get(at + word.len()..).and_then(|text| text.chars().next());
        let edge = |c: Option<char>| c.is_none_or(|c| !c.is_ascii_alphanumeric());
        edge(before) && edge(after)
    })
}

/// `open` … `close` somewhere in the value, with an inner text that `fits`.
fn between(value: &str, open: &str, close: &str, fits: impl Fn(&str) -> bool) -> bool {
    value.match_indices(open).any(|(at, _)| {
        let rest = value.get(at + open.len()..).unwrap_or_default();
        rest.split_once(close).is_some_and(|(inner, _)| fits(inner))
    })
}

/// `<account>`, `<your bucket>`: words, not an expression.
fn is_words(inner: &str) -> bool {
    inner.len() <= 60
        && inner.starts_with(|c: char| c.is_ascii_alphabetic())
        && inner.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ' | ':'))
}

/// Secrets that are filled in later, in lower case as well.
fn is_lazy(value: &str) -> bool {
    matches!(
        value.to_ascii_lowercase().as_str(),
        "changeme" | "change-me" | "change_me" | "replaceme" | "replace-me" | "replace_me" | "todo" | "tbd"
    )
}

fn is_nobodys_host(value: &str) -> bool {
    let rest = value.split_once("://").map_or(value, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default().split(':').next().unwrap_or_default().to_ascii_lowercase();
    NOBODYS_HOSTS.iter().any(|known| host == *known || host.strip_suffix(known).is_some_and(|head| head.ends_with('.')))
}
