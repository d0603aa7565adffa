//! Members of the crawl, as the coordinator lists them.

use crivello_common::obstacle::Obstacle;
use crivello_common::view::{AgentId, View};
use crivello_proto::{LocalCoordinator, obstacle, v1};
use std::collections::HashMap;
use tonic::Status;

/// The members, their leases, and the revision of the settings.
#[derive(Debug)]
pub(super) struct Listing {
    pub(super) crawl: String,
    pub(super) view: View,
    pub(super) leases: HashMap<AgentId, v1::AgentLease>,
    pub(super) revision: u64,
    pub(super) obstacles: Vec<Obstacle>,
}

/// Queries the crawl id, the view, the leases and the obstacles.
pub(super) async fn members(
    coordinator: &LocalCoordinator,
) -> Result<(String, View, Vec<v1::AgentLease>, Vec<Obstacle>), Status> {
    let listed = coordinator.clone().list_agents(v1::ListAgentsRequest {}).await?;
    let v1::ListAgentsResponse { crawl_id, view, leases, obstacles, .. } = listed.into_inner();
    let view = View::try_from(view.unwrap_or_default());
    let view = view.map_err(|error| Status::internal(error.to_string()))?;
    Ok((crawl_id, view, leases, obstacle::obstacles(obstacles)))
}
