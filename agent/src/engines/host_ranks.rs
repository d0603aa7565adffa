//! Takes over the ranks of hosts that the settings name (`links.host-ranks`). An agent that lacks the file, because it
//! joined later or was away, asks the other agents for it, one after the other. The digest is part of the settings, so
//! no agent can pass off another file.

use crate::peers::Outgoing;
use crate::shared::Shared;
use crivello_common::view::{AgentId, View};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

/// Agents that are asked for a file in one attempt, and the pause after it: the calls of all agents together grow with their
/// number, not with its square.
const ASKED_AT_ONCE: usize = 3;
const PAUSE: Duration = Duration::from_secs(2);
/// Maximum time until the next bytes of a file arrive.
const CHUNK_TIMEOUT: Duration = Duration::from_secs(10);

/// Task that takes over ranks.
pub struct HostRanksClient {
    pub me: AgentId,
    pub outgoing: Arc<Outgoing>,
    pub views: watch::Receiver<Option<Arc<View>>>,
    pub shared: Shared,
}

impl HostRanksClient {
    /// Runs until the runtime ends.
    pub async fn run(self) {
        let Shared { live, ranks, .. } = &self.shared;
        let (mut problem, mut n_attempts) = (String::new(), 0);
        loop {
            let wanted = live.latest().live.links.host_ranks.clone();
            if wanted == ranks.in_force().digest() {
                live.ranks_changed.notified().await;
                continue;
            }
            let taken = self.take_over(&wanted, n_attempts).await;
            n_attempts += 1;
            match taken {
                Ok(()) => {
                    let hosts = ranks.in_force().get().map_or(0, |ranks| ranks.n_hosts());
                    tracing::info!(hosts, digest = wanted, "ranks of hosts in force");
                    problem.clear();
                }
                Err(error) => {
                    if problem.is_empty() {
                        tracing::warn!("ranks of hosts {wanted}: {error}; trying again");
                    }
                    problem = error;
                    let _ = timeout(PAUSE, live.ranks_changed.notified()).await;
                }
            }
        }
    }

    /// Puts ranks in force, from the disk or from another agent.
    async fn take_over(&self, wanted: &str, n_attempts: usize) -> Result<(), String> {
        if self.load(wanted).await? {
            return Ok(());
        }
        let view = self.views.borrow().clone();
        let living = view.iter().flat_map(|view| view.living());
        let mut others: Vec<AgentId> =
            living.map(|agent| agent.id).filter(|id| *id != self.me).collect();
        // Agents that lack a file at the same time do not all ask the same one, nor do attempts.
        let n = others.len().max(1);
        others.rotate_left((self.me.0 as usize + n_attempts * ASKED_AT_ONCE) % n);
        let mut problem = "no other agent is alive".to_owned();
        for other in others.into_iter().take(ASKED_AT_ONCE) {
            match self.receive(other, wanted).await {
                Ok(()) => {
                    if self.load(wanted).await? {
                        return Ok(());
                    }
                    problem = "the file that was received is gone".to_owned();
                }
                Err(error) => problem = format!("agent {other}: {error}"),
            }
        }
        Err(problem)
    }

    async fn load(&self, wanted: &str) -> Result<bool, String> {
        let (ranks, wanted) = (self.shared.ranks.clone(), wanted.to_owned());
        let loaded = spawn_blocking(move || ranks.load(&wanted)).await;
        loaded.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
    }

    /// Receives and stores the file from another agent.
    async fn receive(&self, from: AgentId, digest: &str) -> Result<(), String> {
        let call = timeout(CHUNK_TIMEOUT, self.outgoing.host_ranks(from, digest)).await;
        let (length, mut chunks) = call
            .map_err(|_| "no response".to_owned())?
            .map_err(|status| status.message().to_owned())?;
        let ranks = &self.shared.ranks;
        let mut incoming = ranks.receive(digest, length).map_err(|error| error.to_string())?;
        loop {
            let chunk = timeout(CHUNK_TIMEOUT, chunks.message()).await;
            let chunk = chunk.map_err(|_| "no response".to_owned())?;
            match chunk.map_err(|status| status.message().to_owned())? {
                Some(chunk) => incoming.add(&chunk.bytes).map_err(|error| error.to_string())?,
                None => break,
            }
        }
        let stored = spawn_blocking(move || incoming.finish()).await;
        stored.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
    }
}
