//! Relations between settings.

use super::blocks::HostName;
use super::choices::{AssignBy, SieveKind};
use super::error::{ConfigError, ConfigErrors};
use super::key::kebab;
use super::settings::{Archive, Live, Settings, TABLE};
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
        if matches!(sieve, SieveKind::Rocksdb | SieveKind::Quotient) {
            return Ok(());
        }
        let problem = format!(
            "{} is for a single agent: in a cluster, agents also exchange URLs, and it cannot forget \
             those of a group; write \"rocksdb\" or \"quotient\"",
            sieve.write()
        );
        Err(ConfigErrors(vec![ConfigError::of("state.sieve", problem)]))
    }
}

/// Checks that one setting does not exceed another.
macro_rules! ordered {
    ($settings:ident, $part:ident.$section:ident, $small:ident <= $big:ident) => {{
        let section = &$settings.$part.$section;
        let key = |field| format!("{}.{}", stringify!($section), kebab(field));
        (section.$small > section.$big).then(|| {
            let (small, big) = (section.$small.write(), section.$big.write());
            let big_key = key(stringify!($big));
            let text =
                format!("{small} exceeds {big_key}, which is {big}; lower it or raise {big_key}");
            (key(stringify!($small)), text)
        })
    }};
}

fn relations(settings: &Settings) -> Vec<(String, String)> {
    let Live { limits, politeness, links, .. } = &settings.live;
    [
        ordered!(settings, live.politeness, relative_delay_min <= relative_delay_max),
        ordered!(settings, live.politeness, backoff_first <= backoff_max),
        ordered!(settings, fixed.fetch, connect_timeout <= total_timeout),
        ordered!(settings, fixed.fetch, first_byte_timeout <= total_timeout),
        ordered!(settings, fixed.fetch, body_size_max <= decoded_size_max),
        ordered!(settings, fixed.dns, ttl_min <= ttl_max),
        signature(settings),
        domain_limit(settings, "limits.pages-per-domain-max", limits.pages_per_domain_max),
        domain_limit(settings, "limits.hosts-per-domain-max", limits.hosts_per_domain_max),
        peer_revisits(settings),
        ordered!(settings, live.recrawl, interval_min <= interval_max),
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

/// Rejects revisits of other agents' captures where these agents delete captures, because none knows who refers to its
/// own; and where exact duplicates are archived in full.
fn peer_revisits(settings: &Settings) -> Option<(String, String)> {
    let (store, archive) = (&settings.fixed.store, &settings.live.archive);
    if !store.peer_revisits {
        return None;
    }
    let why = if *archive != Archive::default() {
        "cannot be used with archive.keep-age or archive.keep-size: an agent would delete captures to which others refer"
    } else if !store.revisits {
        "needs store.revisits, which is false"
    } else {
        return None;
    };
    Some(("store.peer-revisits".to_owned(), format!("{why}; write false")))
}

/// Checks that a key and the place of its public half are given together.
fn signature(settings: &Settings) -> Option<(String, String)> {
    let identity = &settings.fixed.identity;
    let [key, agent] = ["identity.signature-key-file", "identity.signature-agent"];
    let (missing, why) = match (&*identity.signature_key_file, &*identity.signature_agent) {
        ("", "") => return None,
        ("", _) => (key, format!("missing, although {agent} is set: nothing would be signed")),
        (_, "") => {
            (agent, format!("missing, although {key} is set: nobody could find the public key"))
        }
        _ => return None,
    };
    Some((missing.to_owned(), why))
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
