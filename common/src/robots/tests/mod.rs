//! Tests of the rules against RFC 9309, Google's published cases, the `robotstxt` crate and
//! garbage.

mod crate_defects;
mod google;
mod google_documentation;
mod properties;
mod rfc9309;

use super::Rules;
use std::sync::Arc;

/// Returns the decision about a path for `agent`.
fn allowed(robots: &str, agent: &str, path: &str) -> bool {
    Rules::parse(robots.as_bytes(), agent).allows(path)
}

/// Checks each `(agent, path, allowed)` against one file.
fn check(robots: &str, cases: &[(&str, &str, bool)]) {
    for &(agent, path, expected) in cases {
        let decision = Rules::parse(robots.as_bytes(), agent).decide(path);
        assert_eq!(decision.allowed, expected, "{agent} at {path} of\n{robots}\n{decision:?}");
        assert_eq!(allowed(robots, agent, path), expected);
    }
}

#[test]
fn all_that_have_no_rules_share_one_that_allows_everything() {
    let shared = |text: &str| Rules::parse(text.as_bytes(), "x").without_sitemaps().shared();
    let missing = Rules::allow_all().shared();
    for text in ["", "User-agent: *\nDisallow:\n", "User-agent: y\nDisallow: /\n", "Sitemap: /s"] {
        assert!(Arc::ptr_eq(&shared(text), &missing), "{text:?}");
    }
    // Rules with a line or a delay are not shared, even if they allow everything: decisions name
    // the rule.
    for text in
        ["User-agent: *\nDisallow: /a", "User-agent: *\nAllow: /", "User-agent: x\nCrawl-delay: 3"]
    {
        assert!(!Arc::ptr_eq(&shared(text), &missing), "{text:?}");
        assert_eq!(*shared(text), Rules::parse(text.as_bytes(), "x"));
    }
    assert_ne!(*Rules::disallow_all().shared(), *missing);
}
