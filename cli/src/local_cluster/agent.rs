//! One agent of a local cluster, from joining to its report.

use crate::format::{count, rate};
use crate::http::Meters;
use crate::rate::Rates;
use crate::tables::TABLES;
use anyhow::Context;
use crivello_agent::report::{Ended, Report};
use crivello_agent::{AgentError, Crawl, JoinOptions, OpenError, Otlp};
use crivello_proto::auth::NodeAuth;
use crivello_proto::bottleneck;
use crivello_proto::v1::{Bottleneck, Progress};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Period whose work may not be replicated yet.
const UNREPLICATED_MAX: Duration = Duration::from_secs(2);

/// An agent of a local cluster.
pub struct LocalAgent {
    /// Name of the agent and of its directory.
    pub name: String,
    state: State,
    /// Last snapshot.
    last: Progress,
    rates: Rates,
}

enum State {
    Joining(JoinHandle<Result<Crawl, AgentError>>),
    Joined(Box<Crawl>),
    Killed,
    /// The agent failed to join, with the reason.
    Failed(String),
}

impl LocalAgent {
    /// Starts to join the cluster of the coordinator at `url`.
    pub fn join(
        (url, auth): (String, NodeAuth),
        dir: &Path,
        name: String,
        (meters, otlp): (Meters, Option<Otlp>),
        stop: CancellationToken,
    ) -> anyhow::Result<Self> {
        let options = JoinOptions {
            coordinator: url,
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            advertise: None,
            dir: dir.to_owned(),
            name: Some(name.clone()),
            weight: 1,
            auth,
            tables: TABLES,
        };
        let joining = Builder::new()
            .name(format!("join {name}"))
            .spawn(move || {
                let crawl = Crawl::join(&options, &stop)?;
                meters.add(crawl.meter());
                otlp.iter().for_each(|otlp| crawl.export_traces(otlp));
                Ok(crawl)
            })
            .context("cannot start a thread for an agent")?;
        let (last, rates) = (after_end(&Progress::default()), Rates::default());
        Ok(Self { name, state: State::Joining(joining), last, rates })
    }

    /// Waits until the agent has joined.
    pub fn wait_until_joined(&mut self) -> Result<(), AgentError> {
        let (state, joined) = match std::mem::replace(&mut self.state, State::Killed) {
            State::Joining(joining) => match joining.join().unwrap_or_else(|_| Err(panicked())) {
                Ok(crawl) => (State::Joined(Box::new(crawl)), Ok(())),
                Err(error) => (State::Failed(error.to_string()), Err(error)),
            },
            state => (state, Ok(())),
        };
        self.state = state;
        joined
    }

    /// Returns true if the agent has joined.
    pub const fn is_joined(&self) -> bool {
        matches!(self.state, State::Joined(_))
    }

    /// Returns the message and kind of an end that was not requested.
    pub fn unexpected_end(&self) -> Option<(String, Ended)> {
        let State::Joined(crawl) = &self.state else { return None };
        // A drained agent leaves its work to the others.
        let how = crawl.wait(Duration::ZERO).filter(|how| *how != Ended::Drained)?;
        Some((format!("{} ended: {how}", self.name), how))
    }

    /// Makes the agent end its visits and save its state.
    pub fn stop(&self) {
        if let State::Joined(crawl) = &self.state {
            crawl.stop();
        }
    }

    /// Ends the agent as kill −9 would. Returns the maximum number of pages that may be fetched
    /// again: pages in flight, and recent pages whose links may not be replicated.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "rounded, never negative"
    )]
    pub fn kill(&mut self) -> u64 {
        let last = self.snapshot();
        if let State::Joined(crawl) = std::mem::replace(&mut self.state, State::Killed) {
            crawl.abandon();
        }
        let recent = self.rates.pages() * UNREPLICATED_MAX.as_secs_f64();
        last.visits + last.pipeline_pages + recent.ceil() as u64
    }

    /// Updates and returns the snapshot.
    pub fn snapshot(&mut self) -> Progress {
        if matches!(&self.state, State::Joining(joining) if joining.is_finished()) {
            // The agent's line shows a failure.
            let _ = self.wait_until_joined();
        }
        match &self.state {
            State::Joined(crawl) => self.last = crawl.snapshot(),
            // Pages of an ended agent still count.
            _ => self.last = after_end(&self.last),
        }
        self.rates.observe(&self.last);
        self.last.clone()
    }

    /// Returns the agent's line of the panel.
    pub fn line(&self) -> String {
        let name = format!("{:<9}", self.name);
        let s = &self.last;
        let pages = count(s.pages);
        match &self.state {
            State::Joining(_) => format!("{name}joining"),
            State::Killed => format!("{name}{pages} pages   killed"),
            State::Failed(why) => format!("{name}{why}"),
            State::Joined(_) => format!(
                "{name}{pages} pages   {}/s   queued {}   ready {} waiting {} resting {}   {}",
                rate(self.rates.pages()),
                count(s.urls_queued),
                count(s.hosts_ready),
                count(s.hosts_waiting),
                count(s.hosts_resting),
                bottleneck::words(s)
            ),
        }
    }

    /// Waits for the agent's end. Returns its report if it had joined and was not killed.
    pub fn finish(mut self) -> Option<Report> {
        let _ = self.wait_until_joined();
        match self.state {
            State::Joined(crawl) => Some(crawl.finish()),
            _ => None,
        }
    }
}

fn panicked() -> AgentError {
    OpenError::Broken("an agent panicked: this is a bug".to_owned()).into()
}

/// Returns the counts of a snapshot whose agent has ended.
fn after_end(last: &Progress) -> Progress {
    Progress {
        urls_queued: 0,
        hosts_ready: 0,
        hosts_waiting: 0,
        hosts_resting: 0,
        hosts_resolving: 0,
        hosts_paused: 0,
        visits: 0,
        pipeline_pages: 0,
        bottleneck: Bottleneck::Starting.into(),
        ..last.clone()
    }
}
