//! Reads secrets where the configuration says they are found.

use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::mistake::At;
use super::placeholder::{Kind, is_placeholder};
use crate::domain::{Secret, SecretRef};

/// No key, token or URL is longer.
const LONGEST: u64 = 64 * 1024;

/// How reading a secret ended.
pub(super) enum Outcome {
    /// It was read; a warning may go with it.
    Value(Secret, Option<(String, String)>),
    /// It is a placeholder.
    Placeholder,
    /// It cannot be read: why, and what to do. Neither holds the value.
    Missing(String, String),
}

/// Reads one. `at` is where the reference stands: a relative file is meant from there.
pub(super) fn read(reference: &SecretRef, at: &At, env: &BTreeMap<String, String>, kind: Kind) -> Outcome {
    let (text, loose) = match reference {
        SecretRef::Env(name) => match env.get(name) {
            Some(value) => (value.clone(), None),
            None => {
                return Outcome::Missing(
                    format!("the environment variable {name} is not set"),
                    format!("set {name}, or name another place with {{env: NAME}} or {{file: PATH}}"),
                );
            }
        },
        SecretRef::File(path) => {
            let file = at.resolve(Path::new(path));
            match read_file(&file) {
                Ok(read) => read,
                Err(why) => {
                    return Outcome::Missing(
                        format!("the secret file {} {why}", file.display()),
                        format!("does it exist, and may this user read it?  ls -l {}", file.display()),
                    );
                }
            }
        }
    };
    // One newline at the end comes from `echo` and is not part of the secret.
    let value = text.strip_suffix('\n').map_or(text.as_str(), |text| text.strip_suffix('\r').unwrap_or(text));
    if value.trim().is_empty() {
        return Outcome::Missing(format!("{reference} is empty"), format!("fill {reference}, or name another place"));
    }
    if is_placeholder(value, kind) {
        return Outcome::Placeholder;
    }
    let blank = (value.trim() != value).then(|| {
        (
            format!("{reference} begins or ends with whitespace, which is sent as a part of it"),
            "write it with printf %s, without spaces and newlines around it".to_owned(),
        )
    });
    Outcome::Value(Secret::new(value.to_owned()), blank.or(loose))
}

/// The text, and a warning when everybody on the machine may read it.
fn read_file(file: &Path) -> Result<(String, Option<(String, String)>), String> {
    let told = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => "does not exist".to_owned(),
        _ => format!("cannot be read: {error}"),
    };
    let metadata = std::fs::metadata(file).map_err(told)?;
    if !metadata.is_file() {
        return Err("is not a plain file".to_owned());
    }
    let mut bytes = Vec::new();
    std::fs::File::open(file).and_then(|open| open.take(LONGEST + 1).read_to_end(&mut bytes)).map_err(told)?;
    if bytes.len() as u64 > LONGEST {
        return Err(format!("is larger than {LONGEST} bytes"));
    }
    // The bytes themselves are not repeated in the message.
    let text = String::from_utf8(bytes).map_err(|_| "is not text".to_owned())?;
    let mode = metadata.permissions().mode() & 0o777;
    let loose = (mode & 0o004 != 0).then(|| {
        let hint = format!("chmod o-rwx {}  (in Kubernetes: defaultMode: 0440 at the volume)", file.display());
        (format!("{} can be read by everybody on this machine (mode {mode:04o})", file.display()), hint)
    });
    Ok((text, loose))
}
