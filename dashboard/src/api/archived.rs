//! `GET /api/archived`: the number of pages that exist only in the archive of a dead agent.
//!
//! Counting may take minutes, because the other agents may have to read all their rows. So the
//! response starts at once, with one JSON object per line: `{"seconds"}` each second during the
//! count, then `{"pages"}` or `{"error"}`. Closing the connection ends the count.

use super::{Asked, Refusal, query};
use crate::poll::members;
use crate::state::State;
use axum::body::{Body, Bytes};
use axum::extract::State as Shared;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use crivello_common::view::{AgentState, LostArchive};
use crivello_proto::agents::{Listing, archived_only_by, sum_archived};
use futures_util::stream::unfold;
use serde::Deserialize;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{MissedTickBehavior, interval};

/// Interval between two lines.
const TICK: Duration = Duration::from_secs(1);
const KIND: &str = "application/x-ndjson";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Of {
    agent: String,
}

pub(crate) async fn archived(
    Shared(state): Shared<State>,
    asked: Asked<Of>,
) -> Result<Response, Refusal> {
    let Of { agent: name } = query(asked)?;
    let busy = |_| Refusal::unavailable("too many counts are running: try again later");
    let permit = Arc::clone(&state.counts).try_acquire_owned().map_err(busy)?;
    // The latest snapshot may be older than the agent's death.
    let Listing { crawl_id, view, safe_files, .. } = members(&state.coordinator).await?;
    let unknown = || Refusal::new(StatusCode::NOT_FOUND, format!("there is no agent {name}"));
    let agent = view.find(&name).cloned().ok_or_else(unknown)?;
    if agent.state != AgentState::Dead {
        let why = format!("{name} is not dead: its pages are not lost");
        return Err(Refusal::new(StatusCode::CONFLICT, why));
    }
    let safe_files = safe_files.get(&agent.id).copied().unwrap_or_default();
    let lost = LostArchive { agent: agent.id, safe_files };
    let counting = Box::pin(async move {
        let counts = archived_only_by(&state.agents, &view, &crawl_id, lost).await;
        match sum_archived(&counts, &agent) {
            Ok((pages, safe_pages)) => json!({ "pages": pages, "safe_pages": safe_pages }),
            Err(why) => json!({ "error": why }),
        }
    });
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let lines = unfold(Some((counting, ticks, 0_u64, permit)), |going| async {
        let (mut counting, mut ticks, seconds, permit) = going?;
        tokio::select! {
            biased;
            counted = &mut counting => Some((line(&counted), None)),
            _ = ticks.tick() => {
                let going = Some((counting, ticks, seconds + 1, permit));
                Some((line(&json!({ "seconds": seconds })), going))
            }
        }
    });
    Ok(([(CONTENT_TYPE, KIND)], Body::from_stream(lines)).into_response())
}

fn line(value: &Value) -> Result<Bytes, Infallible> {
    Ok(format!("{value}\n").into())
}
