//! Selection of the lines of a robots.txt that apply to our agent: the groups of RFC 9309 section
//! 2.2.1.
//!
//! A group begins at a `User-agent` line that follows a rule, and includes the `User-agent` lines
//! directly after it. Only `Allow` and `Disallow` are rules; `Sitemap`, `Crawl-delay` and unknown
//! keys may occur anywhere and do not end a group (section 2.2.4). All groups that name our agent
//! are merged; groups for `*` apply only if none names it.
//!
//! `Crawl-delay` is no part of RFC 9309. One applies to the agents of the `User-agent` lines above
//! it, back to the last rule or `Crawl-delay`. So the delay of one agent is never that of the next
//! one, even if there is no rule between them. Signals (`Content-Usage`, `Content-Signal`) are read in the
//! same way.

use super::sanitize::sanitize;
use super::site_signals::{SignalKey, SignalLines};
use super::table::Draft;
use super::{Rules, escape};
use robotstxt::RobotsParseHandler;
use std::time::Duration;

/// Maximum `Crawl-delay`. A longer one counts as this.
pub const CRAWL_DELAY_MAX: Duration = Duration::from_secs(30 * 86_400);

impl Rules {
    /// Parses the body of a robots.txt. The body may contain any bytes; [`super::SIZE_MAX`] are read.
    ///
    /// `agent` is the crawler's product token, compared case-insensitively (RFC 9309 section 2.2.1).
    /// Of `Name/1.0` only the name counts.
    #[must_use]
    pub fn parse(body: &[u8], agent: &str) -> Self {
        // Text after a slash or white space is ignored.
        let mut reader = Reader { agent: word(agent.trim()), ..Reader::default() };
        robotstxt::parse_robotstxt(&sanitize(body), &mut reader);
        Self {
            table: reader.draft.build(),
            crawl_delay: reader.delay,
            sitemaps: reader.sitemaps.into_boxed_slice(),
            signals: reader.signals.build(),
            ..Self::default()
        }
    }
}

/// The agents that some `User-agent` lines name.
#[derive(Clone, Copy, Default)]
struct Named {
    /// True while further `User-agent` lines belong to these.
    open: bool,
    /// True if one names our agent.
    ours: bool,
    /// True if one is `*`.
    all: bool,
}

impl Named {
    /// Adds a `User-agent` line.
    const fn add(&mut self, ours: bool, all: bool) {
        if !self.open {
            *self = Self { open: true, ours: false, all: false };
        }
        self.ours |= ours;
        self.all |= all;
    }

    /// Returns true if what follows these lines applies to our agent, as far as known: `ever_ours`
    /// is true if any line so far named it.
    const fn applies(self, ever_ours: bool) -> bool {
        self.ours || (self.all && !ever_ours)
    }
}

/// Collects the lines for one agent while the `robotstxt` crate parses.
#[derive(Default)]
struct Reader<'a> {
    agent: &'a str,
    /// Agents of the current group, whose `User-agent` lines end with its first rule.
    group: Named,
    /// Agents of the next `Crawl-delay`.
    delayed: Named,
    /// Agents of the next signal.
    signaled: Named,
    /// True once there was a `User-agent` line.
    has_groups: bool,
    /// True if any group so far named our agent.
    ever_ours: bool,
    draft: Draft,
    delay: Option<Duration>,
    sitemaps: Vec<Box<str>>,
    signals: SignalLines,
}

impl Reader<'_> {
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
        self.group.open = false;
        self.delayed.open = false;
        self.signaled.open = false;
        if self.group.applies(self.ever_ours) {
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
        let all = value.split_whitespace().next() == Some("*");
        let ours = !all && self.names_us(value);
        self.group.add(ours, all);
        self.delayed.add(ours, all);
        self.signaled.add(ours, all);
        self.has_groups = true;
        if ours && !self.ever_ours {
            self.ever_ours = true;
            self.draft = Draft::default();
            self.delay = None;
            self.signals.leave_groups();
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
        if is_crawl_delay(key) {
            self.delayed.open = false;
            if self.delayed.applies(self.ever_ours) {
                self.delay = self.delay.max(seconds(value));
            }
        } else if let Some(key) = SignalKey::of(key) {
            // A license is of the whole file.
            self.signaled.open &= key == SignalKey::License;
            let applies = self.has_groups.then(|| self.signaled.applies(self.ever_ours));
            self.signals.add(key, value, applies);
        }
    }
}

/// Returns true for `Crawl-delay` in any case, with another separator of its words or none.
fn is_crawl_delay(key: &str) -> bool {
    let letters = key.bytes().filter(|b| !matches!(b, b'-' | b'_' | b' ' | b'\t'));
    letters.map(|b| b.to_ascii_lowercase()).eq(*b"crawldelay")
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
