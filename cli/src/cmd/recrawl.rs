//! `crivello recrawl`: asks a crawl to fetch pages again.

use super::seed::{Purpose, send};
use super::set;
use crate::args::cluster::RecrawlArgs;
use crate::cluster::edits::SettingsClient;
use crate::exit::{CliError, Exit, usage};
use crivello_common::config::RecrawlPolicy;
use crivello_common::url::CrawlUrl;
use crivello_proto::SEED_LINES_MAX;

/// Sends all URLs and hosts, and returns once the agents that own them have stored the requests.
///
/// # Errors
/// Returns usage errors before anything is sent, also if the crawl fetches each page once. Fails as
/// `crivello seed` does.
pub async fn run(args: RecrawlArgs) -> Result<Exit, CliError> {
    let (mut urls, mut hosts) = (Vec::new(), Vec::new());
    for text in args.pages {
        if text == "-" || text.contains("://") {
            urls.push(text);
        } else {
            hosts.push(host_name(&text)?);
        }
    }
    if hosts.len() > SEED_LINES_MAX {
        return Err(usage!("{} hosts at once; the maximum is {SEED_LINES_MAX}", hosts.len()));
    }
    let mut client = SettingsClient::connect_to(&args.coordinator).await?;
    let settings = set::read(&client.settings().await?.toml)?;
    if settings.live.recrawl.policy == RecrawlPolicy::None {
        return Err(usage!(
            "this crawl fetches each page once; `crivello set recrawl.policy=fixed` changes that"
        ));
    }
    send(urls, &args.coordinator, Purpose::FetchAgain(hosts)).await
}

/// Returns the name of a host in normal form.
fn host_name(text: &str) -> Result<String, CliError> {
    let url = CrawlUrl::parse(&format!("http://{text}/"));
    let url = url.ok().filter(|url| url.path_and_query() == "/" && text.contains('.'));
    url.map(|url| url.host().to_owned())
        .ok_or_else(|| usage!("{text:?} is neither a URL, nor the name of a host, nor `-`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_hosts_are_brought_to_normal_form() {
        assert_eq!(host_name("Www.Example.COM").unwrap(), "www.example.com");
        assert_eq!(host_name("bücher.example").unwrap(), "xn--bcher-kva.example");
        for bad in ["word", "a.example/path", "a b.example", "", "a.example:80/"] {
            assert!(host_name(bad).is_err(), "{bad}");
        }
    }
}
