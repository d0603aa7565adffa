//! Rules of the TDM file of an origin, as signals of its site.

use super::Rules;
use super::site_signals::{SIGNAL_LINES_MAX, SiteSignals, TDM};

/// Path of the file of an origin with its TDM rights (TDMRep).
pub const TDM_FILE: &str = "/.well-known/tdmrep.json";

/// A rule of `tdmrep.json`.
#[derive(Clone, Copy, Debug)]
pub struct TdmRule<'a> {
    /// Pattern of paths, as in robots.txt.
    pub location: &'a str,
    /// True if the rights are reserved.
    pub reservation: bool,
    /// Absolute URL of the policy.
    pub policy: Option<&'a str>,
}

/// Returns a text as a word of a line: what is no visible character of ASCII is percent-encoded.
fn word(text: &str) -> String {
    let mut word = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'!'..=b'~' => word.push(char::from(byte)),
            _ => word.push_str(&format!("%{byte:02X}")),
        }
    }
    word
}

impl Rules {
    /// Returns these rules with those of the origin's `tdmrep.json`, in their order. Those beyond [`SIGNAL_LINES_MAX`] bytes of lines, are dropped.
    #[must_use]
    pub fn with_tdm_rules<'a>(&self, rules: impl Iterator<Item = TdmRule<'a>>) -> Self {
        let mut lines = self.signals().map_or(String::new(), |signals| signals.lines().to_owned());
        for rule in rules.filter(|rule| !rule.location.is_empty()) {
            let policy = rule.policy.map(word).unwrap_or_default();
            let reservation = u8::from(rule.reservation);
            let line = format!("{TDM}: {} {reservation} {policy}", word(rule.location));
            // What follows must not take the place of a rule that is dropped.
            if lines.len() + line.len() >= SIGNAL_LINES_MAX {
                break;
            }
            lines.push_str(line.trim_ascii_end());
            lines.push('\n');
        }
        Self { signals: SiteSignals::compile(lines), ..self.clone() }
    }
}
