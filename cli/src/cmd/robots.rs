//! `crivello robots`: allowed or not, and by which line.

use crate::adapt::robots::{self, RobotsFile};
use crate::adapt::settings::{self, Flag};
use crate::args::RobotsArgs;
use crate::exit::{Exit, Trouble};
use crate::human;
use crivello_common::config::product_token;
use crivello_common::robots::Rules;
use crivello_common::url::CrawlUrl;
use std::fmt::Write as _;
use std::io::Write as _;

/// Judges each URL; one that is not allowed makes the program end with 1.
///
/// # Errors
/// When robots.txt cannot be read, or a URL is none.
pub fn run(typed: &RobotsArgs) -> Result<Exit, Trouble> {
    product_token(&typed.agent).map_err(|problem| Trouble::usage(format!("--agent: {problem}")))?;
    let asked: Vec<Asked> =
        typed.urls.iter().map(|url| Asked::parse(url)).collect::<Result<_, _>>()?;
    let (text, all_allowed) = match source(typed)? {
        RobotsFile::Body(body) => judged(&Rules::parse(&body, &typed.agent), &asked),
        RobotsFile::Missing(why) => {
            all(&asked, true, &format!("no robots.txt ({why}): all is allowed"))
        }
        RobotsFile::Unreachable(why) => {
            all(&asked, false, &format!("robots.txt unreachable ({why}): nothing is allowed"))
        }
    };
    // Nobody may be reading.
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
    Ok(if all_allowed { Exit::Finished } else { Exit::Disallowed })
}

/// What a URL is judged by: only its path and query.
struct Asked<'a> {
    text: &'a str,
    path: String,
}

impl<'a> Asked<'a> {
    fn parse(text: &'a str) -> Result<Self, Trouble> {
        let whole =
            if text.starts_with('/') { format!("http://host{text}") } else { text.to_owned() };
        let url = CrawlUrl::parse(&whole)
            .map_err(|reason| Trouble::usage(format!("{text}: no URL ({})", reason.name())))?;
        Ok(Self { text, path: url.path_and_query().to_owned() })
    }
}

/// The robots.txt: from the web when it is named by a URL, else from a file.
fn source(typed: &RobotsArgs) -> Result<RobotsFile, Trouble> {
    let from = &typed.robots;
    if !from.contains("://") {
        return std::fs::read(from)
            .map(|body| RobotsFile::Body(body.into()))
            .map_err(|error| Trouble::usage(format!("{from}: {error}")));
    }
    let url = CrawlUrl::parse(from).map_err(|reason| {
        let reason = reason.name();
        Trouble::usage(format!("{from}: no http or https URL to fetch from ({reason})"))
    })?;
    if typed.contact.is_none() {
        return Err(Trouble::usage(format!(
            "{from}: fetching it sends a request, which says whom to write to: give --contact URL \
             or --contact EMAIL"
        )));
    }
    let url = match url.path_and_query() {
        "/" => CrawlUrl::from_parts(url.origin(), url.host(), "/robots.txt"),
        _ => url,
    };
    let settings = settings::load(&[], &[], &flags(typed)).map_err(Trouble::usage)?;
    Ok(robots::fetch(&url, &settings)?)
}

fn flags(typed: &RobotsArgs) -> Vec<Flag> {
    let mut list = vec![("--agent", "identity.user-agent-name", typed.agent.clone())];
    let contact = typed.contact.iter().map(|c| ("--contact", "identity.contact", c.clone()));
    let dns = typed.dns.iter().map(|server| ("--dns", "dns.servers", server.clone()));
    list.extend(contact.chain(dns));
    if !typed.allow_networks.is_empty() {
        let networks = typed.allow_networks.join(",");
        list.push(("--allow-network", "fetch.allow-networks", networks));
    }
    list
}

fn judged(rules: &Rules, asked: &[Asked<'_>]) -> (String, bool) {
    let mut text = String::new();
    let mut all_allowed = true;
    for url in asked {
        let decision = rules.decide(&url.path);
        all_allowed &= decision.allowed;
        let by = match decision.by {
            Some(rule) => format!("line {}: {}", rule.line, rule.text),
            None => "no line speaks of it".to_owned(),
        };
        let _ = writeln!(text, "{:<10}  {}   {by}", word(decision.allowed), url.text);
    }
    if let Some(delay) = rules.crawl_delay() {
        let _ = writeln!(text, "crawl-delay {}", human::duration(delay));
    }
    for sitemap in rules.sitemaps() {
        let _ = writeln!(text, "sitemap     {sitemap}");
    }
    (text, all_allowed)
}

fn all(asked: &[Asked<'_>], allowed: bool, why: &str) -> (String, bool) {
    let lines = asked.iter().map(|url| format!("{:<10}  {}   {why}\n", word(allowed), url.text));
    (lines.collect(), allowed)
}

const fn word(allowed: bool) -> &'static str {
    if allowed { "allowed" } else { "disallowed" }
}
