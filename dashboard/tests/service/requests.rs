//! Requests of users: the reply of each agent occurs once, and agents without a reply are named.

use super::scene::Scene;
use crivello_dashboard::{MetricsText, Options};
use fake_agent::FakeKind;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::time::timeout;

async fn two() -> Scene {
    let mut scene = Scene::start(Options::default()).await;
    assert_eq!(scene.join("holder", FakeKind::Holder).await, 1);
    assert_eq!(scene.join("owner", FakeKind::Owner).await, 2);
    scene.until(|cluster| cluster["totals"]["agents_answered"] == 2).await;
    scene
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cluster_is_added_up_and_what_happens_is_told() {
    let scene = two().await;
    let cluster = scene.until(|cluster| cluster["agents"][1]["memory_bytes"] == 1 << 20).await;
    assert_eq!((&cluster["totals"]["pages"], &cluster["run"]), (&200.into(), &"running".into()));
    let shares = [0, 1].map(|i| cluster["agents"][i]["share"].as_f64().expect("a share"));
    assert!((shares[0] + shares[1] - 1.0).abs() < 1e-9, "{shares:?}");
    let done = scene.post("/api/drain", r#"{"agent": "holder"}"#).await;
    assert_eq!(done.status, 200, "{done:?}");
    let cluster = scene.until(|cluster| cluster["agents"][0]["state"] == "draining").await;
    assert_eq!(cluster["events"][0]["kind"], "draining");
    assert_eq!(cluster["agents"][0]["share"], 0.0);
    let drawn = scene.get("/api/assignment").await.json();
    assert_eq!(drawn["owners"], Value::from(vec![2; 1_024]));
    assert!(drawn["before"]["owners"].as_array().expect("a list").contains(&1.into()));
    let last = scene.post("/api/drain", r#"{"agent": "owner"}"#).await;
    assert_eq!(last.status, 409, "{last:?}");
    assert!(last.json()["error"].as_str().is_some_and(|why| why.contains("last")), "{last:?}");
    let paused = scene.post("/api/run", r#"{"run": "paused"}"#).await;
    assert_eq!(paused.status, 200, "{paused:?}");
    scene.until(|cluster| cluster["run"] == "paused").await;
    let history = scene.get("/api/history").await.json();
    assert!(history["at"].as_array().is_some_and(|all| !all.is_empty()), "{history}");
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_are_asked_and_their_owner_is_believed() {
    let scene = two().await;
    let hosts = scene.get("/api/hosts?contains=a.TEST&order=queued").await.json();
    assert_eq!(hosts["hosts"].as_array().map(Vec::len), Some(1), "{hosts:#}");
    assert_eq!(hosts["hosts"][0]["name"], "www.a.test");
    let none = scene.get("/api/hosts?contains=zzz").await.json();
    assert_eq!((&none["hosts"], &none["available"]), (&json!([]), &json!(true)));

    let why = scene.get("/api/why?text=https%3A%2F%2Fwww.a.test%2Fx").await.json();
    assert_eq!(why["explanation"]["source"], 2);
    let answer = &why["explanation"]["agents"][1]["answer"];
    assert_eq!((&answer["agent"], &answer["holding"]), (&2.into(), &"authority".into()));
    assert_eq!(
        (&answer["url"]["fate"], &answer["group"]),
        (&"rejected".into(), &"0000000000000abc".into())
    );
    let wait = &answer["host"]["wait"];
    let next = "1970-01-01T00:00:05.000000Z";
    assert_eq!((&wait["reason"], &wait["next"]), (&"crawl-delay".into(), &next.into()));
    assert_eq!(answer["host"]["robots"][0]["origin"], "https://www.a.test");
    let next = "in 1 s: Crawl-delay: its robots.txt asks for 7 s between requests";
    assert_eq!(why["lines"][3], json!({ "label": "next", "text": next }), "{why:#}");
    assert_eq!(hosts["hosts"][0]["waits_for"], next);
    // The owner knows the number of the archive file, the agent that has it knows the name.
    let why = scene.get("/api/why?text=https%3A%2F%2Fwww.a.test%2Fstored").await.json();
    let explanation = &why["explanation"];
    let url = &explanation["agents"][1]["answer"]["url"];
    assert_eq!((&explanation["source"], &url["archived_by"]), (&2.into(), &1.into()));
    let file_name = &explanation["file_name"];
    assert_eq!((file_name, &url["offset"]), (&"crivello-four.warc.gz".into(), &77.into()));
    assert!(explanation["file_error"].is_null(), "{explanation}");
    assert_eq!(scene.get("/api/why?text=!").await.status, 400);
    assert_eq!(scene.get("/api/why").await.status, 400);

    let fetches = scene.get("/api/fetches?failed=true").await.json();
    let urls = [0, 1].map(|i| fetches["fetches"][i]["url"].as_str().expect("a URL").to_owned());
    assert_eq!(urls, ["https://www.a.test/<owner>", "https://www.a.test/<holder>"]);
    let discards = scene.get("/api/discards").await.json();
    assert_eq!(discards["discards"][0]["count"], 10);
    assert_eq!(discards["failures"][0]["name"], "connect-refused");
    let traces = scene.get("/api/traces").await.json();
    assert_eq!(traces["traces"][0]["n_spans"], 2, "{traces:#}");
    assert_eq!(traces["traces"][0]["spans"][1]["parent"], "0000000000000001");
    let blocks = scene.get("/api/blocks").await.json();
    assert_eq!(
        blocks["blocks"][0],
        json!({ "what": "b.test", "done": false, "hosts": 2, "urls": 20 })
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_cannot_answer_is_named_and_no_figure_is_invented() {
    let mut scene = Scene::start(Options::default()).await;
    let empty = scene.until(|_| true).await;
    assert_eq!(empty["agents"], json!([]));
    scene.join("old", FakeKind::Old).await;
    scene.until(|cluster| cluster["totals"]["agents_answered"] == 1).await;
    for path in ["hosts", "why?text=a.test", "fetches", "discards", "traces", "blocks"] {
        let reply = scene.get(&format!("/api/{path}")).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        assert_eq!(reply.json()["available"], false, "{path}: {reply:?}");
        assert_eq!(reply.json()["silent"][0]["agent"], "old", "{path}: {reply:?}");
    }
    scene.join("new", FakeKind::Owner).await;
    scene.until(|cluster| cluster["totals"]["agents_answered"] == 2).await;
    let hosts = scene.get("/api/hosts").await.json();
    assert_eq!((&hosts["available"], &hosts["silent"][0]["agent"]), (&json!(true), &json!("old")));
}

#[tokio::test(flavor = "multi_thread")]
async fn events_come_by_themselves_and_end_with_the_coordinator() {
    let mut scene = Scene::start(Options::default()).await;
    let mut events = scene.listen("/api/events").await;
    events.receive("event: cluster").await;
    events.receive("text/event-stream").await;
    scene.join("new", FakeKind::Owner).await;
    events.receive("new joined").await;
    scene.stop().await;
    let mut rest = Vec::new();
    let end = timeout(Duration::from_secs(5), events.stream.read_to_end(&mut rest)).await;
    assert!(end.is_ok(), "the stream did not end with the coordinator");
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_are_told_and_refusals_are_passed_on() {
    let metrics: MetricsText = Arc::new(|| "crivello_up 1\n".to_owned());
    let scene = Scene::start(Options { metrics: Some(metrics), ..Options::default() }).await;
    let settings = scene.get("/api/settings").await.json();
    let all = settings["settings"].as_array().expect("a list");
    assert!(all.iter().any(|row| row["value"] == "\"me@a.example\""), "{settings:#}");
    assert_eq!(scene.get("/metrics").await.body, "crivello_up 1\n");
    for (path, body) in [
        ("settings", r#"{"edits": []}"#),
        ("settings", r#"{"edits": [{"key": "a"}]}"#),
        ("settings", r#"{"edits": 1}"#),
        ("block", r#"{"what": " ", "blocked": true}"#),
        ("run", r#"{"run": "sideways"}"#),
        ("drain", r#"{"agent": "a", "more": 1}"#),
        ("remove", r#"{"agent": "a", "lost": "odd"}"#),
        ("remove", r#"{"agent": "a"}"#),
        ("login", "{"),
    ] {
        let reply = scene.post(&format!("/api/{path}"), body).await;
        assert_eq!(reply.status, 400, "{path} {body}: {reply:?}");
        assert!(reply.json()["error"].is_string(), "{reply:?}");
    }
    assert_eq!(scene.post("/api/drain", r#"{"agent": "nobody"}"#).await.status, 404);
    let removed = scene.post("/api/remove", r#"{"agent": "nobody", "lost": "give-up"}"#).await;
    assert_eq!(removed.status, 404, "{removed:?}");
    assert_eq!(scene.get("/nothing").await.status, 404);
    assert_eq!(scene.get("/api/drain").await.status, 405);
}
