//! `crivello crawl`: a crawl by one agent, or by several in this process.

use crate::args::CrawlArgs;
use crate::exit::{CliError, Exit};
use crate::finish::{FinishOptions, finish, resume_command};
use crate::http::MetricsServer;
use crate::local_cluster;
use crate::plan::Plan;
use crate::run_loop::run_loop;
use crate::screen;

/// Crawls until nothing is left, a limit is reached or a signal arrives.
///
/// # Errors
/// Returns usage errors before anything is started; internal errors afterwards.
pub fn run(args: CrawlArgs) -> Result<Exit, CliError> {
    let plan = Plan::check(args)?;
    let (out, report, quiet) = (plan.out.clone(), plan.report.clone(), plan.quiet);
    let seeds_file = plan.seeds.file.as_ref().map(|file| file.path.clone());
    let agents = plan.agents;
    let _metrics = MetricsServer::open(plan.http.clone(), plan.meters.clone())?;
    let at_once = resume_command(&out, agents, seeds_file.as_deref());
    let at_exit = format!("exited at once; committed pages are safe. To resume: {at_once}");
    let before_exit = move || screen::print_line(&at_exit);
    let title = format!("saving to {}", out.display());
    let outcome = match agents {
        1 => run_loop(plan, title, before_exit)?,
        _ => local_cluster::run_loop::run_loop(plan, title, before_exit, false, None)?.outcome,
    };
    let seeds_left = seeds_file.filter(|_| !outcome.seeds_done);
    let resume = resume_command(&out, agents, seeds_left.as_deref());
    finish(
        &outcome,
        &FinishOptions { quiet, report: report.as_ref(), out: Some(&out), resume: Some(&resume) },
    )
}
