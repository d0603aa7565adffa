//! Manual request of a robots.txt: the same hops as in robots visits, all at once, without a crawl.

use super::client::After;
use super::exchange::{Answer, Ask, exchange};
use super::robots::{Meaning, meaning};
use super::visit::may_connect;
use super::{Dns, FetchContext, FetchError, Sink};
use crate::limits::{ROBOTS_HOPS_MAX, ROBOTS_SIZE_MAX};
use crate::messages::{Fetched, ResolveError, Response, Verdict};
use bytes::Bytes;
use crivello_common::config::Settings;
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
    let context = FetchContext::new(settings, Clock::start(), Arc::new(Nobody))?;
    let dns = Dns::new(settings);
    let mut url = url.clone();
    for _ in 0..=ROBOTS_HOPS_MAX {
        let response = match ask(&context, &dns, settings, &url).await {
            Ok(response) => response,
            Err(why) => return Ok(RobotsFile::Unreachable(format!("{url}: {why}"))),
        };
        match read(&response, &url) {
            Reading::File(file) => return Ok(file),
            Reading::Elsewhere(target) => url = target,
        }
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
    dns: &Dns,
    settings: &Settings,
    url: &CrawlUrl,
) -> Result<Box<Response>, String> {
    let name: Arc<str> = url.host().into();
    let host = url.host_key(settings.fixed.identity.assign_by);
    let answer = dns.resolve(host, &name, context.clock.now()).await.answer;
    let address = answer.map_err(|error| why_no_address(error).to_owned())?.address;
    if !may_connect(&context.address_policy, &name, address) {
        return Err(why_no_address(ResolveError::Denied).to_owned());
    }
    let _pin = context.clients.pin(&name, address);
    let ask = Ask {
        url,
        host: &name,
        address,
        headers: &context.request_headers.robots,
        follows: false,
        is_last: true,
        after: After::Closed,
        body_size_max: ROBOTS_SIZE_MAX,
        began: context.clock.now(),
        stop: &CancellationToken::new(),
    };
    match exchange(context, &ask).await {
        Answer::Response(response, _) => Ok(response),
        Answer::Failed(failure) => Err(failure.name().to_owned()),
        Answer::Unaskable(reason) => Err(reason.name().to_owned()),
        Answer::Stopped => Err("stopped".to_owned()),
    }
}

const fn why_no_address(error: ResolveError) -> &'static str {
    match error {
        ResolveError::NoSuchName => "no such name",
        ResolveError::Unavailable => "the name servers do not answer",
        ResolveError::Denied | ResolveError::Blocked(_) => "its address may not be visited",
    }
}

/// Content of a response: the result, or the next URL.
enum Reading {
    File(RobotsFile),
    Elsewhere(CrawlUrl),
}

fn read(response: &Response, url: &CrawlUrl) -> Reading {
    let said = format!("{url}: HTTP {}", response.status);
    Reading::File(match meaning(response, url) {
        Meaning::File => match response.robots_txt().and_then(RobotsTxt::text) {
            Some(body) => RobotsFile::Body(body),
            None => RobotsFile::Unreachable(format!("{said}, unreadable or truncated")),
        },
        Meaning::Elsewhere(target) => return Reading::Elsewhere(target),
        Meaning::Missing => RobotsFile::Missing(said),
        Meaning::Nowhere => {
            RobotsFile::Unreachable(format!("{said}, a redirect without a valid target"))
        }
        Meaning::Unreachable => RobotsFile::Unreachable(said),
    })
}
