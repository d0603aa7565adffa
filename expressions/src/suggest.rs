//! Suggestions for misspelt names.

use strsim::levenshtein;

/// Returns the name in `known` that `typed` probably means, if one is close enough. The right last
/// part with a wrong first part is close: `url.depth` means `link.depth`.
#[must_use]
pub fn nearest<'a>(typed: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let typed = typed.to_ascii_lowercase();
    let last = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    let score = |name: &str| {
        let name = name.to_ascii_lowercase();
        levenshtein(&typed, &name).min(levenshtein(&last(&typed), &last(&name)) + 1)
    };
    let (score, name) = known.map(|name| (score(name), name)).min()?;
    (score <= 1 + typed.len() / 5).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognized_and_nonsense_is_not() {
        let known = ["url.host", "url.path", "link.depth", "startsWith"];
        for (typed, wanted) in [
            ("url.hosd", Some("url.host")),
            ("URL.Host", Some("url.host")),
            ("host", Some("url.host")),
            ("url.depth", Some("link.depth")),
            ("startswith", Some("startsWith")),
            ("nonsense", None),
            ("", None),
        ] {
            assert_eq!(nearest(typed, known.into_iter()), wanted, "{typed}");
        }
        assert_eq!(nearest("a", [].into_iter()), None);
    }
}
