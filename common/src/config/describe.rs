//! Descriptions of all settings, for user interfaces.

use super::settings::{Settings, TABLE};

/// The description and value of one setting.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SettingInfo {
    /// The key, such as `politeness.delay`.
    pub key: String,
    /// The section: the first part of the key.
    pub section: &'static str,
    /// The description.
    pub description: String,
    /// The unit; empty if the value includes it.
    pub unit: &'static str,
    /// The kind of value expected.
    pub kind: String,
    /// The current value in TOML.
    pub value: String,
    /// The default in TOML.
    pub default: String,
    /// Whether the setting never changes during the life of a crawl.
    pub permanent: bool,
    /// Whether a change takes effect while the agents run.
    pub live: bool,
}

impl Settings {
    /// Describes all settings, in the order of the table.
    #[must_use]
    pub fn describe(&self) -> Vec<SettingInfo> {
        let defaults = Self::default();
        let describe = |setting: &super::table::Setting| {
            let of = match setting.unit {
                "" => String::new(),
                unit => format!(" of {unit}"),
            };
            SettingInfo {
                key: setting.key(),
                section: setting.section,
                description: setting.description.concat().trim().to_owned(),
                unit: setting.unit,
                kind: (setting.kind)(&of),
                value: (setting.write)(self),
                default: (setting.write)(&defaults),
                permanent: setting.permanent,
                live: setting.live,
            }
        };
        TABLE.iter().map(describe).collect()
    }
}
