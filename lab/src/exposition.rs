//! Prometheus' text format, read strictly
//! (<https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format>).

use std::collections::{BTreeMap, BTreeSet};

/// One sample.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Its name, suffixes too.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its value.
    pub value: f64,
    /// Its own time, when it has one (milliseconds since 1970).
    pub time: Option<i64>,
}

/// The samples of a text, or what is wrong with it: which line and why.
pub fn parse(text: &str) -> Result<Vec<Sample>, String> {
    if !text.is_empty() && !text.ends_with('\n') {
        return Err("the last line does not end with a line feed".to_owned());
    }
    let (mut typed, mut closed, mut current) = (BTreeMap::new(), BTreeSet::new(), String::new());
    let (mut samples, mut series): (Vec<Sample>, BTreeSet<String>) = (Vec::new(), BTreeSet::new());
    for (n, line) in text.lines().enumerate() {
        let wrong = |why: &str| format!("line {}: {why}: {line}", n + 1);
        if line.trim().is_empty() {
            continue;
        }
        let family = if let Some(comment) = line.strip_prefix('#') {
            let mut words = comment.trim_start().splitn(3, ' ');
            let (word, name, rest) = (words.next().unwrap_or_default(), words.next(), words.next());
            if word != "TYPE" && word != "HELP" {
                continue;
            }
            let name = name.filter(|name| is_name(name, true)).ok_or_else(|| wrong("no name of a metric"))?;
            if word == "TYPE" {
                let kind = rest.unwrap_or_default().trim();
                if !["counter", "gauge", "histogram", "summary", "untyped"].contains(&kind) {
                    return Err(wrong("no type"));
                }
                if samples.iter().any(|s: &Sample| s.name == name) {
                    return Err(wrong("the type comes after a sample"));
                }
                if typed.insert(name.to_owned(), kind.to_owned()).is_some() {
                    return Err(wrong("a second type"));
                }
            }
            name.to_owned()
        } else {
            let sample = sample(line).map_err(|why| wrong(&why))?;
            if !series.insert(format!("{} {:?}", sample.name, sample.labels)) {
                return Err(wrong("a second sample of the same series"));
            }
            let family = family(&sample.name, &typed);
            samples.push(sample);
            family
        };
        if family != current {
            if !closed.insert(family.clone()) {
                return Err(wrong("the lines of a metric do not stand together"));
            }
            current = family;
        }
    }
    Ok(samples)
}

/// The metric that a sample belongs to: of histograms and summaries without the suffix.
fn family(name: &str, typed: &BTreeMap<String, String>) -> String {
    for suffix in ["_bucket", "_sum", "_count"] {
        if let Some(base) = name.strip_suffix(suffix)
            && typed.get(base).is_some_and(|kind| kind == "histogram" || kind == "summary")
        {
            return base.to_owned();
        }
    }
    name.to_owned()
}

fn sample(line: &str) -> Result<Sample, String> {
    let end = line.find(|c: char| c == '{' || c.is_whitespace()).ok_or("no value")?;
    let (name, mut rest) = line.split_at(end);
    if !is_name(name, true) {
        return Err(format!("{name} is no name of a metric"));
    }
    let mut found = BTreeMap::new();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = labels(inside, &mut found)?;
    }
    let mut words = rest.split_whitespace();
    let value = words.next().ok_or("no value")?;
    let value = match value {
        "NaN" => f64::NAN,
        "+Inf" | "Inf" => f64::INFINITY,
        "-Inf" => f64::NEG_INFINITY,
        other => other.parse().map_err(|_| format!("{other} is no number"))?,
    };
    let time = words.next().map(|t| t.parse().map_err(|_| format!("{t} is no time"))).transpose()?;
    if let Some(more) = words.next() {
        return Err(format!("{more} is too much"));
    }
    Ok(Sample { name: name.to_owned(), labels: found, value, time })
}

/// The labels up to `}`; gives what follows.
fn labels<'a>(mut text: &'a str, found: &mut BTreeMap<String, String>) -> Result<&'a str, String> {
    loop {
        text = text.trim_start_matches([' ', '\t']);
        if let Some(rest) = text.strip_prefix('}') {
            return Ok(rest);
        }
        let (name, rest) = text.split_once('=').ok_or("a label without a value")?;
        let name = name.trim();
        if !is_name(name, false) {
            return Err(format!("{name} is no name of a label"));
        }
        let mut chars = rest.trim_start().strip_prefix('"').ok_or("a value without quotes")?.chars();
        let mut value = String::new();
        loop {
            match chars.next().ok_or("a value without an end")? {
                '"' => break,
                '\\' => match chars.next() {
                    Some('n') => value.push('\n'),
                    Some(c @ ('\\' | '"')) => value.push(c),
                    other => return Err(format!("a backslash before {other:?}")),
                },
                c => value.push(c),
            }
        }
        if found.insert(name.to_owned(), value).is_some() {
            return Err(format!("label {name} twice"));
        }
        text = chars.as_str().trim_start();
        text = text.strip_prefix(',').unwrap_or(text);
    }
}

fn is_name(name: &str, colons: bool) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || (colons && c == ':');
    !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) && name.chars().all(fits)
}
