//! Settings of a resumed crawl, which may have changed while it ran.
//!
//! The stored settings apply, except those that the user types now and did not type, or typed
//! differently, at the last start. So a restart with the same options does not undo changes.

use super::error::ConfigErrors;
use super::raw::RawSettings;
use super::settings::{Settings, TABLE};
use super::table::Setting;
use std::collections::BTreeMap;

/// Settings typed at a start (settings file, `--set`, flags): keys, and values in TOML.
pub type TypedSettings = BTreeMap<String, String>;

impl RawSettings {
    /// Merges the layers, like [`Self::merge`], over the `stored` settings of a crawl (name and
    /// text of the file), if there is one. A setting typed as at the `last` start keeps its stored
    /// value. Also returns the settings typed now.
    ///
    /// # Errors
    /// Returns all errors in all layers.
    pub fn resume(
        stored: Option<(&str, &str)>,
        last: &TypedSettings,
        files: &[(&str, &str)],
        sets: &[String],
        flags: &[(&str, &str, String)],
    ) -> Result<(Settings, TypedSettings), ConfigErrors> {
        let typed = Self::layers(files, sets, flags)?;
        let settings = TABLE.iter().filter(|setting| typed.origins.contains_key(&setting.key()));
        let typed_now: TypedSettings =
            settings.map(|setting| (setting.key(), (setting.write)(&typed.settings))).collect();
        let mut raw = Self::default();
        if let Some((name, text)) = stored {
            raw.file(name, text)?;
        }
        for (key, value) in &typed_now {
            let same = last.get(key) == Some(value);
            if let Some(setting) = Setting::find(key).filter(|_| stored.is_none() || !same) {
                // The output of `write` is always valid.
                let _ = (setting.read_text)(&mut raw.settings, value);
                let origin = typed.origins.get(key).cloned().unwrap_or_default();
                raw.origins.insert(key.clone(), origin);
            }
        }
        Ok((raw.check()?, typed_now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_survive_a_restart_unless_a_setting_is_typed_differently() {
        let sets = |all: &[&str]| all.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
        let contact = "identity.contact=you@example.com";
        let first = sets(&[contact, "politeness.delay=1s", "politeness.burst=2"]);
        let (settings, given) =
            RawSettings::resume(None, &TypedSettings::new(), &[], &first, &[]).unwrap();
        assert_eq!((settings.live.politeness.burst, given.len()), (2, 3));
        let mut edited = settings;
        edited.apply_set("politeness.delay=5s").unwrap();
        edited.apply_set("politeness.ip-delay=4s").unwrap();
        let kept = edited.to_toml();
        let resume = |typed: &[&str]| {
            let file = [("c.toml", "[politeness]\nburst = 2\n")];
            let kept = Some(("kept", kept.as_str()));
            let (settings, _) =
                RawSettings::resume(kept, &given, &file, &sets(typed), &[]).unwrap();
            let p = settings.live.politeness;
            (p.delay.as_secs(), p.ip_delay.as_secs(), p.burst)
        };
        assert_eq!(
            resume(&[contact, "politeness.delay=1s"]),
            (5, 4, 2),
            "same value as at the last start"
        );
        assert_eq!(
            resume(&[contact, "politeness.delay=1000ms"]),
            (5, 4, 2),
            "same value in another notation"
        );
        assert_eq!(resume(&[]), (5, 4, 2), "no arguments");
        assert_eq!(resume(&["politeness.delay=2s"]), (2, 4, 2), "another value");
        assert_eq!(resume(&["politeness.ip-delay=9s"]), (5, 9, 2), "another setting");
        let wrong = RawSettings::resume(None, &given, &[], &sets(&["politeness.delay=1"]), &[]);
        assert!(wrong.unwrap_err().to_string().contains("--set politeness.delay=1: "));
    }
}
