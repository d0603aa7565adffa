//! Manual request of a robots.txt: the same hops as in robots visits, all at once, without a crawl.

use super::client::After;
use super::exchange::{Answer, exchange};
use super::robots::{self, Meaning, meaning};
use super::{DnsResolver, FetchContext, FetchError, Sink};
use crate::limits::ROBOTS_HOPS_MAX;
use crate::messages::{BlockAndPauseList, Fetched, MinHostDelay, ResolveError, Response, Verdict};
use bytes::Bytes;
use crivello_common::config::{Blocklist, Settings};
use crivello_common::discard::Discard;
use crivello_common::identity::KeyedHasher;
use crivello_common::ports::PortPolicy;
use crivello_common::robots::follows_redirect;
use crivello_common::time::Clock;
use crivello_common::url::CrawlUrl;
use crivello_html::RobotsTxt;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Result of a request for a robots.txt (RFC 9309 section 2.3.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RobotsFile {
    /// 2xx: the bytes of the file, at most 500 KiB (section 2.5).
    Body(Bytes),
    /// There is no file, for this reason: all is allowed. 4xx except 429, or too many redirects.
    Missing(String),
    /// There is no usable response, for this reason: nothing is allowed. This includes a redirect
    /// to nowhere.
    Unreachable(String),
}

/// Fetches a robots.txt as the crawler does: with its user agent and limits, only from addresses
/// that may be visited, over at most five redirects. There is no delay between the requests.
///
/// # Errors
/// [`FetchError`] if a header cannot be sent, or if TLS or a client cannot be set up.
pub async fn robots_file(url: &CrawlUrl, settings: &Settings) -> Result<RobotsFile, FetchError> {
    let (clock, block_list) = (Clock::start(), BlockAndPauseList::of(&settings.live));
    let min_host_delay = MinHostDelay::of(&settings.live);
    let context =
        FetchContext::new(settings, clock, Arc::new(Nobody), block_list.clone(), min_host_delay)?;
    let dns = DnsResolver::new(settings, clock, block_list);
    let links = &settings.live.links;
    let blocked = Blocklist::new(&links.blocked);
    let ports = PortPolicy::new(&settings.fixed.fetch.ports_allowed);
    let mut url = url.clone();
    for _ in 0..=ROBOTS_HOPS_MAX {
        let response = match ask(&context, &dns, &url).await {
            Ok(response) => response,
            Err(why) => return Ok(RobotsFile::Unreachable(format!("{url}: {why}"))),
        };
        let status = format!("{url}: HTTP {}", response.status);
        return Ok(match meaning(&response, &url) {
            Meaning::Elsewhere(target)
                if !follows_redirect(&url, &target, links, &blocked, &ports) =>
            {
                let why = "a redirect to a page of another host, which is not followed";
                RobotsFile::Unreachable(format!("{status}, {why}"))
            }
            Meaning::Elsewhere(target) => {
                url = target;
                continue;
            }
            Meaning::File => match response.robots_txt().and_then(RobotsTxt::text) {
                Some(body) => RobotsFile::Body(body),
                None => RobotsFile::Unreachable(format!("{status}, unreadable or truncated")),
            },
            Meaning::Missing => RobotsFile::Missing(status),
            Meaning::Nowhere => {
                RobotsFile::Unreachable(format!("{status}, a redirect without a valid target"))
            }
            Meaning::Unreachable => RobotsFile::Unreachable(status),
        });
    }
    Ok(RobotsFile::Missing(format!("more than {ROBOTS_HOPS_MAX} redirects")))
}

/// Sink that ignores results, because there is no crawl.
struct Nobody;

impl Sink for Nobody {
    fn fetched(&self, _: Fetched) {}
    fn verdict(&self, _: Verdict) {}
}

/// Sends one request. The error is the reason why there is no response.
async fn ask(
    context: &FetchContext,
    dns: &DnsResolver,
    url: &CrawlUrl,
) -> Result<Box<Response>, &'static str> {
    let name: Arc<str> = url.host().into();
    let host = KeyedHasher::with_public_key().host_key(&name);
    let answer = dns.resolve(host, &name, context.clock.now()).await.answer;
    let address = answer.map_err(why_no_address)?.address;
    let target = context.connect_policy.target(url, &name, address).map_err(Discard::name)?;
    let _pin = context.clients.pins.pin(&name, address);
    let (began, stop) = (context.clock.now(), CancellationToken::new());
    let ask = robots::ask(context, &target, After::Closed, began, &stop);
    match exchange(context, &ask).await {
        Answer::Response(response, _) => Ok(response),
        Answer::Failed(failure) => Err(failure.name()),
        Answer::Unaskable(reason) => Err(reason.name()),
        Answer::Stopped => Err("stopped"),
    }
}

const fn why_no_address(error: ResolveError) -> &'static str {
    match error {
        ResolveError::NoSuchName => "no such name",
        ResolveError::Unavailable => "the name servers do not answer",
        ResolveError::Denied | ResolveError::Blocked(_) => "its address may not be visited",
    }
}
