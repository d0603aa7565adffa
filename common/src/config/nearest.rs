//! What was probably meant.

/// The one of `known` that is nearest to `typed`, if any is near. A dot separates section and key:
/// the right key in a wrong section is near.
pub(super) fn nearest<'a>(typed: &str, known: &'a [String]) -> Option<&'a str> {
    let typed = typed.to_ascii_lowercase().replace('_', "-");
    let score = |name: &str| {
        let last = |text: &str| text.rsplit('.').next().unwrap_or_default().to_owned();
        distance(&typed, name).min(distance(&last(&typed), &last(name)) + 1)
    };
    let (score, name) = known.iter().map(|name| (score(name), name)).min()?;
    (score <= 1 + typed.len() / 5).then_some(name.as_str())
}

/// Levenshtein's.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (a, b, wanted) in
            [("", "abc", 3), ("abc", "", 3), ("kitten", "sitting", 3), ("a", "a", 0)]
        {
            assert_eq!(distance(a, b), wanted, "{a} {b}");
        }
    }

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
            assert_eq!(nearest(typed, &known), wanted, "{typed}");
        }
    }
}
