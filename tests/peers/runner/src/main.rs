//! `make bench-peers`: what a page costs Crivello, other crawlers and a floor, on the same web.
//!
//! In turns, some rounds, each crawler crawls a simulated web that is started anew for it, in a
//! network of its own where nothing but that web can be reached. What was fetched is taken from the
//! web's access log, what it cost from the system's accounting of the crawler's process. See
//! `tests/peers/README.md` for the settings of each.

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

// As Crivello does, so that the floor and the spider are not slower for their allocator.
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
        // Whoever begins a round is another one each time.
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

/// One crawl of a web that is started for it.
fn once(crawler: Crawler, settings: &Settings, target: &Target, dir: &Path) -> Result<Run> {
    let room = tempfile::tempdir_in(dir)?;
    let web = Web::start(&settings.crivello, &target.spec, room.path())?;
    let place = Place::new(room.path(), &web.ready, target)?;
    let cost = measure::run(crawler.command(settings, &place)?)?;
    let log = web.stop()?;
    Ok(Run { cost, tally: tally::Tally::of(&log, &target.urls) })
}
