//! The choice between two statements.

/// Returns the more restrictive of two values, of which `true` permits and `None` is unknown.
pub(super) const fn stricter(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), _) | (_, Some(true)) => Some(true),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stricter_value_wins() {
        let [yes, no] = [Some(true), Some(false)];
        for (a, b, wanted) in [
            (None, None, None),
            (yes, None, yes),
            (None, no, no),
            (yes, no, no),
            (no, yes, no),
            (yes, yes, yes),
        ] {
            assert_eq!(stricter(a, b), wanted, "{a:?} {b:?}");
        }
    }
}
