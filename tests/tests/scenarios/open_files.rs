//! Limit of open files: it neither breaks a crawl nor silently limits it. The crawler raises it as
//! far as the system allows. If that is not enough, fewer visits run at once, and one log line
//! reports that.

use crivello_tests::{Ended, Scene};
use simweb::{JudgeLimits, Pace, SeedChoice, Spec};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Crawls sixty slow hosts after these `ulimit` commands.
fn crawl_under(ulimits: &str) -> (Scene, Ended) {
    let spec = Spec::new(1).size(60, 1, 3).ips(0).latency_ms(100, 100).seeds(SeedChoice::Hosts);
    let scene = Scene::new(spec).delays("50ms", "10ms").allow_log_line("fetch.visits-max");
    let plain = scene.command();
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("{ulimits} && exec \"$@\""), "sh"])
        .arg(plain.get_program())
        .args(plain.get_args())
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    let ended = scene.end(scene.start_as(command)).succeeded();
    let pace = Pace::delays(Duration::from_millis(50), Duration::from_millis(10));
    scene.assert_clean(&scene.judge(JudgeLimits::default(), pace));
    (scene, ended)
}

#[test]
fn a_soft_limit_is_raised() {
    let (_, ended) = crawl_under("ulimit -Sn 64");
    assert!(!ended.stderr.contains("fetch.visits-max"), "{}", ended.stderr);
}

#[test]
fn under_a_hard_limit_fewer_visits_happen_at_once_and_one_line_says_so() {
    let (_, ended) = crawl_under("ulimit -n 916");
    let said = ended.stderr.matches("fetch.visits-max is 10 in this run, not 1000").count();
    assert_eq!(said, 1, "{}", ended.stderr);
    assert_eq!(ended.report["errors"], serde_json::json!({}), "{}", ended.report);
}
