//! Whose fault it is when a recovery Job ends badly: the archive's, or ours.

use crate::restore::Trouble;

/// Words of pods that mean our own lack, or nobody's; with the hint for each.
const OURS: &[(&str, &str)] = &[
    ("OOMKilled", "give the namespace more memory, or copy the source's resources"),
    ("Evicted", "see why the node was short, then drill again"),
    ("DeadlineExceeded", "give the step a later time-limit"),
    ("No space left on device", "give a larger volume:  --set storage=…"),
    ("AccessDenied", "the store's read key may not read this prefix:  dalsegno probe"),
    ("InvalidAccessKeyId", "the store's read key is not valid:  dalsegno probe"),
    ("SignatureDoesNotMatch", "the store's read key is not valid:  dalsegno probe"),
    ("(403)", "the store's read key may not read this prefix:  dalsegno probe"),
    ("Could not connect to the endpoint", "pods do not reach the store by that endpoint: name the inner one in cnpg.NAME.stores"),
    ("Name or service not known", "pods do not resolve the store's name: name the inner endpoint in cnpg.NAME.stores"),
    ("no such host", "pods do not resolve the store's name: name the inner endpoint in cnpg.NAME.stores"),
    ("name resolution", "pods do not resolve the store's name: name the inner endpoint in cnpg.NAME.stores"),
    ("onnection refused", "pods do not reach the store by that endpoint: name the inner one in cnpg.NAME.stores"),
    ("timed out", "see whether pods reach the store, then drill again"),
    ("certificate verify failed", "name the store's authority:  stores.NAME.ca"),
    (
        "insufficient parameter settings",
        "the source's limits grew after the base backup: write them as cnpg.NAME.drill.parameters (max_connections and the like)",
    ),
    ("could not load library", "give the source's own image:  --set image=…"),
    ("could not access file \"$libdir", "give the source's own image:  --set image=…"),
    ("database files are incompatible", "give the source's own image:  --set image=…"),
    // Without a commit behind it nobody can say whether replay would have stopped there.
    ("recovery ended before configured recovery target was reached", "drill to the end, or to an earlier time"),
];

/// Judges a Job that has given up, by what its pods said last.
pub fn of_job(job: &str, said: &str) -> Trouble {
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let telling: Vec<&str> = lines.iter().copied().filter(|line| is_telling(line)).collect();
    let source = if telling.is_empty() { lines } else { telling };
    if source.is_empty() {
        let hint = "see the events of the namespace while a drill runs, then drill again";
        return Trouble::could_not(format!("{job} has given up, and its pods do not say why"), hint);
    }
    let skip = source.len().saturating_sub(3);
    let words: String = source.iter().skip(skip).copied().collect::<Vec<_>>().join("; ").chars().take(1_000).collect();
    match OURS.iter().find(|(text, _)| source.iter().any(|line| line.contains(text))) {
        Some((_, hint)) => Trouble::could_not(format!("{job} has given up: {words}"), *hint),
        None => Trouble::bad(format!("the operator could not recover from this archive, {job} has given up: {words}")),
    }
}

/// A line that says why: an error, or the one word that Kubernetes has for an end (`OOMKilled`). What is said in passing, with the
/// names of segments and numbers of processes in it, blames nobody.
fn is_telling(line: &str) -> bool {
    let of_an_error = ["error", "Error", "ERROR", "FATAL", "PANIC", "exception"].iter().any(|word| line.contains(word));
    let in_passing =
        ["the database system is starting up", "not yet accepting connections"].iter().any(|text| line.contains(text));
    (of_an_error && !in_passing) || !line.contains(' ')
}
