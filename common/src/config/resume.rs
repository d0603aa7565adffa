//! Settings of a resumed crawl, which may have been changed while it ran.
//!
//! The stored settings apply, except those typed now that were not typed, or typed differently, at
//! the last start. So a restart with the same options does not undo changes.

use super::error::ConfigErrors;
use super::raw::RawSettings;
use super::settings::Settings;
use super::table::Setting;
use std::collections::BTreeMap;

/// The settings typed at a start (settings file, `--set`, flags): keys, and values in TOML.
pub type TypedSettings = BTreeMap<String, String>;

impl RawSettings {
    /// Merges the layers, as [`Self::merge`], over the `stored` settings of a crawl (name and text of
    /// the file), if there is one. A setting typed as at the `last` start keeps its stored value. Also
    /// returns what was typed now.
    ///
    /// # Errors
    /// All errors in all layers.
    pub fn resume(
        stored: Option<(&str, &str)>,
        last: &TypedSettings,
        files: &[(&str, &str)],
        sets: &[String],
        flags: &[(&str, &str, String)],
    ) -> Result<(Settings, TypedSettings), ConfigErrors> {
        let typed = Self::layers(files, sets, flags)?;
        let typed_now = typed.typed();
        let mut raw = Self::default();
        if let Some((name, text)) = stored {
            raw.file(name, text)?;
        }
        for (key, value) in &typed_now {
            let same = last.get(key) == Some(value);
            if let Some(setting) = Setting::find(key).filter(|_| stored.is_none() || !same) {
                raw.take_from(&typed, setting, value);
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
        assert_eq!(resume(&[contact, "politeness.delay=1s"]), (5, 4, 2), "the same as last time");
        assert_eq!(
            resume(&[contact, "politeness.delay=1000ms"]),
            (5, 4, 2),
            "the same in other words"
        );
        assert_eq!(resume(&[]), (5, 4, 2), "nothing is typed");
        assert_eq!(resume(&["politeness.delay=2s"]), (2, 4, 2), "something else");
        assert_eq!(resume(&["politeness.ip-delay=9s"]), (5, 9, 2), "something new");
        let wrong = RawSettings::resume(None, &given, &[], &sets(&["politeness.delay=1"]), &[]);
        assert!(wrong.unwrap_err().to_string().contains("--set politeness.delay=1: "));
    }
}
