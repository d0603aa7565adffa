//! `crivello demo`: three agents crawl a simulated web inside this process. Keys kill and add agents.
//! Nothing leaves the machine.

use crate::args::{CrawlArgs, DemoArgs, SettingsArgs};
use crate::exit::{CliError, Exit, usage};
use crate::finish::{FinishOptions, finish};
use crate::format;
use crate::local_cluster::dirs::agents_in;
use crate::local_cluster::run_loop::{ClusterOutcome, run_loop};
use crate::plan::Plan;
use crate::screen;
use anyhow::Context;
use simweb::{JudgeLimits, Pace, SimWeb, Spec};
use std::fs;
use std::path::{Path, PathBuf};
use tokio::runtime::Runtime;

/// Number of agents.
const AGENTS: u16 = 3;

/// Serves the web, crawls it, and prints the verdict of its judge.
///
/// # Errors
/// Fails if the web cannot be served, the crawl fails or has no page, or the judge found a broken promise.
pub fn run(args: &DemoArgs) -> Result<Exit, CliError> {
    let out = OutputDir::choose(args.out.as_deref())?;
    let runtime = Runtime::new().context("cannot start the threads of the simulated web")?;
    let web = runtime.block_on(SimWeb::start(Spec::demo())).map_err(anyhow::Error::from)?;
    if !args.quiet {
        screen::print_line(&format!(
            "simulated web of {} hosts on loopback, DNS server at {}",
            format::count(web.world().names().len() as u64),
            web.dns()
        ));
    }
    let plan = Plan::check(as_crawl(args, &web, &out.path))?;
    let politeness = &plan.settings.live.politeness;
    let delays = Pace::delays(politeness.delay, politeness.ip_delay);
    let report = plan.report.clone();
    if let Some(at) = args.http.http.filter(|at| !at.ip().is_loopback()) {
        return Err(usage!("--http {at}: the dashboard of a demo listens on loopback only"));
    }
    // With --quiet the address is not printed, so only an explicit one is served.
    let http = Some(&args.http).filter(|http| !args.quiet || http.http.is_some());
    let kept = out.is_kept.then_some(out.path.as_path());
    let title = kept.map_or("demo (--out DIR keeps it)".to_owned(), |path| {
        format!("demo, saving to {}", path.display())
    });
    let unkept = (!out.is_kept).then(|| out.path.clone());
    // Files that are still being written may remain.
    let before_exit = move || drop(unkept.map(fs::remove_dir_all));
    let ClusterOutcome { outcome, repeats_max } =
        run_loop(plan, title, before_exit, !args.quiet, http)?;
    let options =
        FinishOptions { quiet: args.quiet, report: report.as_ref(), out: kept, resume: None };
    let exit = finish(&outcome, &options)?;
    let exhausted = exit == Exit::Finished && args.max_pages.is_none();
    let judge = web.judge(JudgeLimits::default(), delays).allow_repeats(repeats_max);
    let judge = if exhausted { judge } else { judge.unfinished() };
    let verdict = judge.judge(&web.log().entries());
    if !args.quiet {
        screen::print_out(&format!("\nVerdict of the simulated web:\n{verdict}\n"));
        if let Some(path) = kept {
            screen::print_line(&format!("kept in {}", path.display()));
        }
    }
    if exit == Exit::Finished && outcome.report.totals.pages == 0 {
        return Err(CliError::Internal(anyhow::anyhow!(
            "no page of the simulated web was fetched: this machine seems to be too busy; try again"
        )));
    }
    if exit == Exit::Finished && !verdict.is_clean() {
        return Err(CliError::Internal(anyhow::anyhow!("the simulated web found broken promises")));
    }
    Ok(exit)
}

/// Returns the arguments of `crivello crawl` for the demo.
fn as_crawl(args: &DemoArgs, web: &SimWeb, out: &Path) -> CrawlArgs {
    let settings = SettingsArgs {
        contact: Some("https://crivello.invalid/demo".to_owned()),
        // Short timeouts: some simulated hosts never respond, and killed agents lose their lease.
        sets: [
            "fetch.connect-timeout=2s",
            "fetch.first-byte-timeout=3s",
            "fetch.total-timeout=8s",
            "dns.timeout=1s",
            "dns.error-ttl=1s",
            "politeness.backoff-first=1s",
            "cluster.lease=5s",
        ]
        .map(str::to_owned)
        .to_vec(),
        max_pages: args.max_pages,
        delay: Some(args.delay.clone()),
        ip_delay: Some("50ms".to_owned()),
        dns: Some(web.dns().to_string()),
        allow_networks: web.networks(),
        ..SettingsArgs::default()
    };
    CrawlArgs {
        urls: web.seeds(),
        out: out.to_owned(),
        settings,
        traces: args.traces.clone(),
        report: args.report.clone(),
        // A kept demo resumes with all its agents.
        agents: agents_in(out).and_then(|n| u16::try_from(n).ok()).unwrap_or(0).max(AGENTS),
        quiet: args.quiet,
        ..CrawlArgs::default()
    }
}

/// Directory of the demo. A temporary one is removed on drop.
struct OutputDir {
    path: PathBuf,
    is_kept: bool,
}

impl OutputDir {
    fn choose(wanted: Option<&Path>) -> Result<Self, CliError> {
        if let Some(path) = wanted {
            return Ok(Self { path: path.to_owned(), is_kept: true });
        }
        let path = std::env::temp_dir().join(format!("crivello-demo-{}", std::process::id()));
        fs::create_dir(&path)
            .with_context(|| format!("cannot create the directory {}", path.display()))?;
        Ok(Self { path, is_kept: false })
    }
}

impl Drop for OutputDir {
    fn drop(&mut self) {
        if !self.is_kept
            && let Err(error) = fs::remove_dir_all(&self.path)
        {
            tracing::warn!("cannot remove {}: {error}", self.path.display());
        }
    }
}
