//! The fate of a URL, as text.

use crate::v1::{DueReason, UrlFate, UrlStatus, url_status};
use crivello_common::discard::Discard;
use crivello_common::fields::priority::PRIORITY_DEFAULT;
use crivello_common::format::count;
use crivello_common::time::Timestamp;
use std::fmt::Write as _;

impl UrlStatus {
    /// Returns the past or future fate of the URL.
    pub fn text(&self) -> String {
        let mut text = match self.fate() {
            UrlFate::Unspecified => return "not known".to_owned(),
            UrlFate::Unknown if self.discard.is_empty() => {
                return "never seen; as a seed it would be accepted".to_owned();
            }
            UrlFate::Unknown => return format!("never seen; {}", self.later()),
            UrlFate::Rejected => {
                return format!("never seen; as a seed it would be rejected: {}", self.discard());
            }
            UrlFate::Failed => {
                let text = format!("given up: all attempts failed, the last with {}", self.failure);
                return self.with_recrawl(text);
            }
            UrlFate::Discarded => {
                return self.with_recrawl(format!("discarded: {}", self.discard()));
            }
            UrlFate::Queued => "queued".to_owned(),
            UrlFate::InFlight if self.status == 0 => "being fetched".to_owned(),
            UrlFate::InFlight => {
                format!("fetched with status {}, not archived yet", self.status)
            }
            UrlFate::LinksPending => "fetched and archived; it counts as queued until the owners \
                                      of its links have acknowledged them"
                .to_owned(),
            UrlFate::Fetched => {
                format!("fetched {} with status {}", seconds(self.fetched), self.status)
            }
        };
        if self.fate() == UrlFate::LinksPending && self.status > 0 {
            let _ = write!(text, " (status {})", self.status);
        }
        let _ = write!(text, ", depth {}", self.depth);
        if matches!(self.fate(), UrlFate::Queued | UrlFate::InFlight) && self.attempts > 0 {
            let _ = write!(text, ", attempt {}", self.attempts + 1);
        }
        if let Some(priority) = self.priority.filter(|&it| it != u32::from(PRIORITY_DEFAULT)) {
            let _ = write!(text, ", priority {priority}");
        }
        if self.fate() == UrlFate::Queued {
            match self.ahead {
                Some(0) => text.push_str(", the first in the queue"),
                Some(n) => {
                    let _ = write!(text, ", {} before it in the queue", count(n));
                }
                None => text.push_str(", too many before it in the queue to count"),
            }
            if !self.discard.is_empty() {
                let _ = write!(text, "; {}", self.later());
            }
        }
        if let Some(near) = &self.near_duplicate {
            let (url, distance) = (&near.url, near.distance);
            let _ = write!(text, ", near-duplicate of {url} ({distance} bits differ)");
        }
        self.with_recrawl(text)
    }

    fn with_recrawl(&self, mut text: String) -> String {
        if let Some(recrawl) = &self.recrawl {
            push_recrawl(&mut text, recrawl);
        }
        text
    }

    /// Returns the reason for the discard: its meaning, its rule and its name.
    fn discard(&self) -> String {
        let meaning = meaning(&self.discard);
        let rule = self.rule().map_or_else(String::new, |rule| format!(", {rule}"));
        format!("{meaning}{rule} ({})", self.discard)
    }

    /// Returns the reason why the URL will be discarded when its turn comes.
    fn later(&self) -> String {
        let rule = self.rule().map_or_else(String::new, |rule| format!(", {rule}"));
        format!("it will be discarded when its turn comes: {}{rule}", meaning(&self.discard))
    }

    fn rule(&self) -> Option<String> {
        Some(match self.rule.as_ref()? {
            url_status::Rule::RobotsRule(rule) if rule.line == 0 => "nothing is allowed".to_owned(),
            url_status::Rule::RobotsRule(rule) => format!("line {}: {}", rule.line, rule.text),
            url_status::Rule::ScopeRule(rule) => {
                let (setting, text) = (&rule.setting, &rule.text);
                match rule.number {
                    _ if setting == "links.admit" => text.clone(),
                    0 => format!("none of the {} rules of {setting} matches", rule.rules),
                    n if setting == "links.exclude" => {
                        format!("rule {n} of {setting} matches: {text}")
                    }
                    _ => format!("the rule of {setting} does not match: {text}"),
                }
            }
        })
    }
}

/// Returns the meaning of a discard, or its name if this build does not know it.
pub(super) fn meaning(discard: &str) -> &str {
    match Discard::from_name(discard) {
        Some(discard) => discard.description(),
        None => discard,
    }
}

/// Appends what is known of the fetches of a URL, and the time of the next one.
fn push_recrawl(text: &mut String, of: &url_status::Recrawl) {
    if of.visits > 0 {
        let _ = write!(
            text,
            "; {} of {} later visits found a change (about {} a day)",
            of.changes,
            of.visits,
            rounded(of.changes_per_day)
        );
    }
    if of.failures > 0 {
        let gone = if of.gone { " (gone: 404 or 410)" } else { "" };
        let _ = write!(text, "; failed {} times in a row{gone}", of.failures);
    }
    match of.due {
        0 => text.push_str("; not fetched again"),
        due => {
            let _ = write!(text, "; due {}{}", seconds(due), due_reason(of.due_reason()));
        }
    }
}

/// Returns why a page is due when it is, in brackets.
const fn due_reason(reason: DueReason) -> &'static str {
    match reason {
        DueReason::Unspecified => "",
        DueReason::Requested => " (it was asked for)",
        DueReason::Reported => " (a sitemap or feed reported a change)",
        DueReason::Failures => " (recrawl.errors-interval)",
        DueReason::SitemapsInterval => " (recrawl.sitemaps-interval)",
        DueReason::SeedsInterval => " (recrawl.seeds-interval)",
        DueReason::Interval => " (recrawl.interval)",
        DueReason::ChangeRate => " (by its weight and changes)",
    }
}

/// Formats a number with two significant digits.
fn rounded(number: f64) -> String {
    match number {
        n if n >= 10.0 => format!("{n:.0}"),
        n if n >= 1.0 => format!("{n:.1}"),
        n if n >= 0.1 => format!("{n:.2}"),
        n => format!("{n:.1e}"),
    }
}

/// Formats a time to the second, in UTC.
fn seconds(at: u64) -> String {
    let text = Timestamp(at).to_string();
    text.get(..19).map_or_else(|| text.clone(), |text| format!("{text}Z"))
}
