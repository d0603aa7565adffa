//! robots.txt of every kind, and its meaning for one visitor.
//!
//! The meaning is computed from the rules as data. The text is not parsed again, so that the judge
//! does not share a parser's errors.

use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// Bytes of a robots.txt that a visitor must read (RFC 9309 section 2.5).
pub const SIZE_MIN_READ: usize = 500 * 1024;
/// Redirects that a visitor should follow (RFC 9309 section 2.3.1.2).
pub const HOPS_FOLLOWED: u8 = 5;

/// Answer of a host to a request for robots.txt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Robots {
    /// 200; everything is allowed.
    #[default]
    AllowAll,
    /// 200 with an empty body.
    Empty,
    /// This status: 4xx except 429 allows everything; 429 and 5xx allow nothing.
    Status(u16),
    /// This status (429 or 5xx) for the first requests, then the standard rules.
    Recovering {
        /// The HTTP status code.
        code: u16,
        /// Number of requests with this status.
        times: u32,
    },
    /// The standard rules in the first answers, then nothing is allowed, then the standard rules again.
    ClosedFor {
        /// Number of the first answers.
        after: u32,
        /// Number of answers that close the host.
        times: u32,
    },
    /// No answer: nothing is allowed.
    Silent,
    /// The connection is reset: nothing is allowed.
    Reset,
    /// These groups.
    Groups(Vec<RobotsGroup>),
    /// Redirects, then the standard rules. If another host is named, the last redirect is to its
    /// robots.txt, whose rules then apply.
    Redirects {
        /// Number of redirects.
        hops: u8,
        /// Name of the host that has the rules.
        to: Option<String>,
    },
    /// A redirect to this URL, whatever it is. It is assumed to be one that must not be requested,
    /// so nothing is allowed. `{port}` in it becomes the web's port.
    RedirectTo(String),
    /// The standard rules, more than 500 KiB of comments, and a rule that a visitor need not read.
    Huge,
    /// A byte-order mark before `User-agent: *`, and the standard rules.
    ByteOrderMark,
    /// Bytes that are not text: no rules, so everything is allowed.
    Garbage,
    /// Everything is allowed, and this many pages are listed only by sitemaps.
    Sitemaps(u32),
    /// Like `Sitemaps`, but sent as gzip although the client did not ask for it.
    GzippedSitemaps(u32),
    /// Everything is allowed, and only a sitemap on another host lists some pages. That sitemap also
    /// lists a page of a third host, which does not permit it.
    SitemapOn {
        /// Name of the host that has the sitemap.
        host: String,
        /// Number of pages.
        pages: u32,
    },
}

/// A group of rules.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RobotsGroup {
    /// Product tokens, or `*`.
    pub agents: Vec<String>,
    /// The rules.
    pub rules: Vec<Rule>,
    /// Crawl-delay in seconds.
    pub crawl_delay_secs: Option<f64>,
}

/// One rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// True for `Allow`, false for `Disallow`.
    pub allow: bool,
    /// Path, with `*` and `$`.
    pub pattern: String,
}

/// Permission of a visitor to fetch a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission {
    /// The visitor may fetch it.
    Allowed,
    /// The visitor must not fetch it.
    Disallowed,
    /// The standard leaves the decision open.
    Open,
}

impl Robots {
    /// Returns one group for all agents with these rules; `(false, "/x")` disallows `/x`.
    #[must_use]
    pub fn rules(rules: &[(bool, &str)], crawl_delay_secs: Option<f64>) -> Self {
        Self::Groups(vec![RobotsGroup::everyone(rules, crawl_delay_secs)])
    }

    /// Returns rules that affect many pages of any host: a directory that is closed except for one
    /// page, a suffix, and URLs with a certain query.
    #[must_use]
    pub fn standard() -> Self {
        Self::Groups(vec![RobotsGroup::standard()])
    }

    /// Returns a strict group for all agents, and one for `agent` alone that closes only a
    /// directory.
    #[must_use]
    pub fn for_agent(agent: &str) -> Self {
        let mut own = RobotsGroup::everyone(&[(false, "/s2/")], None);
        own.agents = vec![agent.to_owned()];
        Self::Groups(vec![own, RobotsGroup::everyone(&[(false, "/")], None)])
    }

    fn groups(&self) -> Vec<RobotsGroup> {
        match self {
            Self::Groups(groups) => groups.clone(),
            Self::Redirects { .. }
            | Self::Recovering { .. }
            | Self::ClosedFor { .. }
            | Self::Huge
            | Self::ByteOrderMark => vec![RobotsGroup::standard()],
            _ => Vec::new(),
        }
    }

    /// Returns whether `agent` may fetch `path` (with its query).
    pub fn decide(&self, agent: &str, path: &str) -> Permission {
        match self {
            Self::Silent | Self::Reset | Self::RedirectTo(_) => return Permission::Disallowed,
            Self::Status(429 | 500..) => return Permission::Disallowed,
            Self::Redirects { hops, .. } if *hops > HOPS_FOLLOWED => return Permission::Open,
            _ => {}
        }
        let allowed = group_of(&self.groups(), agent).is_none_or(|g| g.allows(path));
        match self {
            Self::Huge if allowed && path.starts_with("/s1/") => Permission::Open,
            _ if allowed => Permission::Allowed,
            _ => Permission::Disallowed,
        }
    }

    /// Returns the Crawl-delay for `agent`, in seconds.
    pub fn crawl_delay_secs(&self, agent: &str) -> Option<f64> {
        group_of(&self.groups(), agent).and_then(|g| g.crawl_delay_secs)
    }

    /// Returns the number of pages that only sitemaps list.
    pub const fn n_in_sitemaps(&self) -> u32 {
        match self {
            Self::Sitemaps(n) | Self::GzippedSitemaps(n) | Self::SitemapOn { pages: n, .. } => *n,
            _ => 0,
        }
    }

    /// Returns the text of the rules; `origin` is the origin of sitemap URLs.
    pub fn text(&self, origin: &str) -> Vec<u8> {
        match self {
            Self::AllowAll => b"User-agent: *\nDisallow:\n".to_vec(),
            Self::Garbage => {
                (0..4_096_u32).map(|i| (i.wrapping_mul(97) >> 3) as u8 | 0x80).collect()
            }
            Self::Sitemaps(_) | Self::GzippedSitemaps(_) => {
                format!("User-agent: *\nDisallow:\nSitemap: {origin}/sitemap.xml\n").into_bytes()
            }
            Self::ByteOrderMark => ["\u{feff}", &print(&self.groups())].concat().into_bytes(),
            Self::Huge => {
                let mut text = print(&self.groups());
                while text.len() <= SIZE_MIN_READ + 16 * 1024 {
                    text.push_str("# There is nothing to see here, and a great deal of it.\n");
                }
                text.push_str("Disallow: /s1/\n");
                text.into_bytes()
            }
            _ => print(&self.groups()).into_bytes(),
        }
    }
}

impl RobotsGroup {
    fn everyone(rules: &[(bool, &str)], crawl_delay_secs: Option<f64>) -> Self {
        let rules = rules
            .iter()
            .map(|&(allow, pattern)| Rule { allow, pattern: pattern.to_owned() })
            .collect();
        Self { agents: vec!["*".to_owned()], rules, crawl_delay_secs }
    }

    fn standard() -> Self {
        let rules =
            [(false, "/s3/"), (true, "/s3/p3.html"), (false, "/*7.html$"), (false, "/*?*day=")];
        Self::everyone(&rules, None)
    }

    /// Applies the longest matching pattern; `Allow` wins among equals (RFC 9309 section 2.2.2).
    fn allows(&self, path: &str) -> bool {
        self.rules
            .iter()
            .filter(|rule| !rule.pattern.is_empty() && matches(&rule.pattern, path))
            .max_by_key(|rule| (rule.pattern.len(), rule.allow))
            .is_none_or(|rule| rule.allow)
    }
}

/// Merges the groups of `agent`, or else those of `*`.
fn group_of(groups: &[RobotsGroup], agent: &str) -> Option<RobotsGroup> {
    let named = |token: &str| {
        let mut found =
            groups.iter().filter(|g| g.agents.iter().any(|a| a.eq_ignore_ascii_case(token)));
        let mut whole = found.next()?.clone();
        for more in found {
            whole.rules.extend(more.rules.iter().cloned());
            whole.crawl_delay_secs = whole.crawl_delay_secs.or(more.crawl_delay_secs);
        }
        Some(whole)
    };
    named(agent).or_else(|| named("*"))
}

fn matches(pattern: &str, path: &str) -> bool {
    let (pattern, anchored) = pattern.strip_suffix('$').map_or((pattern, false), |p| (p, true));
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = path.strip_prefix(first) else {
        return false;
    };
    let mut last = None;
    for piece in pieces {
        if let Some(previous) = last.replace(piece) {
            let Some(at) = rest.find(previous) else {
                return false;
            };
            rest = &rest[at + previous.len()..];
        }
    }
    match last {
        None => !anchored || rest.is_empty(),
        Some(piece) if anchored => rest.ends_with(piece),
        Some(piece) => rest.contains(piece),
    }
}

fn print(groups: &[RobotsGroup]) -> String {
    let mut text = String::from("# robots.txt of a simulated host\n");
    for group in groups {
        for agent in &group.agents {
            let _ = writeln!(text, "User-Agent: {agent}");
        }
        for rule in &group.rules {
            let key = if rule.allow { "allow" } else { "Disallow" };
            let _ = writeln!(text, "{key}: {} # as agreed", rule.pattern);
        }
        if let Some(secs) = group.crawl_delay_secs {
            let _ = writeln!(text, "Crawl-delay: {secs}");
        }
        text.push('\n');
    }
    while text.ends_with("\n\n") {
        text.pop();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, path, wanted) in [
            ("/", "/x", true),
            ("/x", "/y", false),
            ("/s3/", "/s3/p3.html", true),
            ("/s3/", "/s3", false),
            ("/*7.html$", "/s0/p7.html", true),
            ("/*7.html$", "/s0/p7.html?x", false),
            ("/a*b*c", "/a-b-c-d", true),
            ("/a*b*c", "/a-c-b", false),
            ("/a*", "/a", true),
            ("/a$", "/a", true),
            ("/a$", "/ab", false),
            ("/*?*day=", "/calendar?day=3", true),
        ] {
            assert_eq!(matches(pattern, path), wanted, "{pattern} {path}");
        }
    }

    #[test]
    fn decisions() {
        use Permission::{Allowed, Disallowed, Open};
        let standard = Robots::standard();
        for (robots, path, wanted) in [
            (&Robots::AllowAll, "/s3/p10.html", Allowed),
            (&standard, "/s3/p10.html", Disallowed),
            (&standard, "/s3/p3.html", Allowed),
            (&standard, "/s0/p7.html", Disallowed),
            (&standard, "/s1/p8.html", Allowed),
            (&Robots::Huge, "/s1/p8.html", Open),
            (&Robots::Huge, "/s3/p10.html", Disallowed),
            (&Robots::Status(404), "/", Allowed),
            (&Robots::Status(429), "/", Disallowed),
            (&Robots::Status(503), "/", Disallowed),
            (&Robots::Silent, "/", Disallowed),
            (&Robots::for_agent("Crivello"), "/", Allowed),
            (&Robots::for_agent("crivello"), "/s2/p2.html", Disallowed),
            (&Robots::for_agent("other"), "/", Disallowed),
            (&Robots::Redirects { hops: 5, to: None }, "/s3/p10.html", Disallowed),
            (&Robots::Redirects { hops: 6, to: None }, "/", Open),
        ] {
            assert_eq!(robots.decide("crivello", path), wanted, "{robots:?} {path}");
        }
    }

    #[test]
    fn texts_say_what_the_rules_say() {
        let text = Robots::rules(&[(false, "/x"), (true, "/x/y")], Some(1.5)).text("http://h");
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains("User-Agent: *\nDisallow: /x # as agreed\nallow: /x/y"), "{text}");
        assert!(text.contains("Crawl-delay: 1.5\n"), "{text}");
        assert!(Robots::Huge.text("").len() > SIZE_MIN_READ);
        assert!(Robots::ByteOrderMark.text("").starts_with(b"\xef\xbb\xbf# "));
    }
}
