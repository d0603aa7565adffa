//! `crivello seed`: tells a crawl where to begin.

use crate::args::cluster::SeedArgs;
use crate::cluster::sower::{Basket, Sower, Sown};
use crate::cluster::{Guide, connect, list};
use crate::exit::{Exit, Trouble};
use crate::plan::{self, OpenSeeds, open_seeds};
use crate::seeds::{self, Account, Seeds};
use crate::signals::Signals;
use crate::{human, screen};
use anyhow::anyhow;
use std::path::{Path, PathBuf};

/// Brings all seeds to the crawl; returns once they are safe with its agents.
///
/// # Errors
/// Usage errors before anything is sent; when the coordinator cannot be reached, or no agent takes
/// them.
pub async fn run(typed: SeedArgs) -> Result<Exit, Trouble> {
    let given = given(typed.seeds)?;
    let (mut client, papers) = connect(&typed.coordinator).await?;
    // Who may not ask at all is told so at once.
    list(&mut client).await?;
    let mut guide = Guide::new(client);
    let signals = Signals::listen(|| screen::say("left at once; what was answered for is safe"))?;
    let account = Account::default();
    let mut basket = Basket::fill(Seeds::new(given, signals, account.clone()))?;
    let (crowd, mut told) = (papers.crowd(), tell);
    let sown = Sower::new(&mut guide, &crowd, &account, &mut told).sow(&mut basket).await;
    screen::restore();
    conclude(&sown?, &account, basket.is_complete())
}

/// URLs, and at most one file.
fn given(seeds: Vec<String>) -> Result<plan::Seeds, Trouble> {
    let (mut urls, mut file): (Vec<String>, Option<OpenSeeds>) = (Vec::new(), None);
    for text in seeds {
        let is_file = text == "-" || !text.contains("://") && Path::new(&text).exists();
        if !is_file {
            urls.push(text);
        } else if let Some(first) = &file {
            return Err(Trouble::usage(format!("{text}: one file is enough, {} was", first.name)));
        } else {
            file = Some(open_seeds("the file", PathBuf::from(text))?);
        }
    }
    if file.is_none() {
        seeds::some_url(&urls).map_err(|why| {
            Trouble::usage(format!("{why} (and no file of that name either); nothing was sent"))
        })?;
    }
    Ok(plan::Seeds { urls, file })
}

fn tell(sown: &Sown) {
    if screen::can_draw() {
        let Sown { safe, on_their_way, to } = sown;
        let (safe, going) = (human::count(*safe), human::count(*on_their_way));
        let line = format!("{safe} seeds are safe, {going} on their way to {to}");
        // A terminal that went away ends nothing.
        let _ = screen::draw(vec![line.chars().take(screen::width()).collect()]);
    }
}

fn conclude(sown: &Sown, account: &Account, complete: bool) -> Result<Exit, Trouble> {
    let refused = account.refused();
    let refusals = match refused {
        0 => String::new(),
        n => format!(", {} were refused", human::count(n)),
    };
    let said = format!("{} seeds are safe with the crawl{refusals}", human::count(sown.safe));
    if let Some(error) = account.error() {
        let why = format!("the seeds could not be read to their end: {error}; {said}");
        return Err(Trouble::Internal(anyhow!(why)));
    }
    if !complete {
        screen::say(&format!("stopped before all seeds were read; {said}"));
        return Ok(Exit::Stopped);
    }
    if sown.safe == 0 && refused > 0 {
        return Err(Trouble::usage("none of the seeds may be visited by this crawl"));
    }
    screen::say(&said);
    Ok(Exit::Finished)
}
