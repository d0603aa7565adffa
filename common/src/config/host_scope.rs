//! Hosts that the include and exclude rules of links leave in the scope of a crawl.

use super::records::LinkRule;
use super::settings::Links;
use crate::url::is_within;

impl LinkRule {
    /// Returns true if URLs of `host` may match: whether they do depends on their paths.
    fn may_match(&self, host: &str) -> bool {
        self.host_suffix.as_deref().is_none_or(|suffix| is_within(host, suffix))
    }
}

impl Links {
    /// Returns true if a URL of `host` may be within the scope, as far as the host decides it:
    /// regular expressions are not evaluated.
    pub fn may_include(&self, host: &str) -> bool {
        let is_whole = |rule: &LinkRule| rule.path_prefix.is_none() && rule.regex.is_none();
        (self.include.is_empty() || self.include.iter().any(|rule| rule.may_match(host)))
            && !self.exclude.iter().any(|rule| is_whole(rule) && rule.may_match(host))
    }
}
