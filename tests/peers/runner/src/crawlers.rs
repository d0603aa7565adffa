//! The crawlers and the commands that start them.

use crate::settings::Settings;
use crate::web::Target;
use anyhow::{Context, Result, bail, ensure};
use simweb::serve::Ready;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Number of requests in flight of every crawler.
pub const CONCURRENCY: usize = 64;
/// Argument that makes this program the floor.
pub const FLOOR: &str = "--floor";
/// Address of Crivello's metrics during the run; port 0 picks one.
const METRICS: &str = "127.0.0.1:0";
/// Lock file of the build, with the versions of all crates.
const LOCK: &str = include_str!("../../Cargo.lock");

/// A crawler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Crawler {
    /// Crivello with everything on.
    Crivello,
    /// Not a crawler: see [`crate::floor`].
    Floor,
    /// The spider crate: one crawl per host, robots.txt obeyed.
    Spider,
    /// The spider crate: one crawl for all hosts, robots.txt not fetched.
    SpiderOne,
    /// Scrapy.
    Scrapy,
    /// wget2.
    Wget2,
}

/// Input of a crawler.
pub struct Place {
    /// Directory of the crawler.
    dir: PathBuf,
    /// File of the seed URLs.
    seeds: PathBuf,
    /// File of all URLs, for the floor.
    list: PathBuf,
    dns: String,
    networks: Vec<String>,
}

impl Place {
    /// Writes the input for a crawl of this web to this directory.
    pub fn new(dir: &Path, ready: &Ready, target: &Target) -> Result<Self> {
        let (seeds, list) = (dir.join("seeds"), dir.join("urls"));
        std::fs::write(&seeds, ready.seeds.join("\n") + "\n")?;
        let mut urls: Vec<_> = target.urls.iter().map(String::as_str).collect();
        urls.sort_unstable();
        std::fs::write(&list, urls.join("\n") + "\n")?;
        let dns = ready.dns.to_string();
        Ok(Self { dir: dir.to_owned(), seeds, list, dns, networks: ready.networks.clone() })
    }
}

impl Crawler {
    /// All crawlers, in the order of the table.
    pub const ALL: [Self; 6] =
        [Self::Crivello, Self::Floor, Self::Spider, Self::SpiderOne, Self::Scrapy, Self::Wget2];

    /// Returns the name in settings and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Crivello => "crivello",
            Self::Floor => "floor",
            Self::Spider => "spider",
            Self::SpiderOne => "spider-one",
            Self::Scrapy => "scrapy",
            Self::Wget2 => "wget2",
        }
    }

    /// Returns the crawler with this name.
    pub fn named(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|crawler| crawler.name() == name);
        found.with_context(|| format!("CRIVELLO_PEERS_ONLY: unknown crawler {name:?}"))
    }

    /// Returns the installed version. Fails if the crawler is not installed.
    pub fn version(self, settings: &Settings) -> Result<String> {
        match self {
            Self::Crivello => first_line(Command::new(&settings.crivello).arg("--version")),
            Self::Floor => Ok(format!(
                "reqwest {}, lol_html {}, gzip level 1",
                locked("reqwest")?,
                locked("lol_html")?
            )),
            Self::Spider | Self::SpiderOne => {
                ensure!(spider()?.is_file(), "{} was not built", spider()?.display());
                Ok(format!("spider {}", locked("spider")?))
            }
            Self::Scrapy => {
                let line = "import scrapy, sys; print('Scrapy', scrapy.__version__, \
                    'on Python', sys.version.split()[0])";
                first_line(Command::new(&settings.python).args(["-c", line]))
            }
            Self::Wget2 => first_line(Command::new("wget2").arg("--version")),
        }
    }

    /// Returns the command of one crawl.
    pub fn command(self, settings: &Settings, place: &Place) -> Result<Command> {
        let mut command = match self {
            Self::Crivello => crivello(settings, place),
            Self::Floor => {
                let mut command = Command::new(std::env::current_exe()?);
                command.arg(FLOOR).arg(&place.list);
                command
            }
            Self::Spider | Self::SpiderOne => {
                let mut command = Command::new(spider()?);
                let way = if self == Self::Spider { "each" } else { "one" };
                command.arg(way).arg(CONCURRENCY.to_string()).arg(&place.seeds);
                command
            }
            Self::Scrapy => {
                let mut command = Command::new(&settings.python);
                let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scrapy/crawl.py");
                command.arg(script).arg(CONCURRENCY.to_string()).arg(&place.seeds);
                command
            }
            Self::Wget2 => wget2(place),
        };
        command.current_dir(&place.dir).stdin(Stdio::null()).stdout(Stdio::null());
        Ok(command)
    }
}

fn crivello(settings: &Settings, place: &Place) -> Command {
    let mut command = Command::new(&settings.crivello);
    command
        .args(["crawl", "--quiet", "--contact", "https://crivello.example/bot"])
        .args(["--delay", "0s", "--ip-delay", "0s", "--http", METRICS])
        .arg(format!("--set=fetch.visits-max={CONCURRENCY}"))
        .args(["--dns", &place.dns, "--seeds"])
        .arg(&place.seeds)
        .arg("--out")
        .arg(place.dir.join("crawl"))
        .env_remove("OTEL_EXPORTER_OTLP_ENDPOINT");
    for network in &place.networks {
        command.args(["--allow-network", network]);
    }
    command
}

/// Returns the command of wget2. It stores what it fetches as files, because that is its purpose
/// and it reads links from there.
fn wget2(place: &Place) -> Command {
    let mut command = Command::new("wget2");
    command
        .args(["--no-config", "--quiet", "--recursive", "--level=inf", "--span-hosts"])
        .args(["--robots=on", "--tries=1", "--no-cookies", "--wait=0"])
        .arg(format!("--max-threads={CONCURRENCY}"))
        .arg("--directory-prefix")
        .arg(place.dir.join("files"))
        .arg("--input-file")
        .arg(&place.seeds);
    command
}

/// Returns the path of the spider program, which is built beside this one.
fn spider() -> Result<PathBuf> {
    Ok(std::env::current_exe()?.with_file_name("peers-spider"))
}

/// Returns the version of a crate that was built: the last one in the lock file, if there are
/// several.
fn locked(name: &str) -> Result<&'static str> {
    let head = format!("name = \"{name}\"\nversion = \"");
    let (_, rest) = LOCK.rsplit_once(&head).context("the crate is not in the lock file")?;
    Ok(rest.split('"').next().unwrap_or_default())
}

fn first_line(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot run {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?}: {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned())
}
