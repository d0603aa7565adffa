//! `crivello seed`: sends seeds to a crawl.

use crate::args::cluster::SeedArgs;
use crate::cluster::seed_sender::{SeedProgress, SeedReader, SeedSender};
use crate::cluster::{MemberList, connect, list};
use crate::exit::{CliError, Exit};
use crate::plan::{SeedInput, SeedSources, open_seeds};
use crate::seeds::{self, SeedErrors, SeedIter};
use crate::signals::Signals;
use crate::{format, screen};
use anyhow::anyhow;
use std::path::{Path, PathBuf};

/// Sends all seeds and returns once agents have stored them.
///
/// # Errors
/// Returns usage errors before anything is sent. Fails if the coordinator cannot be reached, or if
/// no agent accepts seeds.
pub async fn run(args: SeedArgs) -> Result<Exit, CliError> {
    let sources = sources(args.seeds)?;
    let (mut client, credentials) = connect(&args.coordinator).await?;
    // Detects missing permissions before seeds are read.
    list(&mut client).await?;
    let mut members = MemberList::new(client);
    let signals =
        Signals::listen(|| screen::print_line("exited at once; acknowledged seeds are stored"))?;
    let seed_errors = SeedErrors::default();
    let mut reader = SeedReader::start(SeedIter::new(sources, signals, seed_errors.clone()))?;
    let (clients, mut on_progress) = (credentials.agent_clients(), show_progress);
    let sender = SeedSender::new(&mut members, &clients, &seed_errors, &mut on_progress);
    let sent = sender.send_all(&mut reader).await;
    screen::restore();
    finish(&sent?, &seed_errors, reader.is_complete())
}

/// Sorts the arguments into URLs and at most one file.
fn sources(seeds: Vec<String>) -> Result<SeedSources, CliError> {
    let (mut urls, mut file): (Vec<String>, Option<SeedInput>) = (Vec::new(), None);
    for text in seeds {
        let is_file = text == "-" || !text.contains("://") && Path::new(&text).exists();
        if !is_file {
            urls.push(text);
        } else if let Some(first) = &file {
            return Err(CliError::usage(format!(
                "{text}: only one file can be given, and {} is one",
                first.name
            )));
        } else {
            file = Some(open_seeds("the file", PathBuf::from(text))?);
        }
    }
    if file.is_none() {
        seeds::check_any(&urls).map_err(|why| {
            CliError::usage(format!("{why} (and there is no file of that name); nothing was sent"))
        })?;
    }
    Ok(SeedSources { urls, file })
}

fn show_progress(progress: &SeedProgress) {
    if screen::can_draw() {
        let SeedProgress { stored, in_flight, agent } = progress;
        let (stored, in_flight) = (format::count(*stored), format::count(*in_flight));
        let line = format!("{stored} seeds stored, {in_flight} in flight to {agent}");
        // A closed terminal does not stop the command.
        let _ = screen::draw(vec![line.chars().take(screen::width()).collect()]);
    }
}

fn finish(
    progress: &SeedProgress,
    seed_errors: &SeedErrors,
    complete: bool,
) -> Result<Exit, CliError> {
    let rejected = seed_errors.rejected();
    let rejections = match rejected {
        0 => String::new(),
        n => format!(", {} rejected", format::count(n)),
    };
    let result = format!("{} seeds stored{rejections}", format::count(progress.stored));
    if let Some(error) = seed_errors.error() {
        let why = format!("the seeds could not be read to their end: {error}; {result}");
        return Err(CliError::Internal(anyhow!(why)));
    }
    if !complete {
        screen::print_line(&format!("stopped before all seeds were read; {result}"));
        return Ok(Exit::Stopped);
    }
    if progress.stored == 0 && rejected > 0 {
        return Err(CliError::usage("this crawl may visit none of the seeds"));
    }
    screen::print_line(&result);
    Ok(Exit::Finished)
}
