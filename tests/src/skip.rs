//! Skipping of tests that need something of the machine, such as root or PyPI.

use std::io::Write;

/// Reports that a test cannot run here.
///
/// # Panics
/// Panics if `CRIVELLO_TEST_NO_SKIP` is set.
pub fn skipped(why: &str) {
    assert!(
        std::env::var_os("CRIVELLO_TEST_NO_SKIP").is_none(),
        "this test must not be skipped: {why}"
    );
    say(why);
}

/// Reports that a test cannot run here, without a failure if the variable `allowed_by` is set: the
/// person who runs the tests knows already what is missing.
///
/// # Panics
/// Panics like [`skipped`], unless the variable is set.
pub fn skipped_unless_allowed(allowed_by: &str, why: &str) {
    if std::env::var_os(allowed_by).is_some() { say(why) } else { skipped(why) }
}

/// Writes to standard error directly, because the test harness hides the output of passing tests.
fn say(why: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}
