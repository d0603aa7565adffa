//! A checked crawl: settings, directories and seeds are validated before anything is started.

use crate::args::{CrawlArgs, SettingsArgs};
use crate::cluster::secret_in;
use crate::exit::{CliError, usage};
use crate::http::{Meters, MetricsEndpoint};
use crate::local_cluster::dirs;
use crate::otlp::collector;
use crate::report_file::ReportFile;
use crate::seeds::{self, SeedSources};
use anyhow::anyhow;
use crivello_agent::Otlp;
use crivello_common::config::{
    NEW_SETTINGS_FILE, RawSettings, SETTINGS_FILE, Settings, TypedSettings,
};
use crivello_coordinator::{STATE_FILE, StoredSettings, stored_settings};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A crawl that can be started or resumed.
pub struct Plan {
    /// Checked settings.
    pub settings: Settings,
    /// Settings of the command line and of `--config`, as TOML values.
    pub given: TypedSettings,
    /// Directory of the crawl: new, empty, or of an existing crawl.
    pub out: PathBuf,
    /// Number of agents. Each of several agents has a directory in `out`.
    pub agents: usize,
    /// Seeds.
    pub seeds: SeedSources,
    /// Collector of traces.
    pub otlp: Option<Otlp>,
    /// File for the report.
    pub report: Option<ReportFile>,
    /// Address of the metrics.
    pub http: MetricsEndpoint,
    /// Nodes whose metrics are served.
    pub meters: Meters,
    /// True if only warnings and errors are shown.
    pub quiet: bool,
}

impl Plan {
    /// Checks the arguments.
    ///
    /// # Errors
    /// Returns usage errors, each with its reason.
    pub fn check(args: CrawlArgs) -> Result<Self, CliError> {
        let agents = usize::from(args.agents);
        let token = secret_in(args.token_file.as_deref())?;
        let http =
            MetricsEndpoint::check(args.http, &args.https, ("--token-file", token), args.insecure)?;
        let stored = stored_for(&args.out, agents)?;
        let resume = stored.is_some();
        if !resume && args.urls.is_empty() && args.seeds.is_none() {
            return Err(usage!(
                "no seeds, and there is no crawl in {} to resume; give a URL or --seeds FILE, or \
                 --out of an existing crawl",
                args.out.display()
            ));
        }
        let (settings, given) = settings_of(stored.as_ref(), &args.settings)?;
        if !resume && args.seeds.is_none() {
            seeds::check_any(&args.urls).map_err(CliError::usage)?;
        }
        let report = ReportFile::from_arg(args.report.as_deref(), &args.out)?;
        let seeds = SeedSources {
            file: args.seeds.map(|path| seeds::open("--seeds", path)).transpose()?,
            urls: args.urls,
        };
        let otlp = collector(&args.traces)?;
        let (out, quiet) = (args.out, args.quiet);
        let meters = Meters::default();
        Ok(Self { settings, given, out, agents, seeds, otlp, report, http, meters, quiet })
    }
}

/// Settings of a crawl that is resumed, with their name in errors.
pub type Stored = (String, StoredSettings);

/// Returns the settings of the crawl by `agents` agents in `out`; `None` if there is no crawl.
fn stored_for(out: &Path, agents: usize) -> Result<Option<Stored>, CliError> {
    let wrong = |why: String| usage!("--out {}: {why}", out.display());
    match (dirs::agents_in(out), agents) {
        (Some(there), 1) => Err(wrong(format!("a crawl by {there} agents: give --agents {there}"))),
        (Some(there), n) if n < there => Err(wrong(format!(
            "a crawl by {there} agents, which cannot be resumed with {n}: give --agents {there}"
        ))),
        (Some(_), _) => stored_by_coordinator(&out.join(dirs::COORDINATOR)),
        (None, 1) => stored_by_agent(out),
        (None, _) if is_crawl(out)? => Err(wrong("a crawl by one agent: omit --agents".to_owned())),
        (None, _) => Ok(None),
    }
}

/// Returns the stored settings, or the defaults, overridden by `args`, and the settings given now. A setting
/// that the coordinator was given in the same way at its last start is not overridden: `crivello set` may
/// have changed it since.
///
/// # Errors
/// Returns usage errors, each with its reason.
pub fn settings_of(
    stored: Option<&Stored>,
    args: &SettingsArgs,
) -> Result<(Settings, TypedSettings), CliError> {
    let kept = stored.map(|(name, stored)| (name.as_str(), stored.toml.as_str()));
    let last = stored.map(|(_, stored)| stored.given.clone()).unwrap_or_default();
    let given = args.config.as_deref().map(read_given).transpose()?;
    let files: Vec<_> = given.iter().map(|(n, t)| (n.as_str(), t.as_str())).collect();
    RawSettings::resume(kept, &last, &files, &args.sets, &flags(args)).map_err(|errors| {
        let mut problems = errors.to_string();
        // New users often forget this setting, so its flag is named too.
        if args.contact.is_none() && problems.contains("identity.contact") {
            problems.push_str("\ngive it with --contact URL or --contact EMAIL");
        }
        CliError::usage(problems)
    })
}

/// Returns true if `dir` holds a crawl. A directory with other content is an error, unless the
/// creation of a crawl there was interrupted.
fn is_crawl(dir: &Path) -> Result<bool, CliError> {
    if dir.join(SETTINGS_FILE).is_file() {
        return Ok(true);
    }
    if dir.join(NEW_SETTINGS_FILE).is_file() {
        return Ok(false);
    }
    let out = dir.display();
    match fs::read_dir(dir).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(false),
        Ok(false) => Err(usage!(
            "--out {out}: not empty, and no crawl ({SETTINGS_FILE} is missing); nothing was changed"
        )),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(usage!("--out {out}: {error}")),
    }
}

fn stored_by_agent(dir: &Path) -> Result<Option<Stored>, CliError> {
    if !is_crawl(dir)? {
        return Ok(None);
    }
    let file = dir.join(SETTINGS_FILE);
    let name = file.display().to_string();
    let toml = fs::read_to_string(&file)
        .map_err(|error| CliError::Internal(anyhow!("{name} cannot be read: {error}")))?;
    check_complete(&name, &toml, "The first record of each archive file contains all settings")?;
    Ok(Some((name, StoredSettings { toml, ..StoredSettings::default() })))
}

/// Returns the settings of the coordinator in `dir`; `None` if no crawl was begun there.
///
/// # Errors
/// Fails if the directory holds something else, or if the settings are damaged.
pub fn stored_by_coordinator(dir: &Path) -> Result<Option<Stored>, CliError> {
    let name = dir.join(STATE_FILE).display().to_string();
    stored_settings(dir)?.map(|stored| complete(name, stored)).transpose()
}

/// Checks that the settings of a coordinator contain every setting.
///
/// # Errors
/// Fails if one is missing.
pub fn complete(name: String, stored: StoredSettings) -> Result<Stored, CliError> {
    check_complete(&name, &stored.toml, "The version of crivello that wrote it can read it")?;
    Ok((name, stored))
}

/// Checks that stored settings contain every setting.
fn check_complete(name: &str, toml: &str, hint: &str) -> Result<(), CliError> {
    let mut raw = RawSettings::default();
    raw.file(name, toml).map_err(CliError::usage)?;
    let missing = raw.missing();
    match missing.first() {
        None => Ok(()),
        Some(first) => Err(CliError::Internal(anyhow!(
            "{name} is damaged: {} settings are missing, for example {first}; nothing was changed. {hint}",
            missing.len()
        ))),
    }
}

fn read_given(file: &Path) -> Result<(String, String), CliError> {
    let name = file.display().to_string();
    match fs::read_to_string(file) {
        Ok(text) => Ok((name, text)),
        Err(error) => Err(usage!("--config {name}: {error}")),
    }
}

/// Returns the flags that set a setting: flag, key and value.
pub fn flags(args: &SettingsArgs) -> Vec<(&'static str, &'static str, String)> {
    let number = |n: Option<u64>| n.map(|n| n.to_string());
    let networks = (!args.allow_networks.is_empty()).then(|| args.allow_networks.join(","));
    let known = (!args.known.is_empty()).then(|| serde_json::json!(args.known).to_string());
    let all = [
        ("--contact", "identity.contact", args.contact.clone()),
        ("--user-agent-name", "identity.user-agent-name", args.user_agent_name.clone()),
        ("--max-pages", "limits.pages-max", number(args.max_pages)),
        ("--max-depth", "limits.depth-max", number(args.max_depth.map(u64::from))),
        ("--max-pages-per-host", "limits.pages-per-host-max", number(args.max_pages_per_host)),
        ("--delay", "politeness.delay", args.delay.clone()),
        ("--ip-delay", "politeness.ip-delay", args.ip_delay.clone()),
        ("--burst", "politeness.burst", number(args.burst.map(u64::from))),
        ("--dns", "dns.servers", args.dns.clone()),
        ("--allow-network", "fetch.allow-networks", networks),
        ("--known", "store.known", known),
        ("--accept-sha1", "store.accept-sha1", args.accept_sha1.then(|| "true".to_owned())),
    ];
    all.into_iter().filter_map(|(flag, key, text)| text.map(|text| (flag, key, text))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Args, Command};
    use clap::Parser;
    use std::time::Duration;

    fn parse(words: &[&str]) -> CrawlArgs {
        let args = Args::try_parse_from(["crivello", "crawl"].iter().chain(words));
        match args.map(|args| args.command) {
            Ok(Command::Crawl(args)) => *args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_flag_reaches_its_setting_and_outweighs_set_and_file() {
        let args = parse(&[
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
        let (sets, flags) = (&args.settings.sets, flags(&args.settings));
        let none = TypedSettings::new();
        let read = RawSettings::resume(None, &none, &[file], sets, &flags);
        let (s, given) = read.expect("the settings are valid");
        assert_eq!(given["politeness.delay"], "\"4s\"");
        assert_eq!(s.fixed.identity.contact, "me@a.example");
        assert_eq!(s.fixed.identity.user_agent_name, "sieve");
        assert_eq!(s.live.limits.pages_max, Some(1));
        assert_eq!(s.live.limits.depth_max, Some(2));
        assert_eq!(s.live.limits.pages_per_host_max, Some(3));
        assert_eq!(s.live.politeness.delay, Duration::from_secs(4));
        assert_eq!(s.live.politeness.ip_delay, Duration::from_secs(5));
        assert_eq!(s.live.politeness.burst, 6);
        assert_eq!(s.fixed.dns.servers.len(), 1);
        assert_eq!(s.fixed.fetch.allow_networks.len(), 2);
    }

    #[test]
    fn absent_flags_set_nothing() {
        assert!(flags(&parse(&[]).settings).is_empty());
    }
}
