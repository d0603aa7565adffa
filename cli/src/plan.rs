//! What may be relied on: settings checked, directories looked at, seeds opened, before anything
//! is begun.

use crate::adapt::settings::{self, Flag};
use crate::adapt::traces::collector;
use crate::args::{CrawlArgs, SettingsArgs};
use crate::cluster::token_in;
use crate::exit::Trouble;
use crate::fleet;
use crate::http::{Meters, Place};
use crate::report_file::ReportFile;
use crate::seeds;
use anyhow::anyhow;
use crivello_agent::Otlp;
use crivello_common::config::{Given, HALF_BEGUN, SETTINGS_FILE, Settings};
use crivello_coordinator::given_last;
use std::fs::{self, File};
use std::io::{self, BufReader};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// A crawl that can be begun or resumed.
pub struct Plan {
    /// Checked.
    pub settings: Settings,
    /// What was typed for them.
    pub given: Given,
    /// The crawl's directory: new, empty, or an existing crawl's.
    pub out: PathBuf,
    /// How many agents crawl; with several, each has a directory in `out`.
    pub agents: usize,
    /// Where to begin.
    pub seeds: Seeds,
    /// Where the traces go.
    pub otlp: Option<Otlp>,
    /// Where the report goes.
    pub report: Option<ReportFile>,
    /// Where numbers are told, and whose.
    pub http: Place,
    pub meters: Meters,
    /// Warnings and errors only.
    pub quiet: bool,
}

/// The seeds, opened and not yet read.
#[derive(Default)]
pub struct Seeds {
    /// From the command line.
    pub urls: Vec<String>,
    /// From a file or standard input.
    pub file: Option<OpenSeeds>,
}

/// A seeds file that could be opened.
#[derive(Debug)]
pub struct OpenSeeds {
    /// What messages call it.
    pub name: String,
    /// What `--seeds` was given.
    pub path: PathBuf,
    /// Its lines.
    pub reader: BufReader<File>,
}

impl Plan {
    /// Checks what was typed.
    ///
    /// # Errors
    /// Usage errors, each with its reason.
    pub fn check(typed: CrawlArgs) -> Result<Self, Trouble> {
        let agents = usize::from(typed.agents);
        let token = token_in(typed.token_file.as_deref())?;
        let http = Place::check(typed.http, &typed.https, token, typed.insecure)?;
        let home = home(&typed.out, agents)?;
        let resume = is_crawl("--out", &home)?;
        if !resume && typed.urls.is_empty() && typed.seeds.is_none() {
            return Err(Trouble::usage(format!(
                "nowhere to begin: there is no crawl in {} to go on with; give a URL or --seeds \
                 FILE, or --out of an existing crawl",
                typed.out.display()
            )));
        }
        let (settings, given) = settings_of(&home, resume, &typed.settings)?;
        if !resume && typed.seeds.is_none() {
            seeds::some_url(&typed.urls).map_err(Trouble::usage)?;
        }
        let report = typed.report.as_deref().map(|path| {
            ReportFile::prepare(path, &typed.out)
                .map_err(|error| Trouble::usage(format!("--report {}: {error}", path.display())))
        });
        let report = report.transpose()?;
        let seeds = Seeds {
            file: typed.seeds.map(|path| open_seeds("--seeds", path)).transpose()?,
            urls: typed.urls,
        };
        let otlp = collector(&typed.traces)?;
        let (out, quiet) = (typed.out, typed.quiet);
        let meters = Meters::default();
        Ok(Self { settings, given, out, agents, seeds, otlp, report, http, meters, quiet })
    }
}

/// Where in `out` the settings of a crawl by so many agents are.
fn home(out: &Path, agents: usize) -> Result<PathBuf, Trouble> {
    let wrong = |why: String| Trouble::usage(format!("--out {}: {why}", out.display()));
    match (fleet::agents_in(out), agents) {
        (Some(there), 1) => Err(wrong(format!("a crawl by {there} agents: give --agents {there}"))),
        (Some(there), n) if n < there => Err(wrong(format!(
            "a crawl by {there} agents, which cannot go on with {n}: give --agents {there}"
        ))),
        (Some(_), _) => Ok(out.join(fleet::COORDINATOR)),
        (None, 1) => Ok(out.to_owned()),
        (None, _) if is_crawl("--out", out)? => {
            Err(wrong("a crawl by one agent: leave --agents out".to_owned()))
        }
        (None, _) => Ok(out.join(fleet::COORDINATOR)),
    }
}

/// The settings for the crawl in a directory, which is named with its flag, and what was typed for
/// them.
///
/// # Errors
/// Usage errors, each with its reason.
pub fn settings_in(
    (flag, dir): (&str, &Path),
    typed: &SettingsArgs,
) -> Result<(Settings, Given), Trouble> {
    settings_of(dir, is_crawl(flag, dir)?, typed)
}

/// Those that the crawl in `dir` has, where there is one, and over them what was typed, unless a
/// coordinator was started with the same the last time: then they may have been changed since.
fn settings_of(
    dir: &Path,
    resume: bool,
    typed: &SettingsArgs,
) -> Result<(Settings, Given), Trouble> {
    let last = given_last(dir)?;
    let kept = resume.then(|| read_kept(&dir.join(SETTINGS_FILE))).transpose()?;
    let given = typed.config.as_deref().map(read_given).transpose()?;
    let kept = kept.as_ref().map(|(n, t)| (n.as_str(), t.as_str()));
    let files: Vec<_> = given.iter().map(|(n, t)| (n.as_str(), t.as_str())).collect();
    settings::resume(kept, &last, &files, &typed.sets, &flags(typed))
        .map_err(|problems| Trouble::usage(with_hint(problems, typed.contact.is_some())))
}

/// Whether `dir` holds a crawl; a directory with anything else in it is refused, unless it was
/// just about to become one.
fn is_crawl(flag: &str, dir: &Path) -> Result<bool, Trouble> {
    if dir.join(SETTINGS_FILE).is_file() {
        return Ok(true);
    }
    if dir.join(HALF_BEGUN).is_file() {
        return Ok(false);
    }
    let entry = match fs::read_dir(dir) {
        Ok(mut entries) => entries.next(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(Trouble::usage(format!("{flag} {}: {error}", dir.display()))),
    };
    match entry {
        None => Ok(false),
        Some(_) => Err(Trouble::usage(format!(
            "{flag} {}: not empty, and without {SETTINGS_FILE} not a crawl either; nothing was \
             touched",
            dir.display()
        ))),
    }
}

/// The settings of a crawl that is resumed: all of them, or none is to be trusted.
fn read_kept(file: &Path) -> Result<(String, String), Trouble> {
    let name = file.display().to_string();
    let text = fs::read_to_string(file)
        .map_err(|error| Trouble::Internal(anyhow!("{name} cannot be read: {error}")))?;
    let missing = settings::missing(&name, &text).map_err(Trouble::usage)?;
    match missing.first() {
        None => Ok((name, text)),
        Some(first) => Err(Trouble::Internal(anyhow!(
            "{name} is damaged: {} settings are missing, {first} for one; nothing was changed. The \
             first record of each file in the archive has them all",
            missing.len()
        ))),
    }
}

fn read_given(file: &Path) -> Result<(String, String), Trouble> {
    let name = file.display().to_string();
    match fs::read_to_string(file) {
        Ok(text) => Ok((name, text)),
        Err(error) => Err(Trouble::usage(format!("--config {name}: {error}"))),
    }
}

/// Opens a file of seeds; `-` is standard input.
///
/// # Errors
/// A usage error when it cannot be opened; it is named with `flag`.
pub fn open_seeds(flag: &str, path: PathBuf) -> Result<OpenSeeds, Trouble> {
    if path.as_os_str() == "-" {
        let stdin = io::stdin().as_fd().try_clone_to_owned()?;
        let reader = BufReader::new(stdin.into());
        return Ok(OpenSeeds { name: "standard input".to_owned(), path, reader });
    }
    let name = path.display().to_string();
    let opened = File::open(&path).and_then(|file| match file.metadata()?.is_dir() {
        true => Err(io::ErrorKind::IsADirectory.into()),
        false => Ok(file),
    });
    match opened {
        Ok(file) => Ok(OpenSeeds { name, path, reader: BufReader::new(file) }),
        Err(error) => Err(Trouble::usage(format!("{flag} {name}: {error}"))),
    }
}

/// The contact is what a newcomer forgets: name the flag too.
pub fn with_hint(problems: String, given: bool) -> String {
    if !given && problems.contains("identity.contact") {
        format!("{problems}\ngive it with --contact URL or --contact EMAIL")
    } else {
        problems
    }
}

/// The flags that stand for settings, with what was typed.
fn flags(typed: &SettingsArgs) -> Vec<Flag> {
    let number = |n: Option<u64>| n.map(|n| n.to_string());
    let networks = &typed.allow_networks;
    let all = [
        ("--contact", "identity.contact", typed.contact.clone()),
        ("--user-agent-name", "identity.user-agent-name", typed.user_agent_name.clone()),
        ("--max-pages", "limits.pages-max", number(typed.max_pages)),
        ("--max-depth", "limits.depth-max", number(typed.max_depth.map(u64::from))),
        ("--max-pages-per-host", "limits.pages-per-host-max", number(typed.max_pages_per_host)),
        ("--delay", "politeness.delay", typed.delay.clone()),
        ("--ip-delay", "politeness.ip-delay", typed.ip_delay.clone()),
        ("--burst", "politeness.burst", number(typed.burst.map(u64::from))),
        ("--dns", "dns.servers", typed.dns.clone()),
        (
            "--allow-network",
            "fetch.allow-networks",
            (!networks.is_empty()).then(|| networks.join(",")),
        ),
    ];
    all.into_iter().filter_map(|(flag, key, text)| text.map(|text| (flag, key, text))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Args, Command};
    use clap::Parser;
    use std::time::Duration;

    fn typed(words: &[&str]) -> CrawlArgs {
        let args = Args::try_parse_from(["crivello", "crawl"].iter().chain(words));
        match args.map(|args| args.command) {
            Ok(Command::Crawl(typed)) => *typed,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_flag_reaches_its_setting_and_outweighs_set_and_file() {
        let typed = typed(&[
            "--contact=me@a.example",
            "--user-agent-name=sieve",
            "--max-pages=1",
            "--max-depth=2",
            "--max-pages-per-host=3",
            "--delay=4s",
            "--set=politeness.delay=40s",
            "--ip-delay=5s",
            "--burst=6",
            "--dns=127.0.0.7:53",
            "--allow-network=127.0.0.0/8",
            "--allow-network=10.0.0.0/8",
        ]);
        let file = ("file", "[politeness]\ndelay = \"400s\"\n");
        let (sets, flags) = (&typed.settings.sets, flags(&typed.settings));
        let none = Given::new();
        let read = settings::resume(None, &none, &[file], sets, &flags);
        let (s, given) = read.expect("all is well");
        assert_eq!(given["politeness.delay"], "\"4s\"");
        assert_eq!(s.identity.contact, "me@a.example");
        assert_eq!(s.identity.user_agent_name, "sieve");
        assert_eq!(s.limits.pages_max, Some(1));
        assert_eq!(s.limits.depth_max, Some(2));
        assert_eq!(s.limits.pages_per_host_max, Some(3));
        assert_eq!(s.politeness.delay, Duration::from_secs(4));
        assert_eq!(s.politeness.ip_delay, Duration::from_secs(5));
        assert_eq!(s.politeness.burst, 6);
        assert_eq!(s.dns.servers.len(), 1);
        assert_eq!(s.fetch.allow_networks.len(), 2);
    }

    #[test]
    fn what_is_not_said_is_left_as_it_was() {
        assert!(flags(&typed(&[]).settings).is_empty());
    }
}
