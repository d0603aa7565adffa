//! `crivello robots`: reports whether URLs are allowed, and the deciding line of robots.txt.

use crate::args::RobotsArgs;
use crate::exit::{CliError, Exit};
use crate::format;
use anyhow::Context as _;
use crivello_agent::fetch::{RobotsFile, robots_file};
use crivello_common::config::{RawSettings, product_token};
use crivello_common::robots::Rules;
use crivello_common::url::CrawlUrl;
use std::fmt::Write as _;
use std::io::Write as _;
use tokio::runtime::Builder;

/// Checks each URL. The exit code is 1 if any is not allowed.
///
/// # Errors
/// Fails if robots.txt cannot be read, or a URL is invalid.
pub fn run(args: &RobotsArgs) -> Result<Exit, CliError> {
    product_token(&args.agent).map_err(|problem| CliError::usage(format!("--agent: {problem}")))?;
    let queries: Vec<Query> =
        args.urls.iter().map(|url| Query::parse(url)).collect::<Result<_, _>>()?;
    let (text, all_allowed) = match read(args)? {
        RobotsFile::Body(body) => check(&Rules::parse(&body, &args.agent), &queries),
        RobotsFile::Missing(why) => {
            same_for_all(&queries, true, &format!("no robots.txt ({why}): all is allowed"))
        }
        RobotsFile::Unreachable(why) => {
            let why = format!("robots.txt unreachable ({why}): nothing is allowed");
            same_for_all(&queries, false, &why)
        }
    };
    // Standard output may be closed.
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
    Ok(if all_allowed { Exit::Finished } else { Exit::Disallowed })
}

/// A URL to check. Only its path and query matter.
struct Query<'a> {
    text: &'a str,
    path: String,
}

impl<'a> Query<'a> {
    fn parse(text: &'a str) -> Result<Self, CliError> {
        let url =
            if text.starts_with('/') { format!("http://host{text}") } else { text.to_owned() };
        let url = CrawlUrl::parse(&url)
            .map_err(|reason| CliError::usage(format!("{text}: not a URL ({})", reason.name())))?;
        Ok(Self { text, path: url.path_and_query().to_owned() })
    }
}

/// Reads robots.txt from a file, or fetches it if the argument is a URL.
fn read(args: &RobotsArgs) -> Result<RobotsFile, CliError> {
    let from = &args.robots;
    if !from.contains("://") {
        return std::fs::read(from)
            .map(|body| RobotsFile::Body(body.into()))
            .map_err(|error| CliError::usage(format!("{from}: {error}")));
    }
    let url = CrawlUrl::parse(from).map_err(|reason| {
        let reason = reason.name();
        CliError::usage(format!("{from}: not an http or https URL ({reason})"))
    })?;
    if args.contact.is_none() {
        return Err(CliError::usage(format!(
            "{from}: fetching it sends a request, which must name a contact: give --contact URL or \
             --contact EMAIL"
        )));
    }
    let url = match url.path_and_query() {
        "/" => CrawlUrl::from_parts(url.origin(), url.host(), "/robots.txt"),
        _ => url,
    };
    fetch(&url, args)
}

/// Fetches a robots.txt as a crawl does: with the same user agent, limits and check for private
/// addresses, and at most five redirects.
fn fetch(url: &CrawlUrl, args: &RobotsArgs) -> Result<RobotsFile, CliError> {
    let networks = (!args.allow_networks.is_empty()).then(|| args.allow_networks.join(","));
    let flags: Vec<_> = [
        ("--agent", "identity.user-agent-name", Some(args.agent.clone())),
        ("--contact", "identity.contact", args.contact.clone()),
        ("--dns", "dns.servers", args.dns.clone()),
        ("--allow-network", "fetch.allow-networks", networks),
    ]
    .into_iter()
    .filter_map(|(flag, key, value)| value.map(|value| (flag, key, value)))
    .collect();
    let settings = RawSettings::merge(&[], &[], &flags).map_err(CliError::usage)?;
    let runtime =
        Builder::new_current_thread().enable_all().build().context("cannot start the fetcher")?;
    Ok(runtime.block_on(robots_file(url, &settings)).context("cannot set up the fetcher")?)
}

fn check(rules: &Rules, queries: &[Query<'_>]) -> (String, bool) {
    let mut text = String::new();
    let mut all_allowed = true;
    for query in queries {
        let decision = rules.decide(&query.path);
        all_allowed &= decision.allowed;
        let by = match decision.by {
            Some(rule) => format!("line {}: {}", rule.line, rule.text),
            None => "no line matches".to_owned(),
        };
        let _ = writeln!(text, "{:<10}  {}   {by}", label(decision.allowed), query.text);
    }
    if let Some(delay) = rules.crawl_delay() {
        let _ = writeln!(text, "crawl-delay {}", format::duration(delay));
    }
    for sitemap in rules.sitemaps() {
        let _ = writeln!(text, "sitemap     {sitemap}");
    }
    (text, all_allowed)
}

fn same_for_all(queries: &[Query<'_>], allowed: bool, why: &str) -> (String, bool) {
    let lines = queries.iter().map(|q| format!("{:<10}  {}   {why}\n", label(allowed), q.text));
    (lines.collect(), allowed)
}

const fn label(allowed: bool) -> &'static str {
    if allowed { "allowed" } else { "disallowed" }
}
