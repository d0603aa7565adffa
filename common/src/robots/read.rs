//! Selection of the lines of a robots.txt that apply to our agent: the groups of RFC 9309 section
//! 2.2.1.
//!
//! A group begins at a `User-agent` line that follows a rule, and includes the `User-agent` lines
//! directly after it. Only `Allow` and `Disallow` are rules; `Sitemap`, `Crawl-delay` and unknown
//! keys may occur anywhere and do not end a group (section 2.2.4). All groups that name our agent
//! are merged; groups for `*` apply only if none names it.

use super::escape;
use super::table::{Draft, Table};
use robotstxt::RobotsParseHandler;
use std::time::Duration;

/// Maximum `Crawl-delay`. A longer one counts as this.
pub const CRAWL_DELAY_MAX: Duration = Duration::from_secs(30 * 86_400);

/// Collects the lines for one agent while the `robotstxt` crate parses.
pub(super) struct Reader<'a> {
    agent: &'a str,
    /// True if the last significant line was a `User-agent` line.
    naming: bool,
    /// True if the current group names our agent.
    ours: bool,
    /// True if the current group is for `*`.
    global: bool,
    /// True if any group so far named our agent.
    ever_ours: bool,
    draft: Draft,
    delay: Option<Duration>,
    sitemaps: Vec<Box<str>>,
}

/// The lines that apply to the agent.
pub(super) struct Findings {
    pub(super) table: Table,
    pub(super) crawl_delay: Option<Duration>,
    pub(super) sitemaps: Box<[Box<str>]>,
}

impl<'a> Reader<'a> {
    /// Creates a reader for a product token. Text after a slash or white space is ignored.
    pub(super) fn new(agent: &'a str) -> Self {
        Self {
            agent: word(agent.trim()),
            naming: false,
            ours: false,
            global: false,
            ever_ours: false,
            draft: Draft::default(),
            delay: None,
            sitemaps: Vec::new(),
        }
    }

    pub(super) fn findings(self) -> Findings {
        Findings {
            table: self.draft.build(),
            crawl_delay: self.delay,
            sitemaps: self.sitemaps.into_boxed_slice(),
        }
    }

    /// Returns true if the current group applies, as far as known.
    const fn applies(&self) -> bool {
        self.ours || (self.global && !self.ever_ours)
    }

    /// Returns true if a `User-agent` line names our agent. In RFC 9309 a product token consists of
    /// letters, `-` and `_`, and more text may follow (`FooBot/2.1`). If our token has digits or
    /// dots, it is compared with the whole first word.
    fn names_us(&self, value: &str) -> bool {
        let end = value.find(|c: char| !(c.is_ascii_alphabetic() || c == '-' || c == '_'));
        let token = &value[..end.unwrap_or(value.len())];
        !self.agent.is_empty()
            && (token.eq_ignore_ascii_case(self.agent)
                || word(value).eq_ignore_ascii_case(self.agent))
    }

    fn rule(&mut self, line: u32, value: &str, allow: bool) {
        self.naming = false;
        if self.applies() {
            let start = self.draft.arena.len();
            let anchored = escape::pattern(value, &mut self.draft.arena);
            self.draft.add(start, line, allow, anchored);
        }
    }
}

impl RobotsParseHandler for Reader<'_> {
    fn handle_robots_start(&mut self) {}

    fn handle_robots_end(&mut self) {}

    fn handle_user_agent(&mut self, _line: u32, value: &str) {
        if !self.naming {
            (self.naming, self.ours, self.global) = (true, false, false);
        }
        if value.split_whitespace().next() == Some("*") {
            self.global = true;
        } else if self.names_us(value) {
            self.ours = true;
            if !self.ever_ours {
                self.ever_ours = true;
                self.draft = Draft::default();
                self.delay = None;
            }
        }
    }

    fn handle_allow(&mut self, line: u32, value: &str) {
        self.rule(line, value, true);
    }

    fn handle_disallow(&mut self, line: u32, value: &str) {
        self.rule(line, value, false);
    }

    fn handle_sitemap(&mut self, _line: u32, value: &str) {
        if !value.is_empty() {
            self.sitemaps.push(value.into());
        }
    }

    fn handle_unknown_action(&mut self, _line: u32, key: &str, value: &str) {
        if key.eq_ignore_ascii_case("crawl-delay") && self.applies() {
            self.delay = self.delay.max(seconds(value));
        }
    }
}

/// Returns the text up to the first white space or slash.
fn word(text: &str) -> &str {
    text.split(|c: char| c == '/' || c.is_whitespace()).next().unwrap_or_default()
}

/// Parses a number of seconds such as `10`, `0.5` or `.5`, rounded up to milliseconds and bounded
/// by [`CRAWL_DELAY_MAX`]. Returns `None` for anything else.
fn seconds(text: &str) -> Option<Duration> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || whole.len() + fraction.len() == 0 {
        return None;
    }
    let number = |s: &str| {
        s.bytes().fold(0_u64, |n, b| n.saturating_mul(10).saturating_add((b - b'0').into()))
    };
    let thousandths = format!("{:0<3}", fraction.get(..3).unwrap_or(fraction));
    let rest = fraction.bytes().skip(3).any(|b| b != b'0');
    let millis =
        number(whole).saturating_mul(1_000).saturating_add(number(&thousandths) + u64::from(rest));
    Some(Duration::from_millis(millis).min(CRAWL_DELAY_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays() {
        for (text, millis) in [
            ("10", Some(10_000)),
            ("0.5", Some(500)),
            (".25", Some(250)),
            ("1.", Some(1_000)),
            ("0.0001", Some(1)),
            ("0", Some(0)),
            ("99999999999999999999999999", Some(30 * 86_400_000)),
            ("-1", None),
            ("", None),
            (".", None),
            ("ten", None),
            ("1e9", None),
            ("inf", None),
            ("NaN", None),
            ("10s", None),
            ("1.2.3", None),
            ("٣", None),
        ] {
            assert_eq!(seconds(text), millis.map(Duration::from_millis), "{text}");
        }
    }
}
