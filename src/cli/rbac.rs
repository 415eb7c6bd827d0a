//! `dalsegno config rbac`: the rights in a cluster, as Roles, as the chart's template, or as a page.

use super::failure::Failure;
use super::out::Out;
use crate::app::rights::{self, Wanted};
use crate::app::{Source, config};
use crate::domain::{Exit, ExitCode, Explained, nearest};

/// In which form rights are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Form {
    /// Roles, ClusterRoles and their bindings, ready for kubectl apply.
    #[default]
    Yaml,
    /// templates/_rules.tpl of the chart.
    Helm,
    /// docs/reference/rbac.md.
    Markdown,
}

/// The rights that dalsegno needs in a Kubernetes cluster, at least.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The form
    #[arg(long, value_enum, default_value_t, value_name = "FORM")]
    pub format: Form,
    /// What the configuration switches on, and the namespaces and Secrets that it names
    #[arg(long, conflicts_with_all = ["features", "watch", "named"])]
    pub of_configuration: bool,
    /// Only this feature; may be given again (left out: all that need no names)
    #[arg(long = "feature", value_name = "NAME")]
    pub features: Vec<String>,
    /// The service account; objects bear its name
    #[arg(long, default_value = "dalsegno", value_name = "NAME")]
    pub account: String,
    /// The namespace that dalsegno runs in
    #[arg(long, default_value = "dalsegno", value_name = "NAMESPACE")]
    pub namespace: String,
    /// Only this namespace is watched; may be given again (left out: all)
    #[arg(long, value_name = "NAMESPACE")]
    pub watch: Vec<String>,
    /// The namespace that drills restore into
    #[arg(long, value_name = "NAMESPACE")]
    pub sandbox: Option<String>,
    /// An object that a feature may use by name; may be given again
    #[arg(long, value_name = "FEATURE=NAMESPACE/NAME", value_parser = named)]
    pub named: Vec<(String, String, String)>,
}

fn named(text: &str) -> Result<(String, String, String), String> {
    let parts = text.split_once('=').and_then(|(feature, rest)| Some((feature, rest.split_once('/')?)));
    match parts {
        Some((feature, (namespace, name))) if ![feature, namespace, name].contains(&"") => {
            Ok((feature.to_owned(), namespace.to_owned(), name.to_owned()))
        }
        _ => Err("write FEATURE=NAMESPACE/NAME".to_owned()),
    }
}

/// A feature that no rule is there for.
#[derive(Debug, thiserror::Error)]
#[error("no feature \"{asked}\" needs rights{meant}")]
struct NoFeature {
    asked: String,
    meant: String,
    known: String,
}

impl Explained for NoFeature {
    fn code(&self) -> &'static str {
        "rbac-feature-unknown"
    }

    fn hint(&self) -> Option<String> {
        Some(format!("known: {}", self.known))
    }

    fn exit(&self) -> Exit {
        ExitCode::Usage
    }
}

/// Prints rights.
pub fn run(args: &Args, source: &Source, out: &Out) -> Result<ExitCode, Failure> {
    let rules = rights::rules();
    let known = rights::features(&rules);
    for asked in args.features.iter().chain(args.named.iter().map(|(feature, ..)| feature)) {
        if !known.contains(&asked.as_str()) {
            let meant =
                nearest(asked, known.iter().copied()).map(|name| format!(", did you mean \"{name}\"?")).unwrap_or_default();
            return Err(NoFeature { asked: asked.clone(), meant, known: known.join(", ") }.into());
        }
    }
    let text = match args.format {
        Form::Helm => rights::helm(&rules),
        Form::Markdown => rights::markdown(&rules),
        Form::Yaml => {
            let roles = rights::roles(&rules, &wanted(args, source)?);
            if out.for_machines() {
                out.show(&roles, |_| String::new())?;
                return Ok(ExitCode::Fine);
            }
            let documents = roles.iter().map(serde_saphyr::to_string).collect::<Result<Vec<_>, _>>();
            documents.map_err(|error| super::out::OutError::Yaml(error.to_string()))?.join("---\n")
        }
    };
    out.text(&text)?;
    Ok(ExitCode::Fine)
}

fn wanted(args: &Args, source: &Source) -> Result<Wanted, Failure> {
    let mut wanted = if args.of_configuration {
        rights::wanted(&config::load_without_secrets(&source.sources()?, source.env())?.settings)
    } else {
        Wanted { features: args.features.iter().cloned().collect(), watch: args.watch.clone(), ..Wanted::default() }
    };
    for (feature, namespace, name) in &args.named {
        wanted.name_object(feature, namespace, name);
    }
    wanted.name.clone_from(&args.account);
    wanted.namespace.clone_from(&args.namespace);
    wanted.sandbox.clone_from(&args.sandbox);
    Ok(wanted)
}
