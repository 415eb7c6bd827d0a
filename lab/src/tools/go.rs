//! What is built from Go modules: Kubernetes' control plane, kwok and helm. The module lies in
//! `lab/kube/` and is pinned by its `go.mod` and `go.sum`; a copy travels inside of this program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::cache::{ensure, sh, whole};
use super::search_path;
use crate::LabError;

/// The files of the module.
const MODULE: [(&str, &str); 4] = [
    ("go.mod", include_str!("../../kube/go.mod")),
    ("go.sum", include_str!("../../kube/go.sum")),
    ("main.go", include_str!("../../kube/main.go")),
    ("tools.go", include_str!("../../kube/tools.go")),
];

/// The release that the API server says it is; the module's own text does not know it.
const KUBERNETES: &str = "1.36.3";
const KWOK_VERSION: &str = "0.8.0";
const HELM_VERSION: &str = "3.22.0";

/// A program of the module. The name in the cache is `<program>-<version>-<our revision of how it is built>`.
#[derive(Clone, Copy)]
pub(super) struct Program {
    name: &'static str,
    folder: &'static str,
    package: &'static str,
    cold: &'static str,
}

pub(super) const KUBE: Program = Program { name: "kube", folder: "kube-1.36.3-1", package: ".", cold: "about 8 minutes" };
pub(super) const KWOK: Program =
    Program { name: "kwok", folder: "kwok-0.8.0-1", package: "sigs.k8s.io/kwok/cmd/kwok", cold: "2 minutes" };
pub(super) const HELM: Program =
    Program { name: "helm", folder: "helm-3.22.0-1", package: "helm.sh/helm/v3/cmd/helm", cold: "2 minutes" };

/// The four programs of a control plane, as distributions call them.
pub(super) const CONTROL_PLANE: [&str; 4] = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"];

/// Folders that may hold the program.
pub(super) fn places(program: Program) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = whole(program.folder).into_iter().collect();
    if program.name != KUBE.name {
        all.extend(assets());
        all.extend(search_path());
    }
    all
}

/// `KUBEBUILDER_ASSETS`: ready-made servers, which win over building (<https://book.kubebuilder.io/reference/envtest>).
pub(super) fn assets() -> Option<PathBuf> {
    std::env::var_os("KUBEBUILDER_ASSETS").map(PathBuf::from).filter(|path| path.is_dir())
}

/// Where a program of the control plane is: the ready-made file, else the built one.
/// The second value is the word that our own binary wants first.
pub(crate) fn control_plane(name: &str) -> Option<(PathBuf, Option<&'static str>)> {
    if let Some(file) = assets().map(|folder| folder.join(name)).filter(|file| file.is_file()) {
        return Some((file, None));
    }
    let word = match name {
        "etcd" => "etcd",
        "kube-apiserver" => "apiserver",
        "kube-controller-manager" => "controller-manager",
        "kube-scheduler" => "scheduler",
        _ => return None,
    };
    whole(KUBE.folder).map(|folder| (folder.join(KUBE.name), Some(word)))
}

/// Builds a program into the cache. Go's own caches make the second one of the module cheap.
pub(super) fn install(program: Program, say: &dyn Fn(&str)) -> Result<(), LabError> {
    ensure(program.folder, |folder| {
        say(&format!("building {} into {} ({} from nothing)", program.folder, folder.display(), program.cold));
        let module = folder.join("module");
        fs::create_dir_all(&module).map_err(LabError::file(&module))?;
        for (name, text) in MODULE {
            let file = module.join(name);
            fs::write(&file, text).map_err(LabError::file(&file))?;
        }
        build(program, folder, &module)?;
        fs::remove_dir_all(&module).map_err(LabError::file(&module))
    })?;
    Ok(())
}

fn build(program: Program, folder: &Path, module: &Path) -> Result<(), LabError> {
    let (major, minor) = KUBERNETES.split_once('.').and_then(|(a, rest)| Some((a, rest.split_once('.')?.0))).unwrap_or_default();
    let flags = match program.name {
        "kube" => {
            let version = "k8s.io/component-base/version";
            format!("-s -w -X {version}.gitVersion=v{KUBERNETES} -X {version}.gitMajor={major} -X {version}.gitMinor={minor}")
        }
        "kwok" => format!("-s -w -X sigs.k8s.io/kwok/pkg/consts.Version=v{KWOK_VERSION}"),
        _ => format!("-s -w -X helm.sh/helm/v3/internal/version.version=v{HELM_VERSION}"),
    };
    let mut go = Command::new("go");
    go.args(["build", "-trimpath", "-mod=readonly", "-o"]).arg(folder.join(program.name));
    go.arg(format!("-ldflags={flags}")).arg(program.package);
    go.current_dir(module).env("CGO_ENABLED", "0").env_remove("GOOS").env_remove("GOARCH");
    sh(&mut go).map(|_| ())
}
