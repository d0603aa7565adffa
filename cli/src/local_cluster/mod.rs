//! A cluster in one process: a coordinator and several agents on loopback, each with a directory
//! below the crawl's directory.
//!
//! ```text
//! DIR/coordinator/   settings and agent list
//! DIR/agent-1/ …     state and archive of each agent
//! ```
//! Coordinator and agents are the same as on many machines, and the same commands work with the
//! cluster.

mod agent;
pub mod dirs;
pub mod run_loop;
mod totals;

use crate::args::cluster::HttpArgs;
use crate::cluster::completion_watch::{CompletionWatch, has_no_end};
use crate::cluster::statuses::{are_settled, query_statuses};
use crate::cluster::{CoordinatorApi, Credentials, MemberList, client};
use crate::dashboard;
use crate::exit::CliError;
use crate::http::Meters;
use crate::plan::Plan;
use crate::screen;
use agent::LocalAgent;
use anyhow::Context;
use crivello_agent::limits::visits_max;
use crivello_agent::report::{Ended, Report, SeedCounts};
use crivello_agent::{AgentError, Otlp};
use crivello_common::config::Settings;
use crivello_common::runtime::{Token, open_files};
use crivello_common::view::{AgentState, RunState};
use crivello_coordinator::{Coordinator, Listen};
use crivello_proto::agents::AgentClients;
use crivello_proto::auth::NodeAuth;
use crivello_proto::v1::{self, Progress};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tonic::transport::Endpoint;

/// Interval between two rounds of the completion watch.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// A running local cluster.
pub struct LocalCluster {
    dir: PathBuf,
    coordinator: Coordinator,
    /// Tasks of the dashboard, if there is one.
    dashboard: Option<JoinSet<()>>,
    client: CoordinatorApi,
    clients: Arc<AgentClients>,
    agents: Vec<LocalAgent>,
    meters: Meters,
    /// Credentials of the agents.
    auth: NodeAuth,
    stop: CancellationToken,
    /// Collector of traces.
    otlp: Option<Otlp>,
    runtime: Runtime,
}

impl LocalCluster {
    /// Starts or resumes the crawl of `plan`. All agents have joined when this returns. `stop`
    /// cancels the start. With `http`, the cluster also serves a dashboard.
    ///
    /// # Errors
    /// Errors of the coordinator, the dashboard and the agents.
    pub fn open(
        plan: &Plan,
        stop: &CancellationToken,
        http: Option<&HttpArgs>,
    ) -> Result<Self, CliError> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("cluster")
            .enable_all()
            .build()
            .context("cannot start the network threads")?;
        let settings = within_open_files(&plan.settings, plan.agents);
        let at = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        // Nobody else needs the node secret, so it is drawn for this run.
        let secret = Token::generate().context("cannot get random bytes from the system")?;
        let auth = NodeAuth { secret: Some(secret.into()), ..NodeAuth::default() };
        let listen = Listen { at, auth: auth.clone(), token: None };
        let (data, given) = (plan.out.join(dirs::COORDINATOR), plan.given.clone());
        let dashboard = match http {
            Some(http) => runtime.block_on(dashboard::open(http, None, false, &plan.meters))?,
            None => None,
        };
        let coordinator = runtime.block_on(Coordinator::start(&data, &settings, given, listen))?;
        let guard = runtime.enter();
        let clients = Credentials::default().agent_clients(coordinator.local_client());
        let dashboard = dashboard.map(|dashboard| {
            screen::print_line(&dashboard::urls(&dashboard));
            dashboard.serve(coordinator.local_client(), Arc::clone(&clients))
        });
        let endpoint = Endpoint::from_shared(format!("http://{}", coordinator.address()));
        let client = client(endpoint.context("the coordinator's address")?.connect_lazy(), None);
        drop(guard);
        plan.meters.add_coordinator(coordinator.meter().clone());
        let mut cluster = Self {
            dir: plan.out.clone(),
            coordinator,
            dashboard,
            client,
            clients,
            agents: Vec::new(),
            meters: plan.meters.clone(),
            auth,
            stop: stop.child_token(),
            otlp: plan.otlp.clone(),
            runtime,
        };
        match cluster.start_agents(plan.agents) {
            Ok(()) => Ok(cluster),
            Err(error) => {
                cluster.finish(Ended::Stopped, SeedCounts::default());
                Err(error)
            }
        }
    }

    /// Starts `n` agents concurrently and waits until they have joined.
    fn start_agents(&mut self, n: usize) -> Result<(), CliError> {
        if self.coordinator.run() != RunState::Running {
            let request = v1::SetRunRequest { run: v1::RunState::Running.into() };
            self.runtime.block_on(self.client.set_run(request))?;
        }
        for _ in 0..n {
            self.add()?;
        }
        let joined: Vec<Result<(), AgentError>> =
            self.agents.iter_mut().map(LocalAgent::wait_until_joined).collect();
        Ok(joined.into_iter().collect::<Result<(), AgentError>>()?)
    }

    /// Starts one more agent, which joins in the background.
    ///
    /// # Errors
    /// Fails if its thread cannot be started.
    pub fn add(&mut self) -> Result<String, CliError> {
        let name = dirs::agent(self.agents.len() + 1);
        let dir = self.dir.join(&name);
        let telemetry = (self.meters.clone(), self.otlp.clone());
        let agent = LocalAgent::join(
            (self.url(), self.auth.clone()),
            &dir,
            name.clone(),
            telemetry,
            self.stop.clone(),
        )?;
        self.agents.push(agent);
        Ok(name)
    }

    /// Ends an agent as kill −9 would, unless it is the last one. Returns its name and the maximum
    /// number of pages that may be fetched again.
    pub fn kill(&mut self) -> Option<(String, u64)> {
        let alive = self.agents.iter().filter(|agent| agent.is_joined()).count();
        let agent = self.agents.iter_mut().rev().find(|agent| agent.is_joined() && alive > 1)?;
        Some((agent.name.clone(), agent.kill()))
    }

    /// Removes dead agents once the others have taken over their work. Returns true if none is
    /// left.
    ///
    /// # Errors
    /// Fails if the coordinator does not answer.
    pub fn remove_dead(&mut self) -> Result<bool, CliError> {
        let mut members = self.members();
        let Self { client, clients, runtime, .. } = self;
        runtime.block_on(async {
            let listing = members.refresh().await?;
            let dead = listing.view.agents.iter().filter(|agent| agent.state == AgentState::Dead);
            let dead: Vec<String> = dead.map(|agent| agent.name.clone()).collect();
            if dead.is_empty() {
                return Ok(true);
            }
            let answers = query_statuses(clients, &listing).await;
            if !are_settled(&answers, listing.view.epoch) {
                return Ok(false);
            }
            for agent in dead {
                client
                    .remove(v1::RemoveRequest { agent, force: true, ..Default::default() })
                    .await?;
            }
            Ok(true)
        })
    }

    /// Returns the URL of the coordinator.
    pub fn url(&self) -> String {
        format!("http://{}", self.coordinator.address())
    }

    fn members(&self) -> MemberList {
        MemberList::new(self.client.clone())
    }

    /// Starts a task that ends when the crawl is complete.
    fn watch_completion(&self) -> JoinHandle<()> {
        let (mut members, clients) = (self.members(), Arc::clone(&self.clients));
        let mut watch = CompletionWatch::default();
        self.runtime.spawn(async move {
            loop {
                match members.refresh().await {
                    Err(_) => watch.reset(),
                    Ok(listing) => {
                        let answers = query_statuses(&clients, &listing).await;
                        let done = watch.check(&listing, &answers).is_ok();
                        if done && !members.is_stale && !has_no_end(&answers) {
                            return;
                        }
                    }
                }
                sleep(POLL_INTERVAL).await;
            }
        })
    }

    /// Returns the message and kind of an agent's end that was not requested.
    fn unexpected_end(&self) -> Option<(String, Ended)> {
        self.agents.iter().find_map(LocalAgent::unexpected_end)
    }

    /// Makes all agents end their visits and save their state.
    fn stop(&self) {
        self.stop.cancel();
        for agent in &self.agents {
            agent.stop();
        }
    }

    fn snapshot(&mut self) -> Progress {
        let all: Vec<Progress> = self.agents.iter_mut().map(LocalAgent::snapshot).collect();
        totals::snapshot(&all)
    }

    /// Returns a line for each agent, at most `width` wide.
    fn lines(&self, width: usize) -> Vec<String> {
        let lines = self.agents.iter().map(LocalAgent::line);
        lines.map(|line| line.chars().take(width).collect()).collect()
    }

    /// Stops everything, saves the state, and returns the report.
    pub fn finish(self, how: Ended, seeds: SeedCounts) -> Report {
        self.stop();
        let finishing: Vec<_> = self
            .agents
            .into_iter()
            .map(|agent| (agent.name.clone(), std::thread::spawn(move || agent.finish())))
            .collect();
        let mut reports = Vec::new();
        for (name, thread) in finishing {
            match thread.join() {
                Ok(Some(report)) => reports.push((name, report)),
                Ok(None) => {}
                Err(_) => screen::print_line(&format!("{name} panicked: this is a bug")),
            }
        }
        drop(self.dashboard);
        let resumed = self.coordinator.resumed();
        if let Err(error) = self.runtime.block_on(self.coordinator.stop()) {
            tracing::warn!("the coordinator: {error}");
        }
        self.runtime.shutdown_background();
        totals::report(&reports, how, resumed, seeds)
    }
}

/// Returns the settings with `fetch.visits-max` lowered to the limit of open files for `n` agents.
fn within_open_files(settings: &Settings, n: usize) -> Settings {
    let mut settings = settings.clone();
    let files = open_files() / n.max(1) as u64;
    let most = u32::try_from(visits_max(&settings, files)).unwrap_or(u32::MAX);
    settings.fixed.fetch.visits_max = settings.fixed.fetch.visits_max.min(most);
    settings
}
