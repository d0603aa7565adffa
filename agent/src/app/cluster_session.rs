//! Membership of a running crawl in a cluster, held while it lasts.

use crate::cluster::CoordinatorClient;
use crate::peers::PeerServer;
use crivello_common::view::AgentId;
use std::net::SocketAddr;

/// Identity of the member, its client of the coordinator, and its server for other agents.
#[derive(Debug)]
pub struct ClusterSession {
    pub coordinator: CoordinatorClient,
    pub id: AgentId,
    pub name: String,
    pub process: u64,
    pub address: SocketAddr,
    /// Server for other agents, which listens as long as this exists.
    pub _server: PeerServer,
}
