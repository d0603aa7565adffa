//! The settings in force for people who look at them elsewhere than in a file.

use super::settings::{Settings, TABLE};

/// One setting, as people read it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Described {
    /// As in `politeness.delay`.
    pub key: String,
    /// The first part of the key.
    pub section: &'static str,
    /// What it does.
    pub meaning: String,
    /// What it counts; empty where the value says it.
    pub unit: &'static str,
    /// What may be written, in words.
    pub kind: String,
    /// As in a TOML file.
    pub value: String,
    /// As in a TOML file.
    pub default: String,
    /// It cannot be changed for the life of a crawl.
    pub fixed: bool,
    /// A change takes effect while the agents run.
    pub live: bool,
}

impl Settings {
    /// All of them, in their order.
    #[must_use]
    pub fn describe(&self) -> Vec<Described> {
        let defaults = Self::default();
        let describe = |setting: &super::table::Setting| {
            let of = match setting.unit {
                "" => String::new(),
                unit => format!(" of {unit}"),
            };
            Described {
                key: setting.key(),
                section: setting.section,
                meaning: setting.meaning.concat().trim().to_owned(),
                unit: setting.unit,
                kind: (setting.kind)(&of),
                value: (setting.write)(self),
                default: (setting.write)(&defaults),
                fixed: setting.fixed,
                live: setting.live,
            }
        };
        TABLE.iter().map(describe).collect()
    }
}
