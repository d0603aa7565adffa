//! The count of pages that only a dead agent has: it runs to its end, unless its client disconnects.

use super::scene::Scene;
use crivello_dashboard::Options;
use fake_agent::FakeKind;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::time::sleep;

const LEASE: Duration = Duration::from_secs(1);

/// `gone` is dead, and `slow` goes by the view that says so.
async fn bereaved() -> Scene {
    let mut scene = Scene::start_with(LEASE, Options::default()).await;
    scene.join("slow", FakeKind::Slow).await;
    scene.join("gone", FakeKind::Holder).await;
    let cluster = scene.until(|cluster| cluster["agents"][1]["state"] == "dead").await;
    let epoch = cluster["epoch"].as_u64().expect("a number");
    until(|| scene.state.epoch.load(Relaxed) >= epoch).await;
    scene
}

async fn until(is_so: impl Fn() -> bool) {
    for _ in 0..200 {
        if is_so() {
            return;
        }
        sleep(Duration::from_millis(50)).await;
    }
    panic!("never");
}

#[tokio::test(flavor = "multi_thread")]
async fn counting_is_told_from_the_first_second_to_the_last() {
    let scene = bereaved().await;
    let mut count = scene.listen("/api/archived?agent=gone").await;
    // The answer has begun, so no bound for one cuts it off.
    count.receive("200 OK").await;
    count.receive("{\"seconds\":2}").await;
    assert_eq!(scene.state.counting.load(Relaxed), 1);
    scene.state.finish.notify_one();
    count.receive("{\"pages\":3,\"safe_pages\":0}\n").await;
    let removed = scene.post("/api/remove", r#"{"agent": "gone", "lost": "refetch"}"#).await;
    assert_eq!(removed.status, 200, "{removed:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_count_that_nobody_waits_for_ends() {
    let scene = bereaved().await;
    // More than may be at once: those before have ended.
    for _ in 0..6 {
        let mut count = scene.listen("/api/archived?agent=2").await;
        count.receive("{\"seconds\":0}").await;
        until(|| scene.state.counting.load(Relaxed) == 1).await;
        drop(count);
        until(|| scene.state.counting.load(Relaxed) == 0).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_dead_are_counted_and_few_at_once() {
    let scene = bereaved().await;
    assert_eq!(scene.get("/api/archived?agent=slow").await.status, 409);
    assert_eq!(scene.get("/api/archived?agent=nobody").await.status, 404);
    assert_eq!(scene.get("/api/archived").await.status, 400);
    let mut counts = Vec::new();
    for _ in 0..4 {
        let mut count = scene.listen("/api/archived?agent=gone").await;
        count.receive("{\"seconds\":0}").await;
        counts.push(count);
    }
    assert_eq!(scene.get("/api/archived?agent=gone").await.status, 503);
}
