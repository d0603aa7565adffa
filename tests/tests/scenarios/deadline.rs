//! Deadlines of scenarios: a scenario that hangs ends and reports the state of the crawl, and one
//! that fails leaves no crawl running.

use crivello_tests::{Scene, output};
use simweb::Spec;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::time::Duration;

/// Returns a crawl that would take hours.
fn endless() -> Scene {
    Scene::new(Spec::new(1).size(2, 1, 3)).delays("1h", "0s")
}

#[test]
fn a_crawl_that_is_overdue_is_stopped_and_says_what_it_was_doing() {
    let scene = endless().within(Duration::from_secs(2));
    let failed =
        catch_unwind(AssertUnwindSafe(|| scene.crawl())).expect_err("the crawl is stopped");
    let said = failed.downcast_ref::<String>().expect("a message");
    for words in ["had not ended after 2s", "2 requests", "queued", "\"ended\":\"stopped\""] {
        assert!(said.contains(words), "no {words:?} in {said}");
    }
}

#[test]
fn a_crawl_whose_scenario_is_over_does_not_go_on() {
    let scene = endless();
    let child = scene.start();
    let process = format!("/proc/{}/exe", child.id());
    assert!(std::fs::read_link(&process).is_ok(), "the crawler is not running");
    drop(child);
    assert!(std::fs::read_link(&process).is_err(), "the crawler still runs");
}

#[test]
fn program_output_is_captured() {
    let said = output(Command::new("sh").args(["-c", "echo out; echo err >&2; exit 3"]));
    assert_eq!(said.status.code(), Some(3));
    assert_eq!((&said.stdout[..], &said.stderr[..]), (&b"out\n"[..], &b"err\n"[..]));
}
