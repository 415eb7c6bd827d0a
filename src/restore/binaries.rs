//! Finds PostgreSQL's programs of one major version.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use super::trouble::Trouble;

/// A PostgreSQL that can be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Postgres {
    /// The server program, links resolved: a wrapper or link elsewhere would hide its own libraries.
    pub program: PathBuf,
    /// What `postgres --version` said.
    pub version: String,
    /// Its major version.
    pub major: u32,
}

/// Looks through the configured folders, PATH and the usual places.
pub async fn find(major: u32, folders: &[PathBuf]) -> Result<Postgres, Trouble> {
    let mut seen = Vec::new();
    for folder in places(major, folders) {
        let program = folder.join("postgres");
        if !program.is_file() {
            continue;
        }
        match ask(&program).await {
            Ok(found) if found.major == major => return Ok(found),
            Ok(found) => seen.push(format!("{} is {}", program.display(), found.version)),
            Err(why) => seen.push(format!("{}: {why}", program.display())),
        }
    }
    seen.dedup();
    let seen = if seen.is_empty() { "none was found".to_owned() } else { seen.join("; ") };
    Err(Trouble::could_not(
        format!("the backup needs PostgreSQL {major}; {seen}"),
        format!("install it (Debian: apt install postgresql-{major}), or name its bin folder under drill.postgres"),
    ))
}

fn places(major: u32, folders: &[PathBuf]) -> Vec<PathBuf> {
    let mut places: Vec<PathBuf> = Vec::new();
    for folder in folders {
        places.push(folder.clone());
        places.push(folder.join("bin"));
    }
    if let Some(path) = std::env::var_os("PATH") {
        places.extend(std::env::split_paths(&path));
    }
    for place in [
        format!("/usr/lib/postgresql/{major}/bin"),
        format!("/usr/lib/postgresql{major}/bin"),
        format!("/usr/libexec/postgresql{major}"),
        format!("/usr/pgsql-{major}/bin"),
        format!("/usr/local/pgsql-{major}/bin"),
        "/usr/local/pgsql/bin".to_owned(),
        "/usr/local/bin".to_owned(),
        format!("/opt/homebrew/opt/postgresql@{major}/bin"),
        format!("/home/linuxbrew/.linuxbrew/opt/postgresql@{major}/bin"),
        format!("/opt/postgresql/{major}/bin"),
    ] {
        places.push(PathBuf::from(place));
    }
    places
}

async fn ask(program: &Path) -> Result<Postgres, String> {
    let program = program.canonicalize().map_err(|error| error.to_string())?;
    let mut command = tokio::process::Command::new(&program);
    command.arg("--version").stdin(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(Duration::from_secs(10), command.output()).await;
    let output = output.map_err(|_| "gave no answer in 10 s".to_owned())?.map_err(|error| error.to_string())?;
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let major = major_of(&version).ok_or_else(|| format!("does not tell its version: {version:?}"))?;
    Ok(Postgres { program, version, major })
}

/// `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)`, `postgres (PostgreSQL) 18beta1`.
pub fn major_of(version: &str) -> Option<u32> {
    let (_, rest) = version.split_once("(PostgreSQL)")?;
    let digits: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}
