//! Answers of `crivello why` about a host and a URL of a running cluster: the agent that has it,
//! what it waits for and by which rule, and what happened to a page, down to its record.
//!
//! Possible failures: the named rule did not set the time; a page is reported as queued although it
//! is archived, or in a file that has another page there; an owner is gone and the output does not
//! report it; invalid input is taken for a host; a directory is read while a crawl writes to it.

use crivello_tests::{Cluster, Scene, binary, output, seed, warc};
use serde_json::Value;
use simweb::{Character, Manner, RetryAfter, Robots, Spec};
use std::process::Command;
use std::time::Duration;

const DELAY: Duration = Duration::from_secs(8);
const IP_DELAY: Duration = Duration::from_millis(40);
/// Exit code of `crivello why` if no agent knows the subject.
const UNKNOWN: Option<i32> = Some(1);
/// Exit code if the subject is neither a host nor a URL.
const USAGE: Option<i32> = Some(64);

/// Returns a web with hosts that wait for different reasons, each at its own address.
fn web() -> Spec {
    let careful = Robots::rules(&[(false, "/private/")], Some(30.0));
    let busy =
        Manner::SlowDown { code: 429, retry_after: RetryAfter::Seconds(120), refusals: u32::MAX };
    let refused = Character { port: Some(2), ..Character::named("refused") };
    Spec::new(seed())
        .size(0, 1, 0)
        .ips(0)
        .host("plain.test", Character::named("plain").pages(12))
        .host("careful.test", Character::named("careful").robots(careful).pages(6))
        .host("busy.test", Character::named("busy").manner(busy).pages(3))
        .host("refused.test", refused.pages(3))
}

fn cluster() -> Cluster {
    Cluster::new(web())
        .delays(DELAY, IP_DELAY)
        .set("state.commit-interval=50ms")
        .set("links.exclude=[{ path-prefix = \"/never\" }]")
        .set("links.drop-parameters=ref")
}

/// Returns the output of `why --json`, and the authoritative answer in it.
fn why(cluster: &Cluster, subject: &str) -> (Value, Value) {
    let (code, output, errors) = cluster.ask(&["why", "--json", subject]);
    assert!(matches!(code, Some(0 | 1)), "{subject}: {code:?} {errors}");
    let all: Value = serde_json::from_str(&output).expect("JSON");
    let source = agents(&all).iter().find(|agent| agent["id"] == all["source"]);
    let answer = source.map(|agent| agent["answer"].clone());
    (all, answer.unwrap_or_default())
}

fn agents(all: &Value) -> &Vec<Value> {
    all["agents"].as_array().expect("agents")
}

/// Waits until the host waits for this reason, with `part` in the sentence. Returns the host's
/// status.
fn until_it_waits_for(cluster: &mut Cluster, host: &str, reason: &str, part: &str) -> Value {
    let mut status = Value::Null;
    cluster.until(&format!("{host}: {reason}, {part}"), |cluster| {
        status = why(cluster, host).1["host"].clone();
        status["wait"]["reason"] == reason
            && cluster
                .run_ok(&["why", host])
                .lines()
                .any(|line| line.trim_start().starts_with("next") && line.contains(part))
    });
    status
}

fn url(cluster: &Cluster, host: &str, path: &str) -> String {
    format!("http://{host}:{}{path}", cluster.web.port())
}

/// Returns the seconds from the agent's clock to the next time of the host.
fn left(answer: &Value) -> f64 {
    let time = |value: &Value| -> jiff::Timestamp {
        value.as_str().expect("a time").parse().expect("RFC 3339")
    };
    let (now, next) = (time(&answer["now"]), time(&answer["host"]["wait"]["next"]));
    next.duration_since(now).as_secs_f64()
}

#[test]
fn each_waiting_host_is_explained_by_its_rule() {
    let mut cluster = cluster().start(2);
    cluster.seed();
    let delay = "the delay of 8 s after the last request (politeness.delay)";
    let host = until_it_waits_for(&mut cluster, "plain.test", "delay", delay);
    assert_eq!((&host["in_memory"], &host["on_disk"]), (&true.into(), &true.into()));
    let careful = "Crawl-delay: its robots.txt asks for 30 s";
    let host = until_it_waits_for(&mut cluster, "careful.test", "crawl-delay", careful);
    assert_eq!(host["robots"][0]["crawl_delay_ms"], 30_000, "{host}");
    let busy = "Retry-After, once in a row";
    let host = until_it_waits_for(&mut cluster, "busy.test", "retry-after", busy);
    assert_eq!(host["failures"]["slow-down"], 1, "{host}");
    assert_eq!(host["fetches"][0]["failure"], "slow-down", "{host}");
    let answer = why(&cluster, "busy.test").1;
    assert!((60.0..=120.0).contains(&left(&answer)), "{answer}");
    let refused = "unreachable, once in a row (connect-refused)";
    let host = until_it_waits_for(&mut cluster, "refused.test", "robots-unreachable", refused);
    assert_eq!(host["fetches"][0]["failure"], "connect-refused", "{host}");
    assert!(host["address"].as_str().is_some_and(|at| at.starts_with("127.")), "{host}");
    cluster.run_ok(&["pause"]);
    until_it_waits_for(&mut cluster, "plain.test", "crawl-paused", "crivello resume");
    let text = cluster.run_ok(&["why", "plain.test"]);
    assert!(text.contains("next     the crawl is paused;"), "{text}");
    assert!(text.contains(", 1 replica at "), "{text}");
    let _ = cluster.stop();
}

#[test]
fn each_url_is_explained_by_what_happened_to_it() {
    let mut cluster = cluster().start(2);
    let private = url(&cluster, "careful.test", "/private/x");
    cluster.seed();
    cluster.run_ok(&["seed", &private]);

    let first = url(&cluster, "plain.test", "/");
    cluster.until("the first page is archived", |c| why(c, &first).1["url"]["fate"] == "fetched");
    let (all, answer) = why(&cluster, &first);
    let page = &answer["url"];
    assert_eq!((&page["status"], &page["depth"]), (&200.into(), &0.into()), "{page}");
    let by = agents(&all).iter().find(|agent| agent["id"] == page["archived_by"]);
    let by = by.expect("the agent that archived the page")["name"].as_str().expect("a name");
    let file = all["file_name"].as_str().expect("a file");
    let path = cluster.disk(by).join("warc").join(file);
    let record = warc::read_at(&path, page["offset"].as_u64().expect("an offset"));
    assert_eq!((record.kind(), record.url(), record.status()), ("response", &*first, 200));

    let variant = format!("{first}?ref=x");
    let same = why(&cluster, &variant).1["url"].clone();
    assert_eq!((&same["url"], &same["fate"]), (&page["url"], &page["fate"]), "{same}");
    assert_eq!(same["rewritten_from"], *variant, "{same}");
    let text = cluster.run_ok(&["why", &variant]);
    assert!(text.contains(&format!("to {first} by links.rewrite or")), "{text}");

    let next = cluster.due().iter().find(|u| u.contains("plain.test") && **u != first).cloned();
    let next = next.expect("the host has more pages");
    let is_queued = |page: &Value| {
        let counted = page["ahead"].as_u64().is_some_and(|n| n < 12);
        page["fate"] == "queued" && page["depth"].as_u64() > Some(0) && counted
    };
    cluster.until("a link of the page is queued", |c| {
        let page = why(c, &next).1["url"].clone();
        is_queued(&page) || page["fate"] == "fetched"
    });

    cluster.until("robots.txt is fetched", |c| why(c, &private).1["url"]["fate"] == "discarded");
    let page = why(&cluster, &private).1["url"].clone();
    assert_eq!(page["discard"], "robots", "{page}");
    assert_eq!(page["rule"]["robots_rule"]["text"], "Disallow: /private/", "{page}");
    let text = cluster.run_ok(&["why", &private]);
    assert!(text.contains("Disallow: /private/ (robots)\n"), "{text}");

    let (all, answer) = why(&cluster, "http://stranger.test/x");
    assert_eq!((&all["known"], &answer["url"]["fate"]), (&false.into(), &"unknown".into()));
    assert_eq!(answer["host"]["wait"]["reason"], "unknown-host");
    let never = url(&cluster, "plain.test", "/never/x");
    let page = why(&cluster, &never).1["url"].clone();
    assert_eq!((&page["fate"], &page["discard"]), (&"rejected".into(), &"out-of-scope".into()));
    let text = cluster.run_ok(&["why", &never]);
    let rule = "rule 1 of links.exclude matches: path-prefix \"/never\"";
    assert!(text.contains(rule), "{text}");
    let _ = cluster.stop();
}

#[test]
fn garbage_is_rejected_and_the_unknown_has_an_exit_code_of_its_own() {
    let mut cluster = cluster().start(1);
    for garbage in ["plain.test/x", "", "ftp://plain.test/", "two words", "\u{1b}[2J", "a..test"] {
        let (code, output, error) = cluster.ask(&["why", garbage]);
        assert_eq!((code, &*output), (USAGE, ""), "{garbage:?}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
        assert!(!error.contains('\u{1b}'), "{error:?}");
    }
    let (code, text, _) = cluster.ask(&["why", "http://stranger.test/"]);
    assert_eq!(code, UNKNOWN, "{text}");
    assert!(text.contains("never seen; as a seed it would be accepted"), "{text}");
    let _ = cluster.stop();
}

#[test]
fn an_owner_that_is_gone_is_named_and_a_replica_explains_what_it_knows() {
    // No agent takes over before the lease ends.
    let mut cluster = cluster().set("cluster.lease=60s").start(2);
    cluster.seed();
    until_it_waits_for(&mut cluster, "plain.test", "delay", "politeness.delay");
    // Waits until the replica has all rows of the owner.
    cluster.until("a replica exists", |c| {
        let (all, answer) = why(c, "plain.test");
        let is_replica = |agent: &&Value| agent["answer"]["holding"] == "replica";
        let replica = agents(&all).iter().find(is_replica).cloned().unwrap_or_default();
        let queued = &replica["answer"]["host"]["queued"];
        *queued == answer["host"]["queued"] && queued.as_u64() > Some(0)
    });
    let (all, answer) = why(&cluster, "plain.test");
    let owner = agents(&all).iter().find(|agent| agent["id"] == answer["agent"]);
    let owner = owner.expect("the owner")["name"].as_str().expect("a name").to_owned();
    cluster.kill9(&owner);
    let text = cluster.run_ok(&["why", "plain.test"]);
    let line = text.lines().nth(1).unwrap_or_default();
    assert!(
        line.contains(&format!("agent {owner} (id ")) && line.contains("cannot be reached"),
        "{text}"
    );
    assert!(line.contains("this is what the replica at agent"), "{text}");
    assert!(text.contains(" queued, "), "{text}");
}

#[test]
fn the_directory_of_a_stopped_crawl_is_read() {
    let ask = |out: &std::path::Path, subject: &str| {
        let mut command = Command::new(binary());
        command.args(["why", "--out"]).arg(out).arg(subject).env("NO_COLOR", "1");
        let output = output(&mut command);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let scene = Scene::new(Spec::new(seed()).size(2, 1, 6).ips(0)).delays("300ms", "20ms");
    let (code, _, error) = ask(&scene.out(), "h0.site0.test");
    assert_eq!(code, USAGE, "{error}");
    assert!(error.contains("holds no crawl"), "{error}");
    let mut running = scene.start();
    scene.wait_for_requests(&mut running, 3);
    let (code, _, error) = ask(&scene.out(), "h0.site0.test");
    assert_eq!(code, USAGE, "{error}");
    assert!(error.contains("is running"), "{error}");
    let _ = scene.end(running).succeeded();
    let before = scene.web.log().len();
    let first = scene.web.seeds()[0].clone();
    let (code, text, error) = ask(&scene.out(), &first);
    assert_eq!(code, Some(0), "{text}{error}");
    let archive =
        text.lines().find(|line| line.trim_start().starts_with("archive")).expect("where");
    let place = archive.trim_start().trim_start_matches("archive").trim();
    let (file, offset) = place.split_once(", offset ").expect("a location");
    let record = warc::read_at(&scene.out().join(file), offset.parse().expect("a number"));
    assert_eq!((record.url(), record.status()), (&*first, 200));
    assert!(text.contains("nothing is queued; 6 pages fetched"), "{text}");
    assert_eq!(ask(&scene.out(), "http://stranger.test/").0, UNKNOWN);
    assert_eq!(scene.web.log().len(), before, "nothing was fetched");
}
