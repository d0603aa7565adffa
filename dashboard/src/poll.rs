//! Poll of the cluster, once a second: members and settings from the coordinator, status from each
//! agent. The result is one snapshot for all open pages.

use super::assignment::Assignment;
use super::cluster::{self, AgentHistory};
use super::events::Events;
use super::history::History;
use crivello_common::config::Settings;
use crivello_common::time::Clock;
use crivello_common::view::{Agent, AgentId, View};
use crivello_proto::agents::{AgentClients, AgentStatus, Answer, Client, Listing};
use crivello_proto::{LocalCoordinator, v1};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, timeout_at};
use tonic::Status;

/// Interval between two polls.
const ROUND: Duration = Duration::from_secs(1);
/// Time for which a poll waits for responses. Later responses count for the next poll.
const POLL_TIMEOUT: Duration = Duration::from_millis(400);
/// Number of polls between two requests for memory, disk, and counters by kind.
const DETAILS_EVERY: u64 = 4;

/// The result of a poll.
#[derive(Debug, Default)]
pub(super) struct ClusterSnapshot {
    pub(super) view: View,
    /// `/api/cluster` as text.
    pub(super) cluster: Arc<str>,
    pub(super) assignment: Option<Assignment>,
    pub(super) history: History,
}

type StatusAnswer = (AgentId, Answer<AgentStatus>, Option<Answer<v1::DetailsResponse>>);

/// Queries the member list.
pub(super) async fn members(coordinator: &LocalCoordinator) -> Result<Listing, Status> {
    let listed = coordinator.clone().list_agents(v1::ListAgentsRequest {}).await?;
    Listing::try_from(listed.into_inner()).map_err(|error| Status::internal(error.to_string()))
}

/// Polls until all receivers are gone.
pub(super) async fn run(
    coordinator: LocalCoordinator,
    clients: Arc<AgentClients>,
    clock: Clock,
    snapshot: watch::Sender<Arc<ClusterSnapshot>>,
) {
    let mut poll = Poll {
        coordinator,
        clients,
        clock,
        requests: JoinSet::new(),
        asked: HashSet::new(),
        agents: BTreeMap::new(),
        events: Events::default(),
        history: History::default(),
        assignment: None,
        settings: None,
        last: None,
    };
    let mut rounds = interval(ROUND);
    rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut n_round = 0;
    while !snapshot.is_closed() {
        rounds.tick().await;
        match poll.round(n_round).await {
            Ok(found) => drop(snapshot.send_replace(Arc::new(found))),
            // The coordinator is ending or busy; the page shows the age of its numbers.
            Err(status) => tracing::debug!("poll of the coordinator failed: {}", status.message()),
        }
        n_round += 1;
    }
}

struct Poll {
    coordinator: LocalCoordinator,
    clients: Arc<AgentClients>,
    clock: Clock,
    /// Requests in flight, one per agent.
    requests: JoinSet<StatusAnswer>,
    asked: HashSet<AgentId>,
    agents: BTreeMap<AgentId, AgentHistory>,
    events: Events,
    history: History,
    assignment: Option<Assignment>,
    settings: Option<(u64, Settings)>,
    /// View of the previous poll.
    last: Option<View>,
}

impl Poll {
    async fn round(&mut self, n: u64) -> Result<ClusterSnapshot, Status> {
        let (listing, revision) = self.list().await?;
        let now = self.clock.now();
        let view = &listing.view;
        self.agents.retain(|id, _| view.agent(*id).is_some());
        self.clients.retain(view);
        for agent in view.living() {
            self.begin(agent, &listing.crawl_id, n.is_multiple_of(DETAILS_EVERY));
        }
        self.listen().await;
        if let Some(before) = &self.last {
            self.events.compare(before, view, now.0);
        }
        self.last = Some(view.clone());
        if self.assignment.as_ref().is_none_or(|drawn| drawn.epoch() != view.epoch) {
            let settings = self.settings.as_ref().map(|(_, settings)| settings.clone());
            let settings = settings.unwrap_or_default();
            self.assignment = Assignment::next(self.assignment.as_ref(), &settings, view);
        }
        let shares = self.assignment.as_ref().map(Assignment::shares).unwrap_or_default();
        let (agents, shares) = (&self.agents, &shares);
        let found = cluster::Found { listing: &listing, revision, agents, shares, now };
        self.history.add(found.point());
        let json = found.json(&self.events.json()).to_string();
        Ok(ClusterSnapshot {
            cluster: json.into(),
            assignment: self.assignment.clone(),
            history: self.history.clone(),
            view: listing.view,
        })
    }

    /// Queries members and settings.
    async fn list(&mut self) -> Result<(Listing, u64), Status> {
        let listing = members(&self.coordinator).await?;
        let settings = self.coordinator.get_settings(v1::GetSettingsRequest {}).await?;
        let v1::CrawlSettings { revision, toml } = settings.into_inner();
        let known = self.settings.as_ref().map(|(known, _)| *known);
        if known != Some(revision) {
            let settings = Settings::from_toml("the settings in force", &toml);
            let settings = settings.map_err(|error| Status::internal(error.to_string()))?;
            self.settings = Some((revision, settings));
            if known.is_some() {
                self.events.settings_changed(self.clock.now().0, revision);
            }
        }
        Ok((listing, revision))
    }

    /// Queries an agent, unless a request is still in flight.
    fn begin(&mut self, agent: &Agent, crawl: &str, with_details: bool) {
        if !self.asked.insert(agent.id) {
            return;
        }
        let (clients, agent, crawl) = (Arc::clone(&self.clients), agent.clone(), crawl.to_owned());
        self.requests.spawn(async move {
            let status = clients.status(&agent, &crawl).await;
            let with_details = with_details && status.is_ok();
            let ask = async |mut client: Client| client.details(v1::DetailsRequest {}).await;
            let details = match with_details {
                true => Some(clients.ask(&agent, ask).await),
                false => None,
            };
            (agent.id, status, details)
        });
    }

    /// Receives responses of agents until the poll times out.
    async fn listen(&mut self) {
        let end =
            tokio::time::Instant::from_std(self.clock.instant(self.clock.now() + POLL_TIMEOUT));
        while let Ok(Some(answered)) = timeout_at(end, self.requests.join_next()).await {
            let Ok((id, status, details)) = answered else { continue };
            self.asked.remove(&id);
            let now = self.clock.now();
            self.agents.entry(id).or_default().update(status, details, now);
        }
        if self.requests.is_empty() {
            self.asked.clear();
        }
    }
}
