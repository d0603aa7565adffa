//! Settings from the environment.

use crate::crawlers::Crawler;
use anyhow::{Context, Result, bail};
use std::path::PathBuf;

/// Default number of pages of the web.
const PAGES: u32 = 20_000;
/// Default number of rounds.
const ROUNDS: usize = 3;

/// The crawlers to run, and the paths of the programs.
pub struct Settings {
    /// `CRIVELLO_PEERS_PAGES`: number of pages of the web.
    pub pages: u32,
    /// `CRIVELLO_PEERS_ROUNDS`: number of crawls by each crawler.
    pub rounds: usize,
    /// `CRIVELLO_PEERS_ONLY`: comma-separated names of the crawlers to run.
    pub crawlers: Vec<Crawler>,
    /// `CRIVELLO_BINARY`: the program that crawls and serves the simulated web.
    pub crivello: PathBuf,
    /// `CRIVELLO_PEERS_PYTHON`: a Python with Scrapy.
    pub python: PathBuf,
}

impl Settings {
    /// Reads the environment.
    pub fn read() -> Result<Self> {
        let crawlers = match std::env::var("CRIVELLO_PEERS_ONLY") {
            Err(_) => Crawler::ALL.to_vec(),
            Ok(names) => {
                names.split(',').map(|name| Crawler::named(name.trim())).collect::<Result<_>>()?
            }
        };
        let crivello = PathBuf::from(
            std::env::var_os("CRIVELLO_BINARY").context("CRIVELLO_BINARY must name the program")?,
        );
        if !crivello.is_file() {
            bail!("{} does not exist", crivello.display());
        }
        let python = std::env::var_os("CRIVELLO_PEERS_PYTHON").unwrap_or("python3".into()).into();
        Ok(Self {
            pages: number("CRIVELLO_PEERS_PAGES", PAGES)?,
            rounds: number("CRIVELLO_PEERS_ROUNDS", ROUNDS)?,
            crawlers,
            crivello,
            python,
        })
    }
}

fn number<N: std::str::FromStr>(name: &str, default: N) -> Result<N> {
    match std::env::var(name) {
        Err(_) => Ok(default),
        Ok(text) => text.parse().ok().with_context(|| format!("{name} is not a number: {text}")),
    }
}
