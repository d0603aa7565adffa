//! Descriptions of all settings, for user interfaces.

use super::settings::{Settings, TABLE};

/// The description and value of one setting.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SettingInfo {
    /// Key, such as `politeness.delay`.
    pub key: String,
    /// Section: the first part of the key.
    pub section: &'static str,
    /// Description.
    pub description: String,
    /// Unit; empty if the value includes it.
    pub unit: &'static str,
    /// Kind of value expected.
    pub kind: String,
    /// Current value in TOML.
    pub value: String,
    /// Default in TOML.
    pub default: String,
    /// True if the setting never changes during the life of a crawl.
    pub permanent: bool,
    /// True if a change takes effect while the agents run.
    pub live: bool,
}

impl Settings {
    /// Describes all settings, in the order of the table.
    pub fn describe(&self) -> Vec<SettingInfo> {
        let defaults = Self::default();
        let describe = |setting: &super::table::Setting| SettingInfo {
            key: setting.key(),
            section: setting.section,
            description: setting.description.concat().trim().to_owned(),
            unit: setting.unit,
            kind: setting.described_kind(),
            value: (setting.write)(self),
            default: (setting.write)(&defaults),
            permanent: setting.permanent,
            live: setting.live,
        };
        TABLE.iter().map(describe).collect()
    }
}
