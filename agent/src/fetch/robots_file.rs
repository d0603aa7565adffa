//! A robots.txt for somebody who asks by hand: the way of the robots errand, all its hops at once,
//! without a crawl around it.

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

/// What a request for a robots.txt comes to (RFC 9309 section 2.3.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RobotsFile {
    /// 2xx: its bytes, at most 500 KiB of them (section 2.5).
    Body(Bytes),
    /// None, as it says: all is allowed. 4xx but 429, or too many redirects.
    Missing(String),
    /// No answer, or none that can be used, as it says (also a redirect to nowhere): nothing is
    /// allowed.
    Unreachable(String),
}

/// Fetches a robots.txt as the crawler does: by its user agent and its limits, only from addresses
/// that may be visited, along at most five redirects. The requests follow each other without
/// a delay.
///
/// # Errors
/// [`FetchError`]: the identity cannot be sent, or TLS cannot be set up.
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

/// There is no crawl behind it.
struct Nobody;

impl Sink for Nobody {
    fn fetched(&self, _: Fetched) {}
    fn verdict(&self, _: Verdict) {}
}

/// One request; otherwise why there is no response.
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
    if !may_connect(&context.guard, &name, address) {
        return Err(why_no_address(ResolveError::Denied).to_owned());
    }
    let _pin = context.clients.pin(&name, address);
    let ask = Ask {
        url,
        host: &name,
        address,
        headers: &context.identity.robots,
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

/// What a response says: what there is, or where it is.
enum Reading {
    File(RobotsFile),
    Elsewhere(CrawlUrl),
}

fn read(response: &Response, url: &CrawlUrl) -> Reading {
    let said = format!("{url}: HTTP {}", response.status);
    Reading::File(match meaning(response, url) {
        Meaning::File => match response.robots_txt().and_then(RobotsTxt::text) {
            Some(body) => RobotsFile::Body(body),
            None => RobotsFile::Unreachable(format!("{said}, unreadable or broken off")),
        },
        Meaning::Elsewhere(target) => return Reading::Elsewhere(target),
        Meaning::Missing => RobotsFile::Missing(said),
        Meaning::Nowhere => RobotsFile::Unreachable(format!("{said}, leading nowhere")),
        Meaning::Unreachable => RobotsFile::Unreachable(said),
    })
}
