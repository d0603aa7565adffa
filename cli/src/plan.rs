//! What may be relied on: settings checked, directories looked at, seeds opened, before anything
//! is begun.

use crate::adapt::settings::{self, Flag};
use crate::args::{CrawlArgs, SettingsArgs};
use crate::exit::Trouble;
use crate::seeds;
use crivello_common::config::{HALF_BEGUN, SETTINGS_FILE, Settings};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

/// A crawl that can be begun or resumed.
pub struct Plan {
    /// Checked.
    pub settings: Settings,
    /// The crawl's directory: new, empty, or an existing crawl's.
    pub out: PathBuf,
    /// Where to begin.
    pub seeds: Seeds,
    /// Where the report goes.
    pub report: Option<PathBuf>,
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
pub struct OpenSeeds {
    /// What messages call it.
    pub name: String,
    /// What `--seeds` was given.
    pub path: PathBuf,
    /// Its lines.
    pub reader: Box<dyn BufRead + Send>,
}

impl fmt::Debug for OpenSeeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Plan {
    /// Checks what was typed.
    ///
    /// # Errors
    /// Usage errors, each with its reason.
    pub fn check(typed: CrawlArgs) -> Result<Self, Trouble> {
        let (settings, resume) = settings_in(("--out", &typed.out), &typed.settings)?;
        let seeds = Seeds { file: typed.seeds.map(open_seeds).transpose()?, urls: typed.urls };
        if !resume && seeds.urls.is_empty() && seeds.file.is_none() {
            return Err(Trouble::usage(format!(
                "nowhere to begin: give a URL or --seeds FILE, or --out of an existing crawl \
                 ({} is none)",
                typed.out.display()
            )));
        }
        if !resume && seeds.file.is_none() {
            seeds::some_url(&seeds.urls).map_err(Trouble::usage)?;
        }
        Ok(Self { settings, out: typed.out, seeds, report: typed.report, quiet: typed.quiet })
    }
}

/// The settings for the crawl in a directory, which is named with its flag, and whether there is
/// one already: those it has, then what was typed.
///
/// # Errors
/// Usage errors, each with its reason.
pub fn settings_in(
    (flag, dir): (&str, &Path),
    typed: &SettingsArgs,
) -> Result<(Settings, bool), Trouble> {
    let resume = is_crawl(flag, dir)?;
    let base = match (&typed.config, resume) {
        (Some(file), _) => Some(file.clone()),
        (None, true) => Some(dir.join(SETTINGS_FILE)),
        (None, false) => None,
    };
    let text = base.as_deref().map(read_settings).transpose()?;
    let text = text.as_ref().map(|(name, text)| (name.as_str(), text.as_str()));
    let settings = settings::load(text, &typed.sets, &flags(typed))
        .map_err(|problems| Trouble::usage(with_hint(problems, typed.contact.is_some())))?;
    Ok((settings, resume))
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

fn read_settings(file: &Path) -> Result<(String, String), Trouble> {
    let name = file.display().to_string();
    match fs::read_to_string(file) {
        Ok(text) => Ok((name, text)),
        Err(error) => Err(Trouble::usage(format!("{name}: {error}"))),
    }
}

fn open_seeds(path: PathBuf) -> Result<OpenSeeds, Trouble> {
    if path.as_os_str() == "-" {
        let reader = Box::new(BufReader::new(io::stdin()));
        return Ok(OpenSeeds { name: "standard input".to_owned(), path, reader });
    }
    let name = path.display().to_string();
    let opened = File::open(&path).and_then(|file| match file.metadata()?.is_dir() {
        true => Err(io::ErrorKind::IsADirectory.into()),
        false => Ok(file),
    });
    match opened {
        Ok(file) => Ok(OpenSeeds { name, path, reader: Box::new(BufReader::new(file)) }),
        Err(error) => Err(Trouble::usage(format!("--seeds {name}: {error}"))),
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
            Ok(Command::Crawl(typed)) => typed,
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
        let file = Some(("file", "[politeness]\ndelay = \"400s\"\n"));
        let s = settings::load(file, &typed.settings.sets, &flags(&typed.settings))
            .expect("all is well");
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
