//! The simulated web: beside the demo in one process, or as a process of its own.

use crate::args::SimwebArgs;
use anyhow::Context;
use simweb::serve::{ServeArgs, serve as serve_web};
use simweb::{Limits, Pace, SimWeb, Spec};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::runtime::Runtime;

/// A simulated web that is being served by this process.
pub struct Web {
    web: SimWeb,
    _runtime: Runtime,
    /// Its name server.
    pub dns: SocketAddr,
    /// Where a crawl of it begins.
    pub seeds: Vec<String>,
    /// The networks it is in.
    pub networks: Vec<String>,
    /// How many hosts it has.
    pub n_hosts: u64,
}

impl Web {
    /// Serves the demo's web.
    ///
    /// # Errors
    /// When its addresses cannot be bound.
    pub fn demo() -> anyhow::Result<Self> {
        let runtime = Runtime::new().context("the simulated web has no threads")?;
        let web = runtime.block_on(SimWeb::start(Spec::demo()))?;
        Ok(Self {
            dns: web.dns(),
            seeds: web.seeds(),
            networks: web.networks(),
            n_hosts: u64::from(web.world().names().len()),
            web,
            _runtime: runtime,
        })
    }

    /// What its access log says about the visitor: a text of some lines, and whether the visitor
    /// kept every promise. The delays are those that the visitor claimed; `finished` says whether
    /// it claims to have fetched everything. Agents were killed who had so many pages in flight.
    pub fn judge(
        &self,
        delay: Duration,
        ip_delay: Duration,
        finished: bool,
        repeats_max: u64,
    ) -> (String, bool) {
        let judge = self.web.judge(Limits::default(), Pace::delays(delay, ip_delay));
        let judge = judge.allow_repeats(repeats_max);
        let judge = if finished { judge } else { judge.unfinished() };
        let report = judge.judge(&self.web.log().entries());
        (report.to_string(), report.is_clean())
    }
}

/// Serves the web that was asked for, prints one line of JSON on standard output once it is up,
/// and returns when a signal comes or, when asked, standard input ends.
///
/// # Errors
/// When the description cannot be read or an address cannot be bound.
pub fn serve(typed: &SimwebArgs) -> anyhow::Result<()> {
    let spec = match &typed.spec {
        None => Spec::demo(),
        Some(path) => {
            let json = std::fs::read(path)
                .with_context(|| format!("the spec {} cannot be read", path.display()))?;
            serde_json::from_slice(&json)
                .with_context(|| format!("{} is no spec of a simulated web", path.display()))?
        }
    };
    let args =
        ServeArgs { spec, log: typed.access_log.clone(), until_stdin_ends: typed.until_stdin_ends };
    let runtime = Runtime::new().context("the simulated web has no threads")?;
    runtime.block_on(serve_web(args, std::io::stdout()))?;
    Ok(())
}
