//! `crivello recrawl`: asks a crawl to fetch pages again.

use super::seed::{Purpose, send};
use super::set;
use crate::args::cluster::RecrawlArgs;
use crate::cluster::edits::SettingsClient;
use crate::exit::{CliError, Exit, usage};
use crivello_common::config::RecrawlPolicy;
use crivello_common::url::is_normal_host;
use std::path::Path;

/// Sends all URLs and returns once the agents that own them have stored their new due times.
///
/// # Errors
/// Returns usage errors before anything is sent, also if the crawl fetches each page once. Fails as
/// `crivello seed` does.
pub async fn run(args: RecrawlArgs) -> Result<Exit, CliError> {
    let mut client = SettingsClient::connect_to(&args.coordinator).await?;
    let settings = set::read(&client.settings().await?.toml)?;
    if settings.live.recrawl.policy == RecrawlPolicy::None {
        return Err(usage!(
            "this crawl fetches each page once; `crivello set recrawl.policy=fixed` changes that"
        ));
    }
    let is_host = |text: &String| !Path::new(text).exists() && is_host_name(text);
    let (hosts, urls) = args.urls.into_iter().partition(is_host);
    send((urls, hosts), &args.coordinator, Purpose::FetchAgain).await
}

/// Returns true for the name of a host, which has a dot.
fn is_host_name(text: &str) -> bool {
    text.contains('.') && is_normal_host(text)
}
