//! Watching of the view.

use crate::kit::{Client, Doors, LONG, client, endpoint, set_run, start, view};
use crivello_common::view::RunState;
use crivello_proto::v1;
use std::time::Duration;
use tempfile::tempdir;

#[tokio::test]
async fn watcher_receives_only_later_views() {
    let dir = tempdir().unwrap();
    let coordinator = start(dir.path(), LONG).await;
    let mut client = client(&coordinator).await;
    let epoch = view(&mut client).await.epoch;
    let watch = |known_epoch| v1::WatchViewRequest { known_epoch };
    let mut new = client.watch_view(watch(0)).await.unwrap().into_inner();
    assert_eq!(new.message().await.unwrap().unwrap().epoch, epoch);
    let mut informed = client.watch_view(watch(epoch)).await.unwrap().into_inner();
    set_run(&mut client, v1::RunState::Paused).await.unwrap();
    let received = informed.message().await.unwrap().unwrap();
    assert_eq!((received.epoch, received.run), (epoch + 1, v1::RunState::Paused.into()));
    coordinator.stop().await.unwrap();
    assert_eq!(informed.message().await.unwrap(), None, "the stream ends with the coordinator");
}

/// The view exceeds what the watcher buffers unread, so it waits at the coordinator.
#[tokio::test]
async fn a_slow_watcher_is_dropped_and_nobody_waits_for_it() {
    let (dir, doors) = (tempdir().unwrap(), Doors::open().await);
    let lease = Duration::from_millis(500);
    let coordinator = start(dir.path(), lease).await;
    let mut client = client(&coordinator).await;
    // No agent dies: no lease expires while a crawl is stopping.
    for n in 1..=20 {
        client.join(doors.join(n, &format!("{n}-{}", "x".repeat(240)))).await.unwrap();
    }
    set_run(&mut client, v1::RunState::Stopping).await.unwrap();
    let narrow = endpoint(&coordinator).initial_stream_window_size(1_024).connect().await.unwrap();
    let watch = v1::WatchViewRequest { known_epoch: 0 };
    let mut slow = Client::new(narrow).watch_view(watch).await.unwrap().into_inner();
    let mut quick = client.watch_view(watch).await.unwrap().into_inner();
    let mut newest = 0;
    for n in 0..6 {
        let run = [v1::RunState::Running, v1::RunState::Stopping][n % 2];
        let epoch = set_run(&mut client, run).await.unwrap().epoch;
        while newest < epoch {
            newest = quick.message().await.unwrap().unwrap().epoch;
        }
    }
    // Longer than the coordinator's timeout. The slow watcher's stream has ended by then.
    tokio::time::sleep(4 * lease).await;
    let mut received = Vec::new();
    while let Some(view) = slow.message().await.unwrap() {
        received.push(view.epoch);
        assert!(view.epoch < newest, "{received:?}: the coordinator waited for a slow watcher");
    }
    assert!(received.is_sorted() && !received.is_empty(), "{received:?}");
    assert_eq!(view(&mut client).await.run, RunState::Stopping);
    coordinator.stop().await.unwrap();
}
