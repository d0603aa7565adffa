//! Rules against RFC 9309, Google's published cases, the `robotstxt` crate and garbage.

mod crate_defects;
mod google;
mod google_documentation;
mod properties;
mod rfc9309;

use super::Rules;

/// Asks about a path for `agent`.
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
