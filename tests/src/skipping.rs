//! Tests that need something of the machine: root, PyPI.

use std::io::Write;

/// Says that a test cannot run here. Where `CRIVELLO_TEST_NO_SKIP` is set, that is a failure.
///
/// # Panics
/// There.
pub fn skipped(why: &str) {
    assert!(std::env::var_os("CRIVELLO_TEST_NO_SKIP").is_none(), "may not be skipped: {why}");
    // Past the harness, which keeps the words of tests that pass to itself.
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}
