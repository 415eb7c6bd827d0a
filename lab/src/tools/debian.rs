//! What comes ready-made from Debian: Prometheus and Alertmanager, each with its checking tool.
//! The packages are fetched by apt and unpacked into the cache, which needs no rights.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::cache::{ensure, sh, whole};
use super::search_path;
use crate::LabError;

/// A package, and a program by which it is known to be there.
#[derive(Clone, Copy)]
pub(super) struct Package {
    name: &'static str,
    folder: &'static str,
    /// The name of its server; elsewhere than in Debian it may have another one.
    pub(super) programs: [&'static str; 2],
    /// A folder that Debian's build looks into by its absolute name.
    fixed: Option<&'static str>,
}

pub(super) const PROMETHEUS: Package =
    Package { name: "prometheus", folder: "debian-prometheus-1", programs: ["prometheus", "prometheus"], fixed: None };
pub(super) const ALERTMANAGER: Package = Package {
    name: "prometheus-alertmanager",
    folder: "debian-alertmanager-2",
    programs: ["prometheus-alertmanager", "alertmanager"],
    fixed: Some("/usr/share/prometheus/alertmanager"),
};

/// Folders that may hold the programs.
pub(super) fn places(package: Package) -> Vec<PathBuf> {
    whole(package.folder).map(|folder| folder.join("usr/bin")).into_iter().chain(search_path()).collect()
}

/// Unpacks the package into the cache.
pub(super) fn install(package: Package, say: &dyn Fn(&str)) -> Result<(), LabError> {
    ensure(package.folder, |folder| {
        say(&format!("unpacking Debian's {} into {}", package.name, folder.display()));
        let archive = download(package.name, folder)?;
        sh(Command::new("dpkg-deb").arg("-x").arg(&archive).arg(folder))?;
        fs::remove_file(&archive).map_err(LabError::file(&archive))?;
        let bin = folder.join("usr/bin");
        let program = package.programs.iter().map(|name| bin.join(name)).find(|file| file.is_file());
        let program = program.ok_or_else(|| LabError::Other(format!("{}: the package holds no server", package.name)))?;
        if let Some(name) = package.fixed {
            look_here(&program, name)?;
        }
        sh(Command::new(program).arg("--version")).map(|_| ())
    })?;
    Ok(())
}

/// Makes a program look into its own current folder where it would look into a fixed one: nobody may write there
/// without rights. The new name has the length of the old one, so that nothing in the file moves.
fn look_here(program: &Path, fixed: &str) -> Result<(), LabError> {
    let mut bytes = fs::read(program).map_err(LabError::file(program))?;
    let here: Vec<u8> = b"./".iter().copied().cycle().take(fixed.len()).collect();
    let mut at = 0;
    while let Some(found) = bytes.get(at..).and_then(|rest| rest.windows(fixed.len()).position(|w| w == fixed.as_bytes())) {
        at += found;
        if let Some(place) = bytes.get_mut(at..at + fixed.len()) {
            place.copy_from_slice(&here);
        }
    }
    fs::write(program, bytes).map_err(LabError::file(program))
}

/// Where the files are that [`look_here`] makes a program look for: its current folder has to be this one.
pub(crate) fn alertmanager_files(program: &Path) -> Option<PathBuf> {
    let folder = program.parent()?.parent()?.join("share/prometheus/alertmanager");
    folder.join("default.tmpl").is_file().then_some(folder)
}

/// With the machine's package lists; where it has none (a bare image), with lists of our own.
fn download(package: &str, folder: &Path) -> Result<PathBuf, LabError> {
    if sh(Command::new("apt-get").args(["download", package]).current_dir(folder)).is_err() {
        let own = folder.join("apt");
        for below in ["lists/partial", "cache/archives/partial"] {
            let path = own.join(below);
            fs::create_dir_all(&path).map_err(LabError::file(&path))?;
        }
        let state = format!("Dir::State::lists={}", own.join("lists").display());
        let cache = format!("Dir::Cache={}", own.join("cache").display());
        let apt = |verb: &[&str]| sh(Command::new("apt-get").args(["-o", &state, "-o", &cache]).args(verb).current_dir(folder));
        apt(&["update"])?;
        apt(&["download", package])?;
        fs::remove_dir_all(&own).map_err(LabError::file(&own))?;
    }
    fs::read_dir(folder)
        .map_err(LabError::file(folder))?
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|e| e == "deb"))
        .ok_or_else(|| LabError::Other(format!("apt-get download {package} left no package")))
}
