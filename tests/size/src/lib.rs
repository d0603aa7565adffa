//! The size at which tests run. `CRIVELLO_TEST_SIZE` is `small` (the default) or `full`. Both check
//! the same promises, with more schedules, kills, URLs and hosts at full size. `docs/testing.md`
//! lists them.

use std::sync::OnceLock;

/// Name of the environment variable.
const VARIABLE: &str = "CRIVELLO_TEST_SIZE";

/// Returns `small` or `full`, depending on `CRIVELLO_TEST_SIZE`.
///
/// # Panics
/// Panics if the variable is set to anything else.
#[must_use]
pub fn sized<T>(small: T, full: T) -> T {
    static IS_FULL: OnceLock<bool> = OnceLock::new();
    let is_full = IS_FULL.get_or_init(|| {
        let size = std::env::var(VARIABLE).unwrap_or_default();
        is_full(&size).unwrap_or_else(|| panic!("{VARIABLE}={size}: neither small nor full"))
    });
    if *is_full { full } else { small }
}

fn is_full(size: &str) -> Option<bool> {
    match size {
        "" | "small" => Some(false),
        "full" => Some(true),
        _ => None,
    }
}

#[test]
fn sizes_are_read() {
    assert_eq!(
        ["", "small", "full", "Full"].map(is_full),
        [Some(false), Some(false), Some(true), None]
    );
}
