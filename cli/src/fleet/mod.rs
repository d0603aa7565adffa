//! A whole cluster in one process: a coordinator and some agents on loopback, each in a directory
//! of its own below the crawl's.
//!
//! ```text
//! DIR/coordinator/   settings and member list
//! DIR/agent-1/ …     state and archive of each agent
//! ```
//! The parts are those of a cluster of many machines, and speak as they do there; whoever knows the
//! address may look after it with the same commands.

pub mod drive;
mod member;
mod sums;

use crate::args::cluster::HttpArgs;
use crate::cluster::crowd::{are_settled, ask};
use crate::cluster::lookout::Lookout;
use crate::cluster::{Guide, Papers, client, refused, whole};
use crate::dashboard;
use crate::exit::Trouble;
use crate::http::Meters;
use crate::screen;
use anyhow::{Context, anyhow};
use crivello_agent::limits::visits_max;
use crivello_agent::progress::Snapshot;
use crivello_agent::report::{Ended, Report, SeedCounts};
use crivello_agent::{AgentError, Otlp};
use crivello_common::config::{Given, SETTINGS_FILE, Settings};
use crivello_common::runtime::open_files;
use crivello_common::view::{AgentState, RunState};
use crivello_coordinator::{Coordinator, Listen};
use crivello_proto::v1;
use member::Member;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tonic::transport::Endpoint;

/// Where the coordinator's part of a crawl is.
pub const COORDINATOR: &str = "coordinator";
/// Between two rounds of the lookout.
const ROUND: Duration = Duration::from_millis(250);

/// See the module.
pub struct Fleet {
    dir: PathBuf,
    coordinator: Coordinator,
    url: String,
    members: Vec<Member>,
    meters: Meters,
    stop: CancellationToken,
    /// Where the traces of all agents go.
    otlp: Option<Otlp>,
    resumed: bool,
    runtime: Runtime,
}

/// How many agents the crawl in `dir` has; `None` when there is no crawl by several agents.
pub fn agents_in(dir: &Path) -> Option<usize> {
    if !dir.join(COORDINATOR).join(SETTINGS_FILE).is_file() {
        return None;
    }
    let entries = fs::read_dir(dir).ok()?.filter_map(Result::ok);
    Some(entries.filter_map(|entry| number(&entry.file_name().into_string().ok()?)).count())
}

/// Of an agent's directory.
fn number(name: &str) -> Option<usize> {
    name.strip_prefix("agent-")?.parse().ok().filter(|&n| n > 0)
}

impl Fleet {
    /// Begins a crawl by `n` agents in `dir`, or goes on with the one there, of which all agents
    /// are members when this returns; their numbers go to `meters`. `stop` ends the attempt. With
    /// `http` there is a dashboard.
    ///
    /// # Errors
    /// Those of the coordinator, the dashboard and the agents.
    pub fn open(
        dir: &Path,
        (settings, given): (&Settings, &Given),
        n: usize,
        (meters, otlp): (Meters, Option<Otlp>),
        stop: &CancellationToken,
        http: Option<&HttpArgs>,
    ) -> Result<Self, Trouble> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("cluster")
            .enable_all()
            .build()
            .context("no threads for the network")?;
        let settings = within_open_files(settings, n);
        let at = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let listen = Listen { at, tls: None, token: None };
        let home = dir.join(COORDINATOR);
        let door = match http {
            Some(http) => runtime.block_on(dashboard::open(http, None, false, &meters))?,
            None => None,
        };
        let mut coordinator =
            runtime.block_on(Coordinator::start_given(&home, &settings, given.clone(), listen))?;
        if let Some(door) = door {
            screen::say(&dashboard::invitation(&door));
            let _inside = runtime.enter();
            coordinator.show(door);
        }
        let url = format!("http://{}", coordinator.address());
        let resumed = coordinator.resumed();
        let (dir, members, stop) = (dir.to_owned(), Vec::new(), stop.child_token());
        meters.add_coordinator(coordinator.meter().clone());
        let mut fleet =
            Self { dir, coordinator, url, members, meters, stop, otlp, resumed, runtime };
        match fleet.man(n) {
            Ok(()) => Ok(fleet),
            Err(trouble) => {
                fleet.finish(Ended::Stopped, SeedCounts::default());
                Err(trouble)
            }
        }
    }

    /// Has `n` agents join, all at once.
    fn man(&mut self, n: usize) -> Result<(), Trouble> {
        if self.coordinator.run() != RunState::Running {
            let mut client = self.client()?;
            let request = v1::SetRunRequest { run: v1::RunState::Running.into() };
            self.runtime.block_on(client.set_run(request)).map_err(|status| refused(&status))?;
        }
        for _ in 0..n {
            self.add()?;
        }
        let joined: Vec<Result<(), AgentError>> =
            self.members.iter_mut().map(Member::wait_until_in).collect();
        joined.into_iter().collect::<Result<(), AgentError>>().map_err(Trouble::from)
    }

    /// Has one more agent join; it does so by itself.
    ///
    /// # Errors
    /// When there is no thread for it.
    pub fn add(&mut self) -> Result<String, Trouble> {
        let name = format!("agent-{}", self.members.len() + 1);
        let dir = self.dir.join(&name);
        let tellers = (self.meters.clone(), self.otlp.clone());
        let member = Member::join(&self.url, &dir, name.clone(), tellers, self.stop.clone())?;
        self.members.push(member);
        Ok(name)
    }

    /// Ends an agent as a kill would; says which, and how many pages may be fetched once more,
    /// unless there is none that may be.
    pub fn kill(&mut self) -> Option<(String, u64)> {
        let alive = self.members.iter().filter(|member| member.is_in()).count();
        let member = self.members.iter_mut().rev().find(|member| member.is_in() && alive > 1)?;
        Some((member.name.clone(), member.kill()))
    }

    /// Forgets the dead, once all others have made up for them; says whether nobody is dead.
    ///
    /// # Errors
    /// When the coordinator does not answer.
    pub fn bury(&mut self) -> Result<bool, Trouble> {
        let (mut client, mut guide) = (self.client()?, Guide::new(self.client()?));
        let crowd = Papers::default().crowd();
        self.runtime.block_on(async {
            let listing = guide.listing().await.map_err(|why| Trouble::Internal(anyhow!(why)))?;
            let is_dead = |state| state == AgentState::Dead;
            let dead = listing.view.agents.iter().filter(|agent| is_dead(agent.state));
            let dead: Vec<String> = dead.map(|agent| agent.name.clone()).collect();
            if dead.is_empty() {
                return Ok(true);
            }
            let answers = ask(&crowd, &listing.view, &listing.crawl_id).await;
            if !are_settled(&answers, listing.view.epoch) {
                return Ok(false);
            }
            for agent in dead {
                let request = v1::RemoveRequest { agent, refetch: false };
                client.remove(request).await.map_err(|status| refused(&status))?;
            }
            Ok(true)
        })
    }

    /// Where the coordinator is.
    pub fn url(&self) -> &str {
        &self.url
    }

    fn client(&self) -> Result<crate::cluster::Client, Trouble> {
        let endpoint = Endpoint::from_shared(self.url.clone());
        let endpoint = endpoint.map_err(|error| Trouble::Internal(anyhow!(whole(error))))?;
        let _inside = self.runtime.enter();
        Ok(client(endpoint.connect_lazy(), None))
    }

    /// Begins to look out for the end; the task ends when it has found it.
    ///
    /// # Errors
    /// When the coordinator's address cannot be used.
    fn look_out(&self) -> Result<JoinHandle<()>, Trouble> {
        let (mut guide, crowd) = (Guide::new(self.client()?), Papers::default().crowd());
        let mut lookout = Lookout::default();
        Ok(self.runtime.spawn(async move {
            loop {
                match guide.listing().await {
                    Err(_) => lookout.lost(),
                    Ok(listing) => {
                        let answers = ask(&crowd, &listing.view, &listing.crawl_id).await;
                        let done = lookout.look(&listing.view, &answers).is_ok();
                        if done && !guide.is_lost() {
                            return;
                        }
                    }
                }
                sleep(ROUND).await;
            }
        }))
    }

    /// Whether an agent has ended although nobody asked it to, and how.
    fn fallen(&self) -> Option<(String, Ended)> {
        self.members.iter().find_map(Member::fallen)
    }

    /// Asks all agents to end their visits and save.
    fn stop(&self) {
        self.stop.cancel();
        for member in &self.members {
            member.stop();
        }
    }

    fn snapshot(&mut self) -> Snapshot {
        let all: Vec<Snapshot> = self.members.iter_mut().map(Member::look).collect();
        sums::snapshot(&all)
    }

    /// A line for each agent, none wider than `width`.
    fn lines(&self, width: usize) -> Vec<String> {
        let lines = self.members.iter().map(Member::line);
        lines.map(|line| line.chars().take(width).collect()).collect()
    }

    /// Stops all that still runs, saves, and says what happened.
    pub fn finish(self, how: Ended, seeds: SeedCounts) -> Report {
        self.stop();
        let finishing: Vec<_> = self
            .members
            .into_iter()
            .map(|member| (member.name.clone(), std::thread::spawn(move || member.finish())))
            .collect();
        let mut reports = Vec::new();
        for (name, thread) in finishing {
            match thread.join() {
                Ok(Some(report)) => reports.push((name, report)),
                Ok(None) => {}
                Err(_) => screen::say(&format!("{name} ended in a panic: this is a bug")),
            }
        }
        if let Err(error) = self.runtime.block_on(self.coordinator.stop()) {
            tracing::warn!("the coordinator: {error}");
        }
        self.runtime.shutdown_background();
        sums::report(&reports, how, self.resumed, seeds)
    }
}

/// Fewer visits at once for each where the system does not let this process open enough files for
/// all of them.
fn within_open_files(settings: &Settings, n: usize) -> Settings {
    let mut settings = settings.clone();
    let files = open_files() / n.max(1) as u64;
    let most = u32::try_from(visits_max(&settings, files)).unwrap_or(u32::MAX);
    settings.fetch.visits_max = settings.fetch.visits_max.min(most);
    settings
}
