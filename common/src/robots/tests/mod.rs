//! Tests of the rules against RFC 9309, Google's published cases, the `robotstxt` crate and
//! garbage.

mod crate_defects;
mod google;
mod google_documentation;
mod properties;
mod rfc9309;
mod signals;

use super::{FOREIGN_SITEMAPS_MAX, Rules};
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
    let shared =
        |text: &str| Rules::parse(text.as_bytes(), "x").with_foreign_sitemaps("a.test").shared();
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

#[test]
fn sitemaps_of_other_hosts_are_kept_with_the_rules() {
    let kept = |text: &str| {
        let rules = Rules::parse(text.as_bytes(), "x").with_foreign_sitemaps("www.a.test");
        let stored = Rules::from_bytes(&rules.to_bytes()).unwrap();
        assert_eq!(stored, rules);
        rules.sitemaps().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let file = "Sitemap: https://www.a.test/own.xml\nSitemap: HTTPS://WWW.A.test:443/own.xml\n\
        User-agent: *\nSitemap: http://maps.b.test/a.xml?x&y\nSitemap: /relative.xml\nDisallow: /no\n\
        Sitemap: https://a.test/s.xml\nSitemap: ftp://b.test/s.xml\nSitemap: no url\n";
    assert_eq!(kept(file), ["http://maps.b.test/a.xml?x&y", "https://a.test/s.xml"]);
    let many: String = (0..100).map(|n| format!("Sitemap: http://b.test/{n}\n")).collect();
    assert_eq!(kept(&many).len(), FOREIGN_SITEMAPS_MAX);
    let long = format!("Sitemap: http://b.test/{}\nSitemap: http://b.test/\n", "x".repeat(2_048));
    assert_eq!(kept(&long), ["http://b.test/"]);
    let own = format!("{}Sitemap: http://b.test/\n", "Sitemap: http://www.a.test/\n".repeat(1_000));
    assert!(kept(&own).is_empty());
}
