//! Suggestions for misspelt names of settings.

use crivello_expressions::nearest;

/// Returns the name in `known` that `typed` probably means, if one is close enough; see [`nearest`].
/// Underscores count as hyphens.
pub(super) fn suggest<'a>(typed: &str, known: &'a [String]) -> Option<&'a str> {
    nearest(&typed.replace('_', "-"), known.iter().map(String::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognized_and_nonsense_is_not() {
        let known =
            ["politeness.delay", "politeness.ip-delay", "fetch.keep-alive"].map(str::to_owned);
        for (typed, wanted) in [
            ("politeness.dealy", Some("politeness.delay")),
            ("politeness.ip_delay", Some("politeness.ip-delay")),
            ("Politeness.Delay", Some("politeness.delay")),
            ("delay", Some("politeness.delay")),
            ("politeness.keep-alive", Some("fetch.keep-alive")),
            ("fetch.nonsense", None),
            ("", None),
        ] {
            assert_eq!(suggest(typed, &known), wanted, "{typed}");
        }
    }
}
