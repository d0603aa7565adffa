//! What the environment says.

use crate::crawlers::Crawler;
use anyhow::{Context, Result, bail};
use std::path::PathBuf;

/// Pages of the web, unless told otherwise.
const PAGES: u32 = 20_000;
/// Rounds, unless told otherwise.
const ROUNDS: usize = 3;

/// What is to be run, and where the programs are.
pub struct Settings {
    /// `CRIVELLO_PEERS_PAGES`: pages of the web.
    pub pages: u32,
    /// `CRIVELLO_PEERS_ROUNDS`: how often each crawls it.
    pub rounds: usize,
    /// `CRIVELLO_PEERS_ONLY`: who takes part, names with commas between them.
    pub crawlers: Vec<Crawler>,
    /// `CRIVELLO_BINARY`: the program that crawls, and that serves the simulated web.
    pub crivello: PathBuf,
    /// `CRIVELLO_PEERS_PYTHON`: a Python that has Scrapy.
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
            bail!("there is no {}", crivello.display());
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
        Ok(text) => text.parse().ok().with_context(|| format!("{name} is no number: {text}")),
    }
}
