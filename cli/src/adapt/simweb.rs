//! The simulated web: beside the demo in one process, or as a process of its own, with its judge.

use crate::args::simweb::{JudgeArgs, ServeArgs};
use crate::exit::Trouble;
use anyhow::Context;
use crivello_common::units::parse_duration;
use simweb::{Judge, Limits, Log, Pace, SimWeb, Spec};
use std::net::SocketAddr;
use std::path::Path;
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
/// When the description cannot be read or an address cannot be bound; a usage error when others
/// than this machine could visit although nobody asked for it.
pub fn serve(typed: &ServeArgs) -> Result<(), Trouble> {
    let spec = read_spec(typed.spec.as_deref())?;
    if let Some(what) = spec.beyond_loopback().filter(|_| !typed.insecure) {
        return Err(Trouble::usage(format!(
            "others than this machine could reach {what}; give --insecure if the network keeps \
             strangers out"
        )));
    }
    let web = simweb::serve::ServeArgs {
        spec,
        log: typed.access_log.clone(),
        until_stdin_ends: typed.until_stdin_ends,
    };
    let runtime = Runtime::new().context("the simulated web has no threads")?;
    runtime.block_on(simweb::serve::serve(web, std::io::stdout())).context("no simulated web")?;
    Ok(())
}

/// What an access log says about the visitor: a text of some lines, and whether the visitor kept
/// every promise.
///
/// # Errors
/// When a file cannot be read; a usage error when a time is none.
pub fn judge(typed: &JudgeArgs) -> Result<(String, bool), Trouble> {
    let time = |flag, text| {
        parse_duration(text).map_err(|error| Trouble::usage(format!("{flag} {text}: {error}")))
    };
    let delay = time("--delay", &typed.delay)?;
    let ip_delay = time("--ip-delay", &typed.ip_delay)?;
    let mut spec = read_spec(typed.spec.as_deref())?;
    let log = Log::read(&typed.access_log)
        .with_context(|| format!("the access log {} cannot be read", typed.access_log.display()))?;
    if let (0, Some(first)) = (spec.port, log.first()) {
        // Whichever was free then.
        spec.port = first.port;
    }
    let judge = Judge::new(spec, Limits::default(), Pace::delays(delay, ip_delay))
        .allow_repeats(typed.repeats_max);
    let judge = if typed.unfinished { judge.unfinished() } else { judge };
    let report = judge.judge(&log);
    Ok((report.to_string(), report.is_clean()))
}

fn read_spec(path: Option<&Path>) -> anyhow::Result<Spec> {
    let Some(path) = path else { return Ok(Spec::demo()) };
    let json = std::fs::read(path)
        .with_context(|| format!("the spec {} cannot be read", path.display()))?;
    serde_json::from_slice(&json)
        .with_context(|| format!("{} is no spec of a simulated web", path.display()))
}
