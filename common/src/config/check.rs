//! Bounds of single settings, and how settings relate to each other.

use super::blocks::HostName;
use super::choices::{AssignBy, SieveKind};
use super::error::{ConfigError, ConfigErrors, Place};
use super::settings::{Settings, TABLE};
use super::value::Value;

/// From `min` to `max`, both included.
pub(super) fn between<T: Value + PartialOrd>(min: T, max: T) -> impl Fn(&T) -> Result<(), String> {
    move |value| {
        if *value >= min && *value <= max {
            return Ok(());
        }
        let (value, min, max) = (value.write(), min.write(), max.write());
        Err(format!("{value} is out of range; write at least {min} and at most {max}"))
    }
}

/// From `min` on.
pub(super) fn at_least<T: Value + PartialOrd>(min: T) -> impl Fn(&T) -> Result<(), String> {
    move |value| {
        if *value >= min {
            return Ok(());
        }
        Err(format!("{} is too small; write at least {}", value.write(), min.write()))
    }
}

/// From `min` on, or none.
pub(super) fn some_at_least(min: u64) -> impl Fn(&Option<u64>) -> Result<(), String> {
    move |value| match value {
        Some(n) if *n < min => {
            Err(format!("{n} is too small; write at least {min}, or \"none\" for no limit"))
        }
        _ => Ok(()),
    }
}

/// An entry of a list with rules of its own.
pub(super) trait Entry {
    /// Whether it is what reading it would have made of it.
    fn check(&self) -> Result<(), String>;
}

/// Every entry holds.
pub(super) fn each<T: Entry>(entries: &[T]) -> Result<(), String> {
    for (i, entry) in entries.iter().enumerate() {
        entry.check().map_err(|text| format!("entry {}: {text}", i + 1))?;
    }
    Ok(())
}

/// Entries of a list that is changed while the crawl runs, and sent whole to every agent.
const ENTRIES_MAX: usize = 10_000;

/// No more entries than are sent around.
pub(super) fn few<T>(entries: &[T]) -> Result<(), String> {
    if entries.len() <= ENTRIES_MAX {
        return Ok(());
    }
    Err(format!("{} entries; write at most {ENTRIES_MAX}", entries.len()))
}

/// What is wrong with the settings in force: the key and the sentence.
pub(super) fn problems(settings: &Settings) -> Vec<(String, String)> {
    let bounds = TABLE.iter();
    let bounds = bounds.filter_map(|s| (s.check)(settings).err().map(|text| (s.key(), text)));
    bounds.chain(relations(settings)).collect()
}

impl Settings {
    /// Whether agents can share a crawl of these settings, which hold otherwise.
    ///
    /// # Errors
    /// When they cannot.
    pub fn check_shared(&self) -> Result<(), ConfigErrors> {
        let sieve = self.state.sieve;
        if sieve == SieveKind::Rocksdb {
            return Ok(());
        }
        let problem = format!(
            "{} is for an agent that crawls alone: in a cluster URLs are also taken in from other \
             agents and handed over to them, which only the rows on disk follow; write \"rocksdb\"",
            sieve.write()
        );
        let key = Some("state.sieve".to_owned());
        Err(ConfigErrors(vec![ConfigError { place: Place::Default, key, problem }]))
    }
}

fn relations(settings: &Settings) -> Vec<(String, String)> {
    let Settings { limits, politeness, fetch, dns, .. } = settings;
    [
        ordered(
            ("politeness.relative-delay-min", &politeness.relative_delay_min),
            ("politeness.relative-delay-max", &politeness.relative_delay_max),
        ),
        ordered(
            ("politeness.backoff-first", &politeness.backoff_first),
            ("politeness.backoff-max", &politeness.backoff_max),
        ),
        ordered(
            ("fetch.connect-timeout", &fetch.connect_timeout),
            ("fetch.total-timeout", &fetch.total_timeout),
        ),
        ordered(
            ("fetch.first-byte-timeout", &fetch.first_byte_timeout),
            ("fetch.total-timeout", &fetch.total_timeout),
        ),
        ordered(
            ("fetch.body-size-max", &fetch.body_size_max),
            ("fetch.decoded-size-max", &fetch.decoded_size_max),
        ),
        ordered(("dns.ttl-min", &dns.ttl_min), ("dns.ttl-max", &dns.ttl_max)),
        domain_limit(settings, "limits.pages-per-domain-max", limits.pages_per_domain_max),
        domain_limit(settings, "limits.hosts-per-domain-max", limits.hosts_per_domain_max),
        once("politeness.domains", politeness.domains.iter().map(|d| d.suffix.as_str())),
        once("politeness.robots-exempt", politeness.robots_exempt.iter().map(|e| e.host.as_str())),
        once("politeness.paused", politeness.paused.iter().map(HostName::as_str)),
        once("links.blocked", settings.links.blocked.iter().map(ToString::to_string)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Pages and hosts are counted per group: where groups are hosts, a domain's cannot be limited.
fn domain_limit(settings: &Settings, key: &str, limit: Option<u64>) -> Option<(String, String)> {
    let by_host = settings.identity.assign_by == AssignBy::Host;
    (by_host && limit.is_some()).then(|| {
        let why = "cannot be kept while identity.assign-by is \"host\"; write \"none\", or assign by \"domain\"";
        (key.to_owned(), why.to_owned())
    })
}

/// The first is not above the second.
fn ordered<T: Value + PartialOrd>(
    (small_key, small): (&str, &T),
    (big_key, big): (&str, &T),
) -> Option<(String, String)> {
    (small > big).then(|| {
        let (small, big) = (small.write(), big.write());
        let text =
            format!("{small} is more than {big_key}, which is {big}; lower it or raise that");
        (small_key.to_owned(), text)
    })
}

/// No name occurs twice.
fn once<T>(key: &str, mut names: impl Iterator<Item = T>) -> Option<(String, String)>
where
    T: Clone + Ord + std::fmt::Debug,
{
    let mut seen = std::collections::BTreeSet::new();
    let twice = names.find(|name| !seen.insert(name.clone()))?;
    Some((key.to_owned(), format!("{twice:?} occurs twice; leave one of them out")))
}
