//! `--from s3://BUCKET/PREFIX`: where a command's configuration comes from, resolved before anything else.

use std::path::PathBuf;

use super::failure::{Failure, say};
use super::{Global, ask};
use crate::app::{Address, Source, environment, from_bucket};

/// Options of every command that say where the configuration lies in a bucket.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct From {
    /// Go on from what a site keeps in a bucket: s3://BUCKET/PREFIX. Keys: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, or asked for
    #[arg(long, global = true, value_name = "s3://BUCKET/PREFIX", help_heading = "Global options")]
    pub from: Option<String>,
    /// With --from: scheme and host of the bucket, when it is not AWS
    #[arg(long, global = true, value_name = "URL", help_heading = "Global options")]
    pub endpoint: Option<String>,
    /// With --from: a file with authorities (PEM) that vouch for the endpoint
    #[arg(long, global = true, value_name = "FILE", help_heading = "Global options")]
    pub ca: Option<PathBuf>,
}

/// The source that was asked for.
pub(super) async fn source(global: &Global) -> Result<Source, Failure> {
    let Some(given) = &global.from.from else { return Ok(Source::files(&global.config)) };
    let address = Address::parse(given, global.from.endpoint.as_deref(), global.from.ca.clone(), &environment())?;
    let source = from_bucket(&address, &mut ask::person).await?;
    for note in source.notes() {
        say(note);
    }
    Ok(source)
}
