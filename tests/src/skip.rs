//! Tests that need something of the machine: root, PyPI.

use std::io::Write;

/// Says that a test cannot run here. Where `CRIVELLO_TEST_NO_SKIP` is set, that is a failure.
///
/// # Panics
/// There.
pub fn skipped(why: &str) {
    assert!(std::env::var_os("CRIVELLO_TEST_NO_SKIP").is_none(), "may not be skipped: {why}");
    say(why);
}

/// The same, but no failure where the variable `allowed_by` is set: whoever runs the tests has said
/// already what cannot be had.
///
/// # Panics
/// As [`skipped`].
pub fn skipped_unless_allowed(allowed_by: &str, why: &str) {
    if std::env::var_os(allowed_by).is_some() { say(why) } else { skipped(why) }
}

/// Past the harness, which keeps the words of tests that pass to itself.
fn say(why: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}
