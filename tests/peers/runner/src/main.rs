//! `make bench-peers`: the cost of a page for Crivello, other crawlers and a floor, on the same
//! web.
//!
//! In several rounds, each crawler in turn crawls a simulated web that is started for it, in a
//! network where only that web can be reached. The fetched pages are taken from the web's access
//! log, and the cost from the system's accounting of the crawler's process. See
//! `tests/peers/README.md` for the settings of each crawler.

mod apart;
mod crawlers;
mod floor;
mod measure;
mod settings;
mod table;
mod tally;
mod web;

use anyhow::{Context, Result};
use crawlers::{Crawler, Place};
use settings::Settings;
use std::path::Path;
use table::{Run, Table};
use web::{Target, Web};

// The allocator of Crivello, so that floor and spider are not slower because of theirs.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    if args.next().as_deref() == Some(crawlers::FLOOR) {
        let list = args.next().context("the floor needs a list of URLs")?;
        return floor::run(Path::new(&list));
    }
    let dir = tempfile::tempdir()?;
    apart::enter(dir.path())?;
    bench(&Settings::read()?, dir.path())
}

fn bench(settings: &Settings, dir: &Path) -> Result<()> {
    let target = Target::new(settings.pages);
    println!(
        "{} pages on {} hosts, {} requests at once, {} rounds",
        target.urls.len(),
        target.n_hosts(),
        crawlers::CONCURRENCY,
        settings.rounds
    );
    let mut taking_part = Vec::new();
    for crawler in settings.crawlers.iter().copied() {
        match crawler.version(settings) {
            Ok(version) => {
                println!("{:<18} {version}", crawler.name());
                taking_part.push(crawler);
            }
            Err(why) => println!("{:<18} left out: {why:#}", crawler.name()),
        }
    }
    let mut table = Table::new(&taking_part);
    for round in 0..settings.rounds {
        // Rotates the order, so that each round begins with a different crawler.
        let n = taking_part.len().max(1);
        for k in 0..taking_part.len() {
            let crawler = taking_part[(k + round) % n];
            match once(crawler, settings, &target, dir) {
                Ok(run) => println!("{}", table.add(round, crawler, run)),
                Err(why) => {
                    println!("round {} {:<10} NOT RUN: {why:#}", round + 1, crawler.name());
                }
            }
        }
    }
    println!("\n{table}");
    Ok(())
}

/// Runs one crawl of a web that is started for it.
fn once(crawler: Crawler, settings: &Settings, target: &Target, dir: &Path) -> Result<Run> {
    let room = tempfile::tempdir_in(dir)?;
    let web = Web::start(&settings.crivello, &target.spec, room.path())?;
    let place = Place::new(room.path(), &web.ready, target)?;
    let cost = measure::run(crawler.command(settings, &place)?)?;
    let log = web.stop()?;
    Ok(Run { cost, tally: tally::Tally::of(&log, &target.urls) })
}
