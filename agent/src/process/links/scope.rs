//! Include and exclude rules: the part of the web that a crawl covers.

use crivello_common::config::LinkRule;
use crivello_common::url::{CrawlUrl, is_within};
use regex::Regex;
use std::fmt;

/// An error in the link rules of a crawl.
#[derive(Debug, thiserror::Error)]
pub enum LinksError {
    /// A regular expression of an include or exclude rule does not compile.
    #[error("the regular expression {pattern:?} in links.{list} does not compile: {problem}")]
    Regex {
        /// `include` or `exclude`.
        list: &'static str,
        /// The expression as configured.
        pattern: String,
        /// The compiler's error.
        problem: Box<regex::Error>,
    },
    /// The condition of the links does not compile.
    #[error("links.admit: {0}")]
    Condition(String),
    /// The expression for priorities does not compile.
    #[error("links.priority: {0}")]
    Priority(String),
}

/// The compiled rules. A URL is within the scope if it matches one of `include` (or there is none)
/// and none of `exclude`.
#[derive(Clone, Debug)]
pub(super) struct Scope {
    include: Vec<CompiledRule>,
    exclude: Vec<CompiledRule>,
}

#[derive(Clone, Debug)]
struct CompiledRule {
    rule: LinkRule,
    regex: Option<Regex>,
}

impl Scope {
    pub(super) fn compile(include: &[LinkRule], exclude: &[LinkRule]) -> Result<Self, LinksError> {
        let all = |list, rules: &[LinkRule]| -> Result<Vec<_>, _> {
            rules.iter().map(|r| compile(list, r)).collect()
        };
        Ok(Self { include: all("include", include)?, exclude: all("exclude", exclude)? })
    }

    pub(super) fn admits(&self, url: &CrawlUrl) -> bool {
        let included = self.include.is_empty() || self.include.iter().any(|r| r.matches(url));
        included && !self.exclude.iter().any(|r| r.matches(url))
    }

    /// Returns the rule that rejects a URL; `None` for a URL within the scope.
    pub(super) fn rejecting_rule(&self, url: &CrawlUrl) -> Option<RejectingRule> {
        let rule = |setting, rules: &[CompiledRule], number: usize| RejectingRule {
            setting,
            rules: rules.len(),
            number,
            text: number.checked_sub(1).map(|n| rules[n].to_string()).unwrap_or_default(),
        };
        if let Some(n) = self.exclude.iter().position(|rule| rule.matches(url)) {
            return Some(rule("links.exclude", &self.exclude, n + 1));
        }
        let is_included = self.include.iter().any(|rule| rule.matches(url));
        match self.include.len() {
            0 => None,
            _ if is_included => None,
            1 => Some(rule("links.include", &self.include, 1)),
            _ => Some(rule("links.include", &self.include, 0)),
        }
    }
}

/// The include or exclude rule that rejects a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectingRule {
    /// `links.include` or `links.exclude`.
    pub setting: &'static str,
    /// Number of rules of the setting.
    pub rules: usize,
    /// The rule, counted from 1: an exclude rule that matches, or the only include rule, which does
    /// not. 0 if none of several include rules matches.
    pub number: usize,
    /// The rule as in a settings file; empty if `number` is 0.
    pub text: String,
}

/// Formats the rule as in a settings file.
impl fmt::Display for CompiledRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LinkRule { host_suffix, path_prefix, regex } = &self.rule;
        let parts = [("host-suffix", host_suffix), ("path-prefix", path_prefix), ("regex", regex)];
        let parts = parts
            .into_iter()
            .filter_map(|(key, value)| Some(format!("{key} {:?}", value.as_deref()?)));
        f.write_str(&parts.collect::<Vec<_>>().join(", "))
    }
}

fn compile(list: &'static str, rule: &LinkRule) -> Result<CompiledRule, LinksError> {
    let regex = rule.regex.as_deref().map(|pattern| {
        Regex::new(pattern).map_err(|problem| LinksError::Regex {
            list,
            pattern: pattern.to_owned(),
            problem: Box::new(problem),
        })
    });
    Ok(CompiledRule { rule: rule.clone(), regex: regex.transpose()? })
}

impl CompiledRule {
    /// Returns true if all parts that are set match.
    fn matches(&self, url: &CrawlUrl) -> bool {
        let LinkRule { host_suffix, path_prefix, .. } = &self.rule;
        host_suffix.as_deref().is_none_or(|suffix| is_within(url.host(), suffix))
            && path_prefix.as_deref().is_none_or(|prefix| url.path().starts_with(prefix))
            && self.regex.as_ref().is_none_or(|regex| regex.is_match(url.as_str()))
    }
}
