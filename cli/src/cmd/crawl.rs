//! `crivello crawl`: one agent, alone, or several in this process.

use crate::args::CrawlArgs;
use crate::drive::{Stage, drive};
use crate::ending::{Ending, conclude, resume_command};
use crate::exit::{Exit, Trouble};
use crate::fleet;
use crate::http::Site;
use crate::plan::Plan;
use crate::screen;

/// Crawls until nothing is left, a limit is reached or a signal comes.
///
/// # Errors
/// Usage errors before anything is begun; breakdowns after.
pub fn run(typed: CrawlArgs) -> Result<Exit, Trouble> {
    let plan = Plan::check(typed)?;
    let (out, report, quiet) = (plan.out.clone(), plan.report.clone(), plan.quiet);
    let seeds_file = plan.seeds.file.as_ref().map(|file| file.path.clone());
    let agents = plan.agents;
    let _site = Site::open(plan.http.clone(), plan.meters.clone())?;
    let at_once = resume_command(&out, agents, seeds_file.as_deref());
    let stage = Stage {
        title: format!("saving to {}", out.display()),
        farewell: move || {
            screen::say(&format!("left at once; what was committed is safe. To go on: {at_once}"));
        },
    };
    let driven = match agents {
        1 => drive(plan, stage)?,
        _ => fleet::drive::drive(plan, stage, false, None)?.driven,
    };
    let seeds_left = seeds_file.filter(|_| !driven.seeds_done);
    let resume = resume_command(&out, agents, seeds_left.as_deref());
    conclude(
        &driven,
        &Ending { quiet, report: report.as_ref(), out: Some(&out), resume: Some(&resume) },
    )
}
