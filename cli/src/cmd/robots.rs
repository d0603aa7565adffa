//! `crivello robots`: reports whether URLs are allowed, and the deciding line of robots.txt.

use crate::args::{RobotsArgs, SettingsArgs};
use crate::cmd::archive::files::printable;
use crate::exit::{CliError, Exit, usage};
use crate::plan::flags;
use crate::screen;
use anyhow::Context as _;
use crivello_agent::fetch::{RobotsFile, robots_file};
use crivello_common::config::{RawSettings, product_token};
use crivello_common::format::exact_delay;
use crivello_common::robots::Rules;
use crivello_common::signals::PageSignals;
use crivello_common::url::CrawlUrl;
use std::fmt::Write as _;
use tokio::runtime::Builder;

/// Checks each URL. The exit code is 1 if any is not allowed.
///
/// # Errors
/// Fails if robots.txt cannot be read, or a URL is invalid.
pub fn run(args: &RobotsArgs) -> Result<Exit, CliError> {
    product_token(&args.agent).map_err(|problem| usage!("--agent: {problem}"))?;
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
    screen::print_out(&text);
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
            .map_err(|reason| usage!("{text}: not a URL ({})", reason.name()))?;
        Ok(Self { text, path: url.path_and_query().to_owned() })
    }
}

/// Reads robots.txt from a file, or fetches it if the argument is a URL.
fn read(args: &RobotsArgs) -> Result<RobotsFile, CliError> {
    let from = &args.robots;
    if !from.contains("://") {
        return std::fs::read(from)
            .map(|body| RobotsFile::Body(body.into()))
            .map_err(|error| usage!("{from}: {error}"));
    }
    let url = CrawlUrl::parse(from).map_err(|reason| {
        let reason = reason.name();
        usage!("{from}: not an http or https URL ({reason})")
    })?;
    if args.contact.is_none() {
        return Err(usage!(
            "{from}: fetching it sends a request, which must name a contact: give --contact URL or \
             --contact EMAIL"
        ));
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
    let given = SettingsArgs {
        user_agent_name: Some(args.agent.clone()),
        contact: args.contact.clone(),
        dns: args.dns.clone(),
        allow_networks: args.allow_networks.clone(),
        ..SettingsArgs::default()
    };
    let settings = RawSettings::merge(&[], &[], &flags(&given)).map_err(CliError::usage)?;
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
        let (label, shown, by) = (label(decision.allowed), printable(query.text), printable(&by));
        let _ = writeln!(text, "{label:<10}  {shown}   {by}");
        if let Some(of_site) = rules.signals() {
            let mut signals = PageSignals::default();
            of_site.add_to(&query.path, &mut signals);
            for (name, value) in signals.fields() {
                let _ = writeln!(text, "signal      {shown}   {name}: {}", printable(&value));
            }
        }
    }
    if let Some(delay) = rules.crawl_delay() {
        let _ = writeln!(text, "crawl-delay {}", exact_delay(delay));
    }
    for sitemap in rules.sitemaps() {
        let _ = writeln!(text, "sitemap     {}", printable(sitemap));
    }
    (text, all_allowed)
}

fn same_for_all(queries: &[Query<'_>], allowed: bool, why: &str) -> (String, bool) {
    let line = |q: &Query<'_>| {
        format!("{:<10}  {}   {}\n", label(allowed), printable(q.text), printable(why))
    };
    (queries.iter().map(line).collect(), allowed)
}

const fn label(allowed: bool) -> &'static str {
    if allowed { "allowed" } else { "disallowed" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_of_a_file_are_escaped() {
        let file = b"User-agent: *\nDisallow: /\x1b[2J*\nSitemap: \x1b]0;title\x07\x9b1m\x7f\n";
        let queries = [Query::parse("/%1B[2J").unwrap()];
        let (text, allowed) = check(&Rules::parse(file, "crivello"), &queries);
        assert!(!allowed);
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
        assert!(text.contains(r"sitemap     \u{1b}]0;title\u{7}%9B1m\u{7f}"), "{text}");
    }

    #[test]
    fn signals_are_those_of_each_url() {
        let file = b"User-agent: *\nContent-Usage: /a train-ai=n\nContent-Signal: search=yes\n";
        let queries = ["/a", "/b"].map(|path| Query::parse(path).unwrap());
        let (text, _) = check(&Rules::parse(file, "crivello"), &queries);
        let wanted = "allowed     /a   no line matches\n\
            signal      /a   usageTrainAi: disallow\n\
            signal      /a   signalSearch: yes\n\
            allowed     /b   no line matches\n\
            signal      /b   signalSearch: yes\n";
        assert_eq!(text, wanted);
    }

    #[test]
    fn a_fraction_of_a_crawl_delay_is_shown() {
        let (text, _) = check(&Rules::parse(b"User-agent: *\nCrawldelay: 10.5\n", "x"), &[]);
        assert_eq!(text, "crawl-delay 10.5 s\n");
    }
}
