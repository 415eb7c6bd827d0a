//! What somebody probably meant: the one measure behind every "did you mean".

/// How alike a word must be to be offered, from 0 to 1.
const NEAR: f64 = 0.5;
/// A part of a known word is as good as this, from so many letters on.
const PART: f64 = 0.9;
const LEAST_PART: usize = 3;

/// The known word that looks most like `asked`, if one is near enough to be meant. `accessKeyId` and `access_key_id` look like
/// `access-key-id`.
pub fn nearest<'a>(asked: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest_few(asked, known, 1).into_iter().next()
}

/// Those that are near enough, the nearest first, at most `most`.
pub fn nearest_few<'a>(asked: &str, known: impl IntoIterator<Item = &'a str>, most: usize) -> Vec<&'a str> {
    let asked = plain(asked);
    let scored = known.into_iter().map(|word| (alike(&asked, &plain(word)), word));
    let mut near: Vec<(f64, &str)> = scored.filter(|(score, _)| *score >= NEAR).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    near.truncate(most);
    near.into_iter().map(|(_, word)| word).collect()
}

fn alike(asked: &str, word: &str) -> f64 {
    let whole = strsim::normalized_damerau_levenshtein(asked, word);
    if asked.len() >= LEAST_PART && word.contains(asked) { whole.max(PART) } else { whole }
}

/// Small letters and hyphens, as most words of ours are written.
fn plain(asked: &str) -> String {
    let mut plain = String::new();
    for (index, c) in asked.chars().enumerate() {
        if c.is_ascii_uppercase() && index > 0 && plain.ends_with(|c: char| c.is_ascii_lowercase()) {
            plain.push('-');
        }
        plain.push(if c == '_' { '-' } else { c.to_ascii_lowercase() });
    }
    plain
}
