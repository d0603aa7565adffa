//! `crivello demo`: a simulated web inside this process, crawled before your eyes by three agents;
//! one key kills one of them, another adds one. Nothing leaves the machine.

use crate::adapt::simweb::Web;
use crate::args::cluster::HttpsArgs;
use crate::args::{CrawlArgs, DemoArgs, SettingsArgs};
use crate::drive::Stage;
use crate::ending::{Ending, conclude};
use crate::exit::{Exit, Trouble};
use crate::fleet::agents_in;
use crate::fleet::drive::{FleetDriven, drive};
use crate::human;
use crate::plan::Plan;
use crate::screen;
use anyhow::Context;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Who crawls.
const AGENTS: u16 = 3;

/// Serves the web, crawls it, and lets it judge its visitor.
///
/// # Errors
/// When the web cannot be served, the crawl breaks, or the web found a promise broken.
pub fn run(typed: &DemoArgs) -> Result<Exit, Trouble> {
    let out = Out::choose(typed.out.as_deref())?;
    let web = Web::demo()?;
    if !typed.quiet {
        screen::say(&format!(
            "a simulated web of {} hosts, on loopback; its name server is {}",
            human::count(web.n_hosts),
            web.dns
        ));
    }
    let plan = Plan::check(as_crawl(typed, &web, out.path()))?;
    let (delay, ip_delay) = (plan.settings.politeness.delay, plan.settings.politeness.ip_delay);
    let report = plan.report.clone();
    // Nobody is told where it is when nothing is to be said.
    if let Some(at) = typed.http.http.filter(|at| !at.ip().is_loopback()) {
        return Err(Trouble::usage(format!(
            "--http {at}: the dashboard of a demonstration is for this machine alone"
        )));
    }
    let http = Some(&typed.http).filter(|http| !typed.quiet || http.http.is_some());
    let FleetDriven { driven, repeats_max } = drive(plan, stage(&out), !typed.quiet, http)?;
    let ending = Ending {
        quiet: typed.quiet,
        report: report.as_ref(),
        out: out.is_kept().then_some(out.path()),
        resume: None,
    };
    let end = conclude(&driven, &ending)?;
    let exhausted = end == Exit::Finished && typed.max_pages.is_none();
    let (judgment, kept_promises) = web.judge(delay, ip_delay, exhausted, repeats_max);
    if !typed.quiet {
        let mut stdout = std::io::stdout().lock();
        // Nobody may be reading.
        let _ = writeln!(stdout, "\nWhat the simulated web says of its visitor:\n{judgment}");
    }
    if out.is_kept() && !typed.quiet {
        screen::say(&format!("kept in {}", out.path().display()));
    }
    if end == Exit::Finished && !kept_promises {
        return Err(Trouble::Internal(anyhow::anyhow!("the simulated web found promises broken")));
    }
    Ok(end)
}

fn stage(out: &Out) -> Stage<impl FnOnce() + Send + use<>> {
    let path = out.path().to_owned();
    let title = if out.is_kept() {
        format!("a demonstration, saving to {}", path.display())
    } else {
        "a demonstration (--out DIR would keep it)".to_owned()
    };
    let is_kept = out.is_kept();
    let farewell = move || {
        if !is_kept {
            // What is still being written to may stay behind.
            let _ = fs::remove_dir_all(&path);
        }
    };
    Stage { title, farewell }
}

/// The demo as a crawl that could have been typed.
fn as_crawl(typed: &DemoArgs, web: &Web, out: &Path) -> CrawlArgs {
    let settings = SettingsArgs {
        contact: Some("https://crivello.invalid/demo".to_owned()),
        // The hosts that never answer are not worth waiting for in a demonstration.
        sets: [
            "fetch.connect-timeout=2s",
            "fetch.first-byte-timeout=3s",
            "fetch.total-timeout=8s",
            "dns.timeout=1s",
            "dns.error-ttl=1s",
            "politeness.backoff-first=1s",
            // Nor is the lease of an agent that was killed.
            "cluster.lease=3s",
        ]
        .map(str::to_owned)
        .to_vec(),
        max_pages: typed.max_pages,
        delay: Some(typed.delay.clone()),
        ip_delay: Some("50ms".to_owned()),
        dns: Some(web.dns.to_string()),
        allow_networks: web.networks.clone(),
        ..SettingsArgs::default()
    };
    CrawlArgs {
        urls: web.seeds.clone(),
        seeds: None,
        out: out.to_owned(),
        settings,
        traces: typed.traces.clone(),
        report: typed.report.clone(),
        // One that is kept goes on with those it had.
        agents: agents_in(out).and_then(|n| u16::try_from(n).ok()).unwrap_or(0).max(AGENTS),
        http: None,
        https: HttpsArgs::default(),
        token_file: None,
        insecure: false,
        quiet: typed.quiet,
    }
}

/// Where the demo saves: a directory to keep, or one that is removed when this is dropped.
enum Out {
    Kept(PathBuf),
    Temporary(PathBuf),
}

impl Out {
    fn choose(wanted: Option<&Path>) -> Result<Self, Trouble> {
        if let Some(path) = wanted {
            return Ok(Self::Kept(path.to_owned()));
        }
        let path = std::env::temp_dir().join(format!("crivello-demo-{}", std::process::id()));
        fs::create_dir(&path)
            .with_context(|| format!("no temporary directory {}", path.display()))?;
        Ok(Self::Temporary(path))
    }

    fn path(&self) -> &Path {
        let (Self::Kept(path) | Self::Temporary(path)) = self;
        path
    }

    const fn is_kept(&self) -> bool {
        matches!(self, Self::Kept(_))
    }
}

impl Drop for Out {
    fn drop(&mut self) {
        if let Self::Temporary(path) = self
            && let Err(error) = fs::remove_dir_all(&*path)
        {
            tracing::warn!("{} cannot be removed: {error}", path.display());
        }
    }
}
