//! The identity of URLs depends on a secret key of the crawl, which each crawl draws, which only its
//! own nodes have, and which nothing shows.
//!
//! Possible failures: two crawls have one key; other users can read it; a log, a status, a metric, an
//! explanation or a report shows it; an agent with another key takes part, so that its rows mean
//! other URLs; a lost key is silently replaced, so that all pages are fetched again; a copy does
//! not repair the loss.

use crivello_common::identity::{IDENTITY_KEY_FILE, IdentityKey};
use crivello_tests::cluster::{COORDINATOR, Process};
use crivello_tests::metrics::get;
use crivello_tests::{Cluster, DEADLINE, Scene, binary, metrics_address, output, seed};
use simweb::{JudgeLimits, Pace, Spec};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const DELAY: Duration = Duration::from_millis(20);
const IP_DELAY: Duration = Duration::from_millis(5);

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("the file exists").permissions().mode() & 0o777
}

/// Returns the key in a directory, in hexadecimal digits.
fn key_in(dir: &Path) -> String {
    let text = fs::read_to_string(dir.join(IDENTITY_KEY_FILE)).expect("the key is there");
    let line = text.lines().find_map(|line| line.strip_prefix("key "));
    let key = line.expect("a line with the key").to_owned();
    assert_eq!(key.len(), 32, "{text}");
    key
}

/// Asserts that a text shows the key neither in digits nor as a list of bytes.
fn assert_hidden(key: &str, what: &str, text: &str) {
    let bytes = (0..key.len()).step_by(2).map(|at| u8::from_str_radix(&key[at..at + 2], 16));
    let bytes: Vec<u8> = bytes.collect::<Result<_, _>>().expect("hexadecimal digits");
    let list = format!("{:?}", &bytes[..6]);
    for shown in [key.to_owned(), key.to_uppercase(), list[1..list.len() - 1].to_owned()] {
        assert!(!text.contains(&shown), "{what} shows the key: {text}");
    }
}

fn small_web() -> Spec {
    Spec::new(seed()).size(4, 1, 5).latency_ms(0, 5)
}

#[test]
fn each_crawl_has_a_key_of_its_own_and_goes_on_with_no_other() {
    let scenes =
        [1, 2].map(|_| Scene::new(small_web()).delays("20ms", "5ms").set("telemetry.trace-rate=1"));
    let keys = scenes.each_ref().map(|scene| {
        let mut command = scene.command();
        command.env("RUST_LOG", "crivello=trace");
        let ended = scene.end(scene.start_as(command)).succeeded();
        let key = key_in(&scene.out());
        assert_hidden(&key, "the log", &ended.stderr);
        assert_hidden(&key, "the report", &ended.report.to_string());
        assert_eq!(mode(&scene.out().join(IDENTITY_KEY_FILE)), 0o600);
        for inner in ["", "state", "warc"] {
            assert_eq!(mode(&scene.out().join(inner)), 0o700, "{inner:?}");
        }
        scene.assert_clean(&scene.judge(JudgeLimits::default(), Pace::delays(DELAY, IP_DELAY)));
        key
    });
    assert_ne!(keys[0], keys[1], "two crawls have one key");

    let (ours, theirs) = (scenes[0].out(), scenes[1].out());
    let seed = scenes[0].web.seeds()[0].clone();
    let why = || {
        let explained =
            output(Command::new(binary()).arg("why").arg(&seed).arg("--out").arg(&ours));
        let said = [explained.stdout, explained.stderr].concat();
        (explained.status.success(), String::from_utf8_lossy(&said).into_owned())
    };
    let (found, said) = why();
    assert!(found && said.contains("fetched"), "{said}");
    assert_hidden(&keys[0], "the explanation", &said);

    let n_requests = scenes[0].web.log().len();
    let path = ours.join(IDENTITY_KEY_FILE);
    let whole = fs::read(&path).expect("read");
    let refuse = |problem: &str| {
        let ended = scenes[0].end(scenes[0].start());
        assert!(ended.code.is_some_and(|code| code != 0), "{problem}: the crawl went on");
        assert!(ended.stderr.contains(problem), "{problem}: {}", ended.stderr);
        assert_hidden(&keys[0], "the error", &ended.stderr);
        let (found, said) = why();
        assert!(!found && said.contains(problem), "{problem}: {said}");
    };
    fs::remove_file(&path).expect("removed");
    refuse("identity.key is missing");
    fs::write(&path, &whole[..whole.len() / 2]).expect("written");
    refuse("identity.key is damaged");
    fs::copy(theirs.join(IDENTITY_KEY_FILE), &path).expect("copied");
    refuse("is the key of crawl");
    fs::write(&path, &whole).expect("written");
    let _ = scenes[0].crawl().succeeded();
    assert_eq!(scenes[0].web.log().len(), n_requests, "pages were fetched again");
}

/// Starts `name` as a member of the cluster with its directory, although it will be refused.
fn start_refused(cluster: &Cluster, name: &str) -> Process {
    let mut command = Command::new(binary());
    command.args(["agent", "--listen=127.0.0.1:0", "--coordinator", &cluster.url()]);
    command.args(["--name", name, "--data"]).arg(cluster.disk(name)).env("NO_COLOR", "1");
    Process::start(&mut command, cluster.dir().join(format!("{name}-refused.txt")), DEADLINE)
}

#[test]
fn the_nodes_of_a_cluster_have_one_key_and_none_takes_part_with_another() {
    let web = Spec::new(seed()).size(16, 1, 8).latency_ms(0, 10);
    let mut cluster = Cluster::new(web)
        .delays(Duration::from_millis(100), Duration::from_millis(20))
        .set("cluster.lease=15s")
        .with(&["--http", "127.0.0.1:0"])
        .env("RUST_LOG", "crivello=debug")
        .start(2);
    let key = key_in(&cluster.disk(COORDINATOR));
    for name in [COORDINATOR, "a", "b"] {
        let disk = cluster.disk(name);
        assert_eq!(key_in(&disk), key, "{name}");
        assert_eq!((mode(&disk.join(IDENTITY_KEY_FILE)), mode(&disk)), (0o600, 0o700), "{name}");
    }
    cluster.seed();
    cluster.wait_for_share(0.2);
    assert_hidden(&key, "the status", &cluster.run_ok(&["status", "--json"]));
    assert_hidden(&key, "the list of agents", &cluster.run_ok(&["agents", "--json"]));
    let page = cluster.web.seeds()[0].clone();
    assert_hidden(&key, "the explanation", &cluster.run_ok(&["why", &page, "--json"]));
    let said = cluster.process("a").log();
    let (_, metrics) = get(metrics_address(&said).expect("metrics are served"), "/metrics");
    assert_hidden(&key, "the metrics", &metrics);

    // An agent whose key is not that of the crawl is refused, whatever its directory says.
    cluster.process("b").signal(rustix::process::Signal::INT);
    let _ = cluster.end("b");
    let path = cluster.disk("b").join(IDENTITY_KEY_FILE);
    let text = fs::read_to_string(&path).expect("read");
    let crawl_id = text.lines().find_map(|line| line.strip_prefix("crawl ")).expect("an id");
    let other = IdentityKey::draw().expect("random numbers");
    other.write(&cluster.disk("b"), crawl_id).expect("written");
    let mut refused = start_refused(&cluster, "b");
    cluster.until("the agent with another key has ended", |_| refused.has_ended());
    assert!(refused.log().contains("another identity key"), "{}", refused.log());
    assert!(!refused.wait().status.success());
    fs::remove_file(&path).expect("removed");
    let mut refused = start_refused(&cluster, "b");
    cluster.until("the agent without a key has ended", |_| refused.has_ended());
    assert!(refused.log().contains("identity.key is missing"), "{}", refused.log());
    let _ = refused.wait();

    // A copy from any other node repairs the loss, also that of the coordinator.
    fs::copy(cluster.disk("a").join(IDENTITY_KEY_FILE), &path).expect("copied");
    cluster.launch("b");
    cluster.wait_for_state("b", "active");
    cluster.kill9(COORDINATOR);
    let lost = cluster.disk(COORDINATOR).join(IDENTITY_KEY_FILE);
    fs::remove_file(&lost).expect("removed");
    let mut command = Command::new(binary());
    command.args(["coordinator", "--listen", "127.0.0.1:0", "--no-http", "--data"]);
    let refused = output(command.arg(cluster.disk(COORDINATOR)));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("identity.key is missing"), "{said}");
    fs::copy(&path, &lost).expect("copied");
    cluster.start_coordinator();
    cluster.finish(0);
    for name in [COORDINATOR, "a", "b"] {
        assert_hidden(&key, &format!("{name}'s log"), &cluster.log_of(name));
    }
}
