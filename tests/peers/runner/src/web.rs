//! The simulated web: its contents and its process.

use anyhow::{Context, Result, bail};
use simweb::serve::Ready;
use simweb::world::World;
use simweb::{Entry, Expected, JudgeLimits, Log, Spec};
use std::collections::{BTreeSet, HashSet};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Standard port of name servers; web servers use the standard port as well.
const DNS_PORT: u16 = 53;
const HTTP_PORT: u16 = 80;

/// The web to crawl.
pub struct Target {
    /// Spec of the web.
    pub spec: Spec,
    /// Every page that all crawlers must fetch.
    pub urls: HashSet<String>,
}

impl Target {
    /// Creates a web with this many pages.
    pub fn new(n_pages: u32) -> Self {
        let mut spec = Spec::bench(n_pages).port(HTTP_PORT);
        spec.dns_port = DNS_PORT;
        let expected = Expected::new(&World::new(spec.clone()), &JudgeLimits::default());
        let urls = expected.urls.into_iter().filter(|(_, due)| due.must).map(|(url, _)| url);
        Self { urls: urls.collect(), spec }
    }

    /// Returns the number of hosts.
    pub fn n_hosts(&self) -> usize {
        let hosts: BTreeSet<_> = self.urls.iter().filter_map(|url| url.split('/').nth(2)).collect();
        hosts.len()
    }
}

/// A web that is being served.
pub struct Web {
    process: Child,
    log: PathBuf,
    /// The line that the web printed when it was ready.
    pub ready: Ready,
}

impl Web {
    /// Starts the web.
    pub fn start(crivello: &Path, spec: &Spec, dir: &Path) -> Result<Self> {
        let (file, log) = (dir.join("web.json"), dir.join("access.log"));
        std::fs::write(&file, serde_json::to_vec(spec)?)?;
        let mut process = Command::new(crivello)
            .args(["simweb", "--until-stdin-ends", "--spec"])
            .arg(&file)
            .arg("--access-log")
            .arg(&log)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the simulated web")?;
        let mut line = String::new();
        BufReader::new(process.stdout.take().context("stdout is piped")?).read_line(&mut line)?;
        let ready =
            serde_json::from_str(&line).context("the simulated web did not become ready")?;
        Ok(Self { process, log, ready })
    }

    /// Stops the web and returns its access log.
    pub fn stop(mut self) -> Result<Vec<Entry>> {
        drop(self.process.stdin.take());
        let status = self.process.wait()?;
        if !status.success() {
            bail!("the simulated web ended with {status}");
        }
        Ok(Log::read(&self.log)?)
    }
}
