//! Suggestions for misspelt names of settings.

use strsim::levenshtein;

/// Returns the name in `known` that `typed` probably means, if one is close enough. A dot separates
/// section and key: the right key in a wrong section is close.
pub(super) fn suggest<'a>(typed: &str, known: &'a [String]) -> Option<&'a str> {
    let typed = typed.to_ascii_lowercase().replace('_', "-");
    let score = |name: &str| {
        let last = |text: &str| text.rsplit('.').next().unwrap_or_default().to_owned();
        levenshtein(&typed, name).min(levenshtein(&last(&typed), &last(name)) + 1)
    };
    let (score, name) = known.iter().map(|name| (score(name), name)).min()?;
    (score <= 1 + typed.len() / 5).then_some(name.as_str())
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
