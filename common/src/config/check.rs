//! Relations between settings.

use super::blocks::HostName;
use super::choices::{AssignBy, SieveKind};
use super::error::{ConfigError, ConfigErrors, SettingOrigin};
use super::settings::{Fixed, Live, Settings, TABLE};
use super::value::Value;

/// Returns all errors in `settings`: the key and the message.
pub(super) fn problems(settings: &Settings) -> Vec<(String, String)> {
    let bounds = TABLE.iter();
    let bounds = bounds.filter_map(|s| (s.check)(settings).err().map(|text| (s.key(), text)));
    bounds.chain(relations(settings)).collect()
}

impl Settings {
    /// Checks that a crawl with these settings, which are otherwise valid, can have several agents.
    ///
    /// # Errors
    /// Fails if a setting is only possible for a single agent.
    pub fn check_shared(&self) -> Result<(), ConfigErrors> {
        let sieve = self.fixed.state.sieve;
        if sieve == SieveKind::Rocksdb {
            return Ok(());
        }
        let problem = format!(
            "{} is for a single agent: in a cluster, agents also exchange URLs, which only the rows on \
             disk record; write \"rocksdb\"",
            sieve.write()
        );
        let key = Some("state.sieve".to_owned());
        Err(ConfigErrors(vec![ConfigError { origin: SettingOrigin::Default, key, problem }]))
    }
}

fn relations(settings: &Settings) -> Vec<(String, String)> {
    let Fixed { fetch, dns, .. } = &settings.fixed;
    let Live { limits, politeness, links } = &settings.live;
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
        once("links.blocked", links.blocked.iter().map(ToString::to_string)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Rejects a limit per domain if groups are hosts, because pages and hosts are counted by group.
fn domain_limit(settings: &Settings, key: &str, limit: Option<u64>) -> Option<(String, String)> {
    let by_host = settings.fixed.identity.assign_by == AssignBy::Host;
    (by_host && limit.is_some()).then(|| {
        let why = "cannot be enforced while identity.assign-by is \"host\"; write \"none\", or assign by \"domain\"";
        (key.to_owned(), why.to_owned())
    })
}

/// Checks that the first value does not exceed the second.
fn ordered<T: Value + PartialOrd>(
    (small_key, small): (&str, &T),
    (big_key, big): (&str, &T),
) -> Option<(String, String)> {
    (small > big).then(|| {
        let (small, big) = (small.write(), big.write());
        let text =
            format!("{small} exceeds {big_key}, which is {big}; lower it or raise {big_key}");
        (small_key.to_owned(), text)
    })
}

/// Checks that no name occurs twice.
fn once<T>(key: &str, mut names: impl Iterator<Item = T>) -> Option<(String, String)>
where
    T: Clone + Ord + std::fmt::Debug,
{
    let mut seen = std::collections::BTreeSet::new();
    let twice = names.find(|name| !seen.insert(name.clone()))?;
    Some((key.to_owned(), format!("{twice:?} occurs twice; remove one of them")))
}
