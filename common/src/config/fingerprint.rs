//! Fingerprint of a stored crawl: the settings that its keys and records depend on. A crawl is
//! resumed only with the same fingerprint.

use super::settings::{Cluster, Settings, TABLE};
use crate::url::NORMAL_FORM;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;
use xxhash_rust::xxh3::xxh3_64;

/// Name of the URL normal form among the settings.
const NORMAL_FORM_NAME: &str = "url normal form";
/// Name of [`Cluster::peer_lease`] among the settings.
const PEER_LEASE_NAME: &str = "half of cluster.lease, at most 5s";
/// Longest lease between agents.
const PEER_LEASE_MAX: Duration = Duration::from_secs(5);

/// A setting that differs from the stored crawl.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingDifference {
    /// `section.key`.
    pub key: String,
    /// Stored value; empty if there is none.
    pub stored: String,
    /// Current value; empty if the setting no longer exists.
    pub now: String,
}

impl fmt::Display for SettingDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or_none = |text| if str::is_empty(text) { "not set" } else { text }.to_owned();
        let (stored, now) = (or_none(&self.stored), or_none(&self.now));
        write!(f, "{}: the stored crawl has {stored}, now it is {now}", self.key)
    }
}

impl Cluster {
    /// Returns the time for which an agent may fetch without contact to the coordinator after
    /// another agent has answered it: half of `lease`, at most 5 s.
    ///
    /// At start, an agent waits for this time, because an earlier run of any agent may have granted
    /// a lease. So all agents of a crawl must use the same value in all their runs: it is part of
    /// [`Settings::fingerprint_text`].
    pub fn peer_lease(&self) -> Duration {
        (self.lease / 2).min(PEER_LEASE_MAX)
    }
}

impl Settings {
    /// Returns the settings that a stored crawl depends on, one `key = value` per line. The text is
    /// stored with the crawl.
    pub fn fingerprint_text(&self) -> String {
        let fixed = TABLE.iter().filter(|setting| setting.permanent);
        let lines = fixed.map(|s| format!("{} = {}\n", s.key(), (s.write)(self)));
        let peer_lease = self.fixed.cluster.peer_lease();
        let derived = [
            format!("{NORMAL_FORM_NAME} = {NORMAL_FORM}\n"),
            format!("{PEER_LEASE_NAME} = {peer_lease:?}\n"),
        ];
        lines.chain(derived).collect()
    }

    /// Returns the hash of [`Self::fingerprint_text`].
    pub fn fingerprint(&self) -> u64 {
        xxh3_64(self.fingerprint_text().as_bytes())
    }

    /// Returns the differences from `stored`, the [`Self::fingerprint_text`] of a stored crawl. If
    /// there are none, the crawl may be resumed.
    pub fn fingerprint_differences(&self, stored: &str) -> Vec<SettingDifference> {
        let now = self.fingerprint_text();
        let (stored, now) = (lines(stored), lines(&now));
        let keys: BTreeSet<&str> = stored.keys().chain(now.keys()).copied().collect();
        let value = |of: &BTreeMap<&str, &str>, key| of.get(key).map_or("", |v| v).to_owned();
        keys.into_iter()
            .filter(|key| stored.get(key) != now.get(key))
            .map(|key| SettingDifference {
                key: key.to_owned(),
                stored: value(&stored, key),
                now: value(&now, key),
            })
            .collect()
    }

    /// Returns the keys of all settings that differ, in the order of the table.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let differ = TABLE.iter().filter(|s| (s.write)(self) != (s.write)(other));
        differ.map(|s| s.key()).collect()
    }
}

fn lines(text: &str) -> BTreeMap<&str, &str> {
    text.lines().filter_map(|line| line.split_once(" = ")).collect()
}
