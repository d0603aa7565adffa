//! Goal: `crivello why` tells the truth about a host and a URL of a running cluster: whose it is,
//! what it waits for and by which rule, and what became of a page, down to its record.
//!
//! What could go wrong: a rule that is named and did not set the time; a page that is said to be
//! queued and is archived, or to be in a file where another one is; an owner that is gone and
//! nobody says so; garbage that is taken for a host; a directory read while a crawl writes it.

use crivello_tests::{Cluster, Scene, binary, output, seed, warc};
use serde_json::Value;
use simweb::{Character, Manner, RetryAfter, Robots, Spec};
use std::process::Command;
use std::time::Duration;

const DELAY: Duration = Duration::from_secs(8);
const IP_DELAY: Duration = Duration::from_millis(40);
/// What `crivello why` ends with when nobody knows of it,
const UNKNOWN: Option<i32> = Some(1);
/// and when it is no question.
const USAGE: Option<i32> = Some(64);

/// Hosts of every kind that waits, each with an address of its own.
fn web() -> Spec {
    let careful = Robots::rules(&[(false, "/private/")], Some(30.0));
    let busy =
        Manner::SlowDown { code: 429, retry_after: RetryAfter::Seconds(120), refusals: u32::MAX };
    let refused = Character { port: Some(9), ..Character::named("refused") };
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
}

/// What `why --json` says; the story of the agent that tells it.
fn why(cluster: &Cluster, about: &str) -> (Value, Value) {
    let (code, said, trouble) = cluster.ask(&["why", "--json", about]);
    assert!(matches!(code, Some(0 | 1)), "{about}: {code:?} {trouble}");
    let all: Value = serde_json::from_str(&said).expect("JSON");
    let told = all["agents"].as_array().expect("agents").iter();
    let told = told.clone().find(|agent| agent["agent"] == all["told_by"]).cloned();
    (all.clone(), told.unwrap_or_default())
}

/// Asks until the host waits for this.
fn until_it_waits_for(cluster: &mut Cluster, host: &str, reason: &str, part: &str) -> Value {
    let mut told = Value::Null;
    cluster.until(&format!("{host}: {reason}, {part}"), |cluster| {
        told = why(cluster, host).1["host"].clone();
        told["reason"] == reason && told["detail"].as_str().is_some_and(|d| d.contains(part))
    });
    told
}

fn url(cluster: &Cluster, host: &str, path: &str) -> String {
    format!("http://{host}:{}{path}", cluster.web.port())
}

/// Seconds from the agent's clock to the host's next time.
fn left(told: &Value, now: &Value) -> f64 {
    (told["next_us"].as_f64().expect("a time") - now.as_f64().expect("a time")) / 1e6
}

#[test]
fn each_host_that_waits_says_which_rule_it_waits_by() {
    let mut cluster = cluster().start(2);
    cluster.seed();
    let told = until_it_waits_for(&mut cluster, "plain.test", "rule", "(politeness.delay)");
    assert!(
        told["detail"].as_str().is_some_and(|d| d.starts_with("the delay of 8 s after")),
        "{told}"
    );
    assert_eq!((&told["in_memory"], &told["known"]), (&true.into(), &true.into()));
    let careful = "Crawl-delay: its robots.txt asks for 30 s";
    let told = until_it_waits_for(&mut cluster, "careful.test", "rule", careful);
    assert_eq!(told["robots"][0]["crawl_delay_ms"], 30_000, "{told}");
    let told = until_it_waits_for(&mut cluster, "busy.test", "rule", "Retry-After, once in a row");
    assert_eq!(told["failures"]["slow-down"], 1, "{told}");
    assert_eq!(told["fetches"][0]["failure"], "slow-down", "{told}");
    let now = why(&cluster, "busy.test").1["now_us"].clone();
    assert!((60.0..=120.0).contains(&left(&told, &now)), "{told}");
    let refused = "out of reach, once in a row (connect-refused)";
    let told = until_it_waits_for(&mut cluster, "refused.test", "rule", refused);
    assert_eq!(told["fetches"][0]["failure"], "connect-refused", "{told}");
    assert!(told["address"].as_str().is_some_and(|at| at.starts_with("127.")), "{told}");
    cluster.tell(&["pause"]);
    until_it_waits_for(&mut cluster, "plain.test", "paused", "crivello resume");
    let said = cluster.tell(&["why", "plain.test"]);
    assert!(said.contains("next     the crawl is paused;"), "{said}");
    assert!(said.contains(", 1 copy at "), "{said}");
    let _ = cluster.stop();
}

#[test]
fn each_url_says_what_became_of_it() {
    let mut cluster = cluster().start(2);
    let private = url(&cluster, "careful.test", "/private/x");
    cluster.seed();
    cluster.tell(&["seed", &private]);

    let first = url(&cluster, "plain.test", "/");
    cluster.until("the first page is archived", |c| why(c, &first).1["url"]["fate"] == "fetched");
    let (all, told) = why(&cluster, &first);
    let story = &told["url"];
    assert_eq!((&story["status"], &story["depth"]), (&200.into(), &0.into()), "{story}");
    let by = all["agents"].as_array().expect("agents").iter();
    let by = by.clone().find(|a| a["agent"] == story["archived_by"]).expect("who archived it");
    let file = story["file"].as_str().filter(|file| !file.is_empty());
    let file = file.or(all["archive_file"].as_str()).expect("a file");
    let path = cluster.disk(by["name"].as_str().expect("a name")).join("warc").join(file);
    let record = warc::read_at(&path, story["offset"].as_u64().expect("an offset"));
    assert_eq!((record.kind(), record.url(), record.status()), ("response", &*first, 200));

    let next = cluster.due().iter().find(|u| u.contains("plain.test") && **u != first).cloned();
    let next = next.expect("the host has more pages");
    let queued = |story: &Value| {
        let counted = story["ahead"].as_u64().is_some_and(|n| n < 12);
        story["fate"] == "queued" && story["depth"].as_u64() > Some(0) && counted
    };
    cluster.until("a link of it waits", |c| {
        let story = why(c, &next).1["url"].clone();
        queued(&story) || story["fate"] == "fetched"
    });

    cluster.until("robots.txt is asked", |c| why(c, &private).1["url"]["fate"] == "discarded");
    let story = why(&cluster, &private).1["url"].clone();
    assert_eq!(story["reason"], "robots", "{story}");
    let meaning = story["meaning"].as_str().expect("words");
    assert!(meaning.ends_with("Disallow: /private/"), "{meaning}");

    let (all, told) = why(&cluster, "http://stranger.test/x");
    assert_eq!((&all["known"], &told["url"]["fate"]), (&false.into(), &"unknown".into()));
    assert_eq!(told["host"]["reason"], "unknown-host");
    let story = why(&cluster, &url(&cluster, "plain.test", "/never/x")).1["url"].clone();
    assert_eq!((&story["fate"], &story["reason"]), (&"not-let-in".into(), &"out-of-scope".into()));
    let meaning = story["meaning"].as_str().expect("words");
    assert!(
        meaning.contains("rule 1 of links.exclude is met: path-prefix \"/never\""),
        "{meaning}"
    );
    let _ = cluster.stop();
}

#[test]
fn what_is_no_question_is_refused_and_what_is_not_known_has_a_code_of_its_own() {
    let mut cluster = cluster().start(1);
    for garbage in ["plain.test/x", "", "ftp://plain.test/", "two words", "\u{1b}[2J", "a..test"] {
        let (code, said, trouble) = cluster.ask(&["why", garbage]);
        assert_eq!((code, &*said), (USAGE, ""), "{garbage:?}: {trouble}");
        assert_eq!(trouble.lines().count(), 1, "{trouble}");
        assert!(!trouble.contains('\u{1b}'), "{trouble:?}");
    }
    let (code, said, _) = cluster.ask(&["why", "http://stranger.test/"]);
    assert_eq!(code, UNKNOWN, "{said}");
    assert!(said.contains("never seen; it would be let in"), "{said}");
    let _ = cluster.stop();
}

#[test]
fn an_owner_that_is_gone_is_named_and_the_copy_tells_what_it_knows() {
    // Long enough that nobody takes over.
    let mut cluster = cluster().set("cluster.lease=60s").start(2);
    cluster.seed();
    until_it_waits_for(&mut cluster, "plain.test", "rule", "politeness.delay");
    // Until the other has all that the owner knows.
    cluster.until("a copy is there", |c| {
        let (all, told) = why(c, "plain.test");
        let others = all["agents"].as_array().expect("agents").iter();
        let copy = others.clone().find(|a| a["hold"] == "copy").cloned().unwrap_or_default();
        copy["host"]["queued"] == told["host"]["queued"]
            && copy["host"]["queued"].as_u64() > Some(0)
    });
    let owner = why(&cluster, "plain.test").1["name"].as_str().expect("a name").to_owned();
    cluster.kill9(&owner);
    let said = cluster.tell(&["why", "plain.test"]);
    let line = said.lines().nth(1).unwrap_or_default();
    assert!(
        line.contains(&format!("agent {owner} (id ")) && line.contains("cannot be reached"),
        "{said}"
    );
    assert!(line.contains("this is what the copy at agent"), "{said}");
    assert!(said.contains(" queued, "), "{said}");
}

#[test]
fn the_directory_of_a_crawl_is_read_when_it_is_not_running() {
    let ask = |out: &std::path::Path, about: &str| {
        let mut command = Command::new(binary());
        command.args(["why", "--out"]).arg(out).arg(about).env("NO_COLOR", "1");
        let output = output(&mut command);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let scene = Scene::new(Spec::new(seed()).size(2, 1, 6).ips(0)).delays("300ms", "20ms");
    let (code, _, trouble) = ask(&scene.out(), "h0.site0.test");
    assert_eq!(code, USAGE, "{trouble}");
    assert!(trouble.contains("holds no crawl"), "{trouble}");
    let mut running = scene.start();
    scene.wait_for_requests(&mut running, 3);
    let (code, _, trouble) = ask(&scene.out(), "h0.site0.test");
    assert_eq!(code, USAGE, "{trouble}");
    assert!(trouble.contains("is running"), "{trouble}");
    let ended = scene.end(running);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let before = scene.web.log().len();
    let first = scene.web.seeds()[0].clone();
    let (code, said, trouble) = ask(&scene.out(), &first);
    assert_eq!(code, Some(0), "{said}{trouble}");
    let archive =
        said.lines().find(|line| line.trim_start().starts_with("archive")).expect("where");
    let place = archive.trim_start().trim_start_matches("archive").trim();
    let (file, offset) = place.split_once(", offset ").expect("a place");
    let record = warc::read_at(&scene.out().join(file), offset.parse().expect("a number"));
    assert_eq!((record.url(), record.status()), (&*first, 200));
    assert!(said.contains("nothing is queued; 6 pages fetched"), "{said}");
    assert_eq!(ask(&scene.out(), "http://stranger.test/").0, UNKNOWN);
    assert_eq!(scene.web.log().len(), before, "nothing was fetched");
}
