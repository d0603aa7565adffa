//! The state of the cluster: the latest snapshot, and a stream of new snapshots.

use super::{Answered, Refusal};
use crate::assignment::Assignment;
use crate::poll::ClusterSnapshot;
use crate::state::State;
use axum::Json;
use axum::extract::State as Shared;
use axum::http::header::CONTENT_TYPE;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{StreamExt as _, unfold};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Delay before a disconnected browser reconnects.
const RETRY: Duration = Duration::from_secs(1);

/// Handles `GET /api/cluster`.
pub(crate) async fn cluster(Shared(state): Shared<State>) -> Result<Response, Refusal> {
    let snapshot = state.now();
    if snapshot.cluster.is_empty() {
        return Err(not_yet());
    }
    Ok(([(CONTENT_TYPE, "application/json")], snapshot.cluster.to_string()).into_response())
}

fn not_yet() -> Refusal {
    Refusal::unavailable("the cluster has not been polled yet: try again")
}

/// Handles `GET /api/history`.
pub(crate) async fn history(Shared(state): Shared<State>) -> Answered {
    Ok(Json(state.now().history.json()))
}

/// Handles `GET /api/assignment`.
pub(crate) async fn assignment(Shared(state): Shared<State>) -> Answered {
    let snapshot = state.now();
    snapshot.assignment.as_ref().map(Assignment::json).map(Json).ok_or_else(not_yet)
}

/// Handles `GET /api/events`: streams `/api/cluster` with each new snapshot.
pub(crate) async fn events(Shared(state): Shared<State>) -> Result<Response, Refusal> {
    let busy = |_| Refusal::unavailable("too many open dashboard pages: close some");
    let permit = Arc::clone(&state.listeners).try_acquire_owned().map_err(busy)?;
    let mut snapshots = state.snapshot;
    // The first event is sent at once.
    snapshots.mark_changed();
    let stream = unfold((snapshots, permit), |(mut snapshots, permit)| async {
        let event = next(&mut snapshots).await?;
        Some((Ok::<Event, Infallible>(event), (snapshots, permit)))
    });
    Ok(Sse::new(stream.boxed()).keep_alive(KeepAlive::default()).into_response())
}

/// Waits for the next snapshot.
async fn next(snapshots: &mut watch::Receiver<Arc<ClusterSnapshot>>) -> Option<Event> {
    loop {
        snapshots.changed().await.ok()?;
        let text = Arc::clone(&snapshots.borrow_and_update().cluster);
        if !text.is_empty() {
            return Some(Event::default().event("cluster").retry(RETRY).data(text));
        }
    }
}
