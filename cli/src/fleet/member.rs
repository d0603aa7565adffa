//! One agent of a fleet, from joining to its report.

use crate::http::Meters;
use crate::human::{count, rate};
use crate::rate::Rates;
use anyhow::Context;
use crivello_agent::progress::Snapshot;
use crivello_agent::report::{Ended, Report};
use crivello_agent::{AgentError, Crawl, JoinOptions, OpenError, Otlp};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// What an agent did so lately may be known to nobody else.
const MOMENTS: Duration = Duration::from_secs(2);

/// See the module.
pub struct Member {
    /// Of its directory, too.
    pub name: String,
    stand: Stand,
    /// As it was last seen.
    last: Snapshot,
    rates: Rates,
}

enum Stand {
    Joining(JoinHandle<Result<Crawl, AgentError>>),
    In(Box<Crawl>),
    Killed,
    /// It could not join.
    Out(String),
}

impl Member {
    /// Begins to join the cluster of the coordinator at `url`.
    pub fn join(
        url: &str,
        dir: &Path,
        name: String,
        (meters, otlp): (Meters, Option<Otlp>),
        stop: CancellationToken,
    ) -> anyhow::Result<Self> {
        let options = JoinOptions {
            coordinator: url.to_owned(),
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            advertise: None,
            dir: dir.to_owned(),
            name: Some(name.clone()),
            weight: 1,
            tls: None,
            token: None,
        };
        let joining = Builder::new()
            .name(format!("join {name}"))
            .spawn(move || {
                let crawl = Crawl::join(&options, &stop)?;
                meters.add(crawl.meter());
                otlp.iter().for_each(|otlp| crawl.export_traces(otlp));
                Ok(crawl)
            })
            .context("no thread for an agent")?;
        let (last, rates) = (Snapshot::default(), Rates::default());
        Ok(Self { name, stand: Stand::Joining(joining), last, rates })
    }

    /// Waits until it has joined.
    pub fn wait_until_in(&mut self) -> Result<(), AgentError> {
        let joining = match std::mem::replace(&mut self.stand, Stand::Killed) {
            Stand::Joining(joining) => joining,
            settled => {
                self.stand = settled;
                return Ok(());
            }
        };
        let broken =
            || AgentError::from(OpenError::Broken("an agent panicked: this is a bug".to_owned()));
        let joined = joining.join().map_err(|_| broken()).and_then(|joined| joined);
        match joined {
            Ok(crawl) => {
                self.stand = Stand::In(Box::new(crawl));
                Ok(())
            }
            Err(error) => {
                self.stand = Stand::Out(error.to_string());
                Err(error)
            }
        }
    }

    /// Whether it crawls.
    pub const fn is_in(&self) -> bool {
        matches!(self.stand, Stand::In(_))
    }

    /// How it ended, when nobody asked for it.
    pub fn fallen(&self) -> Option<(String, Ended)> {
        let Stand::In(crawl) = &self.stand else { return None };
        // One that was drained leaves its work to the others.
        let how = crawl.wait(Duration::ZERO).filter(|how| *how != Ended::Drained)?;
        Some((format!("{} ended: {how}", self.name), how))
    }

    /// Asks it to end its visits and save.
    pub fn stop(&self) {
        if let Stand::In(crawl) = &self.stand {
            crawl.stop();
        }
    }

    /// Ends it as a kill would; says how many pages may be fetched once more: those on their way,
    /// and those of the last moments, whose links nobody else may have.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "rounded, never negative"
    )]
    pub fn kill(&mut self) -> u64 {
        let last = self.look();
        if let Stand::In(crawl) = std::mem::replace(&mut self.stand, Stand::Killed) {
            crawl.abandon();
        }
        let lately = self.rates.pages() * MOMENTS.as_secs_f64();
        last.visits + last.pipeline_pages + lately.ceil() as u64
    }

    /// How it stands.
    pub fn look(&mut self) -> Snapshot {
        if matches!(&self.stand, Stand::Joining(joining) if joining.is_finished()) {
            // Its line says why, if it could not.
            let _ = self.wait_until_in();
        }
        match &self.stand {
            Stand::In(crawl) => self.last = crawl.snapshot(),
            // What it did stays done.
            _ => self.last = settled(&self.last),
        }
        self.rates.observe(&self.last);
        self.last.clone()
    }

    /// How it stands, in a line.
    pub fn line(&self) -> String {
        let name = format!("{:<9}", self.name);
        let s = &self.last;
        let pages = count(s.pages);
        match &self.stand {
            Stand::Joining(_) => format!("{name}joining"),
            Stand::Killed => format!("{name}{pages} pages   killed"),
            Stand::Out(why) => format!("{name}{why}"),
            Stand::In(_) => format!(
                "{name}{pages} pages   {}/s   queued {}   ready {} waiting {} resting {}   {}",
                rate(self.rates.pages()),
                count(s.urls_queued),
                count(s.hosts.ready),
                count(s.hosts.waiting),
                count(s.hosts.resting),
                s.pace
            ),
        }
    }

    /// Waits for its end; what happened, if it ever was a member and was not killed.
    pub fn finish(mut self) -> Option<Report> {
        let _ = self.wait_until_in();
        match self.stand {
            Stand::In(crawl) => Some(crawl.finish()),
            _ => None,
        }
    }
}

/// What is left of a snapshot when whoever gave it is gone: its counts.
fn settled(last: &Snapshot) -> Snapshot {
    let nothing = Snapshot::default();
    Snapshot {
        urls_queued: 0,
        hosts: nothing.hosts,
        visits: 0,
        pipeline_pages: 0,
        pace: nothing.pace,
        ..last.clone()
    }
}
