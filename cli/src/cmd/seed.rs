//! `crivello seed`: sends seeds to a crawl.

use crate::args::cluster::SeedArgs;
use crate::args::connection::ConnectArgs;
use crate::cluster::seed_sender::{SeedProgress, SeedSender};
use crate::cluster::{MemberList, connect, list};
use crate::exit::{CliError, Exit, usage};
use crate::seeds::{self, SeedErrors, SeedInput, SeedIter, SeedSources};
use crate::{format, screen, signals};
use anyhow::anyhow;
use std::path::{Path, PathBuf};

/// Sends all seeds and returns once agents have stored them.
///
/// # Errors
/// Returns usage errors before anything is sent. Fails if the coordinator cannot be reached, or if
/// no agent accepts seeds.
pub async fn run(args: SeedArgs) -> Result<Exit, CliError> {
    send(args.seeds, &args.coordinator, Purpose::Crawl).await
}

/// Purpose of the URLs that are sent.
#[derive(Debug)]
pub enum Purpose {
    /// They are seeds.
    Crawl,
    /// Those that the crawl knows are fetched again, and all pages of these hosts.
    FetchAgain(Vec<String>),
}

impl Purpose {
    const fn words(&self) -> Words {
        match self {
            Self::Crawl => Words { one: ("seed", "stored"), many: ("seeds", "stored") },
            Self::FetchAgain(_) => Words {
                one: ("URL or host", "passed on to its agent"),
                many: ("URLs and hosts", "passed on to their agents"),
            },
        }
    }
}

/// The words for what is sent, and for what became of it, in the singular and the plural.
#[derive(Clone, Copy, Debug)]
struct Words {
    one: (&'static str, &'static str),
    many: (&'static str, &'static str),
}

/// Sends all URLs, and names of hosts to fetch again, and returns once agents have stored them.
///
/// # Errors
/// As [`run`].
pub async fn send(
    urls: Vec<String>,
    coordinator: &ConnectArgs,
    purpose: Purpose,
) -> Result<Exit, CliError> {
    let sources = if urls.is_empty() { SeedSources::default() } else { sources(urls)? };
    let (mut client, credentials) = connect(coordinator).await?;
    // Detects missing permissions before seeds are read.
    list(&mut client).await?;
    let clients = credentials.agent_clients(client.clone());
    let members = MemberList::new(client);
    let stop =
        signals::listen(|| screen::print_line("exited at once; acknowledged seeds are stored"))?;
    let seed_errors = SeedErrors::default();
    let seeds = (SeedIter::new(sources, stop, seed_errors.clone()), seed_errors.clone());
    let sender = SeedSender::start(seeds, members, clients, show_progress)?;
    let words = purpose.words();
    let sender = match purpose {
        Purpose::Crawl => sender,
        Purpose::FetchAgain(hosts) => sender.fetching_again(hosts),
    };
    let sent = sender.send_all().await;
    screen::restore();
    finish(&sent?, &seed_errors, words)
}

/// Sorts the arguments into URLs and at most one file.
fn sources(seeds: Vec<String>) -> Result<SeedSources, CliError> {
    let (mut urls, mut file): (Vec<String>, Option<SeedInput>) = (Vec::new(), None);
    for text in seeds {
        let is_file = text == "-" || !text.contains("://") && Path::new(&text).exists();
        if !is_file {
            urls.push(text);
        } else if let Some(first) = &file {
            return Err(usage!("{text}: only one file can be given, and {} is one", first.name));
        } else {
            file = Some(seeds::open("the file", PathBuf::from(text))?);
        }
    }
    if file.is_none() {
        seeds::check_any(&urls)
            .map_err(|why| usage!("{why} (and there is no file of that name); nothing was sent"))?;
    }
    Ok(SeedSources { urls, file })
}

fn show_progress(progress: &SeedProgress) {
    let (stored, in_flight) = (format::count(progress.stored), format::count(progress.in_flight));
    let agent = &progress.agent;
    screen::show_line(&format!("{stored} stored, {in_flight} in flight to {agent}"));
}

fn finish(
    progress: &SeedProgress,
    seed_errors: &SeedErrors,
    words: Words,
) -> Result<Exit, CliError> {
    let (many, _) = words.many;
    let rejected = seed_errors.rejected();
    let rejections = match rejected {
        0 => String::new(),
        n => format!(", {} rejected", format::count(n)),
    };
    let (word, fate) = if progress.stored == 1 { words.one } else { words.many };
    let result = format!("{} {word} {fate}{rejections}", format::count(progress.stored));
    if let Some(error) = seed_errors.error() {
        let why = format!("the {many} could not be read to their end: {error}; {result}");
        return Err(CliError::Internal(anyhow!(why)));
    }
    if !progress.all_read {
        screen::print_line(&format!("stopped before all {many} were read; {result}"));
        return Ok(Exit::Stopped);
    }
    if progress.stored == 0 && rejected > 0 {
        return Err(usage!("this crawl may visit none of the {many}"));
    }
    screen::print_line(&result);
    Ok(Exit::Finished)
}
