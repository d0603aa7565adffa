//! Signals of a site: the lines of robots.txt that state what may be done with its pages, and the rules of
//! its `tdmrep.json`.
//!
//! The lines are kept as text, and compiled again when they are read. A rule matches the paths that a rule
//! of robots.txt would; the longest one wins.

use super::escape;
use super::pattern::matches;
use super::table::STEPS_MAX;
use crate::signals::{ContentSignal, ContentUsage, Licenses, PageSignals, TdmRights};
use std::fmt::Write;
use std::sync::Arc;

/// Maximum length of the lines of a site, in bytes. Lines beyond it are dropped.
pub const SIGNAL_LINES_MAX: usize = 4_096;

/// Keys of the lines.
const CONTENT_USAGE: &str = "Content-Usage";
const CONTENT_SIGNAL: &str = "Content-Signal";
const LICENSE: &str = "License";
pub(super) const TDM: &str = "TDM";

/// The signals of a site. There are some.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SiteSignals {
    lines: Box<str>,
    usage: Box<[(PathPattern, ContentUsage)]>,
    content: ContentSignal,
    licenses: Licenses,
    /// The first that matches wins.
    tdm: Box<[(PathPattern, TdmRights)]>,
}

impl SiteSignals {
    /// Compiles lines; `None` if there are none, or too many.
    pub(super) fn compile(lines: String) -> Option<Arc<Self>> {
        if lines.is_empty() || lines.len() > SIGNAL_LINES_MAX {
            return None;
        }
        let (mut usage, mut tdm) = (Vec::new(), Vec::new());
        let (mut content, mut licenses) = (ContentSignal::default(), Licenses::default());
        for line in lines.lines() {
            match line.split_once(": ") {
                Some((CONTENT_USAGE, value)) => usage.push(usage_rule(value)),
                // A line for one path says nothing of the site.
                Some((CONTENT_SIGNAL, value)) if value.starts_with('/') => {}
                Some((CONTENT_SIGNAL, value)) => content = content.and(ContentSignal::parse(value)),
                Some((LICENSE, value)) => licenses.add(value, None),
                Some((TDM, value)) => tdm.extend(tdm_rule(value)),
                _ => {}
            }
        }
        let (usage, tdm) = (usage.into_boxed_slice(), tdm.into_boxed_slice());
        Some(Arc::new(Self { lines: lines.into_boxed_str(), usage, content, licenses, tdm }))
    }

    /// Returns the lines, each with a newline, at most [`SIGNAL_LINES_MAX`] bytes.
    pub fn lines(&self) -> &str {
        &self.lines
    }

    /// Adds what holds for a URL of the site, given its path with the query, to the signals of its
    /// response. Those of the response precede it in TDMRep; of preferences the more restrictive holds.
    pub fn add_to(&self, path_and_query: &str, page: &mut PageSignals) {
        let path = escape::path(path_and_query);
        let mut steps = 0;
        page.usage = page.usage.and(self.usage(&path, &mut steps));
        page.content = page.content.and(self.content);
        page.licenses.extend(&self.licenses);
        let first = self.tdm.iter().find(|(pattern, _)| pattern.matches(&path, &mut steps));
        if let Some((_, rights)) = first {
            page.tdm = std::mem::take(&mut page.tdm).or(rights.clone());
        }
    }

    /// Returns the preferences of the longest rule that matches, or of all that are as long.
    fn usage(&self, path: &[u8], steps: &mut u64) -> ContentUsage {
        let (mut longest, mut usage) = (0, ContentUsage::default());
        for (pattern, of_rule) in &self.usage {
            let rank = pattern.rank();
            if rank < longest || !pattern.matches(path, steps) {
                continue;
            }
            usage = if rank > longest { *of_rule } else { usage.and(*of_rule) };
            longest = rank;
        }
        usage
    }

    pub(super) fn heap_size(&self) -> usize {
        let patterns = self.usage.iter().map(|(p, _)| p).chain(self.tdm.iter().map(|(p, _)| p));
        size_of::<Self>()
            + self.lines.len()
            + self.licenses.heap_size()
            + patterns.map(|pattern| pattern.text.len()).sum::<usize>()
            + size_of_val(&*self.usage)
            + size_of_val(&*self.tdm)
    }
}

/// A pattern of paths, as in robots.txt.
#[derive(Clone, PartialEq, Eq, Debug)]
struct PathPattern {
    /// In normal form.
    text: Box<[u8]>,
    is_anchored: bool,
}

impl PathPattern {
    fn of(value: &str) -> Self {
        let mut text = Vec::new();
        let is_anchored = escape::pattern(value, &mut text);
        Self { text: text.into(), is_anchored }
    }

    fn rank(&self) -> usize {
        self.text.len() + usize::from(self.is_anchored)
    }

    /// Matches in bounded time for all rules of a site together. A rule beyond it does not match.
    fn matches(&self, path: &[u8], steps: &mut u64) -> bool {
        *steps < STEPS_MAX && matches(&self.text, self.is_anchored, path, steps)
    }
}

/// Parses `[path ]preferences`. A rule without a path is for all paths.
fn usage_rule(value: &str) -> (PathPattern, ContentUsage) {
    let (path, preferences) = match value.split_once([' ', '\t']) {
        Some((path, rest)) if path.starts_with('/') => (path, rest.trim_ascii_start()),
        None if value.starts_with('/') => (value, ""),
        _ => ("/", value),
    };
    (PathPattern::of(path), ContentUsage::parse(preferences))
}

/// Parses `path reservation[ policy]`.
fn tdm_rule(value: &str) -> Option<(PathPattern, TdmRights)> {
    let mut words = value.split(' ');
    let (path, reservation) = (words.next()?, words.next()?);
    let mut rights = TdmRights::default();
    rights.set_reservation(reservation);
    rights.set_policy(words.next().unwrap_or_default(), None);
    Some((PathPattern::of(path), rights))
}

/// Collects the lines for one agent while a robots.txt is parsed.
#[derive(Default)]
pub(super) struct SignalLines {
    /// `Content-Signal` lines before all groups.
    of_file: Vec<Box<str>>,
    /// Lines in the groups of the agent.
    of_group: Vec<(&'static str, Box<str>)>,
    licenses: Vec<Box<str>>,
    bytes: usize,
}

/// A line that states a signal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SignalKey {
    Usage,
    Content,
    License,
}

impl SignalKey {
    /// Returns the key of a line, in any case.
    pub(super) fn of(key: &str) -> Option<Self> {
        let is = |known: &str| key.eq_ignore_ascii_case(known);
        match () {
            () if is(CONTENT_USAGE) => Some(Self::Usage),
            () if is(CONTENT_SIGNAL) => Some(Self::Content),
            () if is(LICENSE) => Some(Self::License),
            () => None,
        }
    }
}

impl SignalLines {
    /// Adds a line. `applies` is true if a group of the agent has it, `None` if it is before all groups.
    pub(super) fn add(&mut self, key: SignalKey, value: &str, applies: Option<bool>) {
        let is_of_others = key != SignalKey::License
            && !matches!((key, applies), (_, Some(true)) | (SignalKey::Content, None));
        // Bounds what is collected; the lines that are kept have a bound of their own.
        let bytes = self.bytes + value.len();
        if value.is_empty() || is_of_others || bytes > 16 * SIGNAL_LINES_MAX {
            return;
        }
        self.bytes = bytes;
        match (key, applies) {
            (SignalKey::License, _) => self.licenses.push(value.into()),
            (SignalKey::Usage, Some(true)) => self.of_group.push((CONTENT_USAGE, value.into())),
            (SignalKey::Content, Some(true)) => self.of_group.push((CONTENT_SIGNAL, value.into())),
            (SignalKey::Content, None) => self.of_file.push(value.into()),
            (SignalKey::Usage | SignalKey::Content, _) => {}
        }
    }

    /// Forgets the lines of groups that turn out to be none of the agent.
    pub(super) fn leave_groups(&mut self) {
        self.bytes -= self.of_group.iter().map(|(_, value)| value.len()).sum::<usize>();
        self.of_group.clear();
    }

    /// Compiles the lines. A `Content-Signal` of the file holds only if no group has one.
    pub(super) fn build(self) -> Option<Arc<SiteSignals>> {
        let has_own = self.of_group.iter().any(|(key, _)| *key == CONTENT_SIGNAL);
        let of_file = self.of_file.iter().filter(|_| !has_own).map(|value| (CONTENT_SIGNAL, value));
        let of_group = self.of_group.iter().map(|(key, value)| (*key, value));
        let licenses = self.licenses.iter().map(|value| (LICENSE, value));
        let mut lines = String::new();
        for (key, value) in of_file.chain(of_group).chain(licenses) {
            let length = key.len() + value.len() + ": \n".len();
            if lines.len() + length <= SIGNAL_LINES_MAX {
                let _ = writeln!(lines, "{key}: {value}");
            }
        }
        SiteSignals::compile(lines)
    }
}
