//! Resuming a crawl whose settings may have been changed while it ran.
//!
//! The settings stay as they are, but for what is typed now and was not typed, or was typed
//! otherwise, at the last start. So to start again with the same options undoes nothing.

use super::error::ConfigErrors;
use super::raw::Raw;
use super::settings::Settings;
use super::table::Setting;
use std::collections::BTreeMap;

/// What was typed at a start (a settings file, `--set`, flags): keys, and values as in a file.
pub type Given = BTreeMap<String, String>;

impl Raw {
    /// As [`Self::merge`] over the settings that are kept (their name and text, if there is a crawl),
    /// of which those stay as they are for which the same was typed at the `last` start. Also says
    /// what was typed now.
    ///
    /// # Errors
    /// All that is wrong in any of them.
    pub fn resume(
        kept: Option<(&str, &str)>,
        last: &Given,
        files: &[(&str, &str)],
        sets: &[String],
        flags: &[(&str, &str, String)],
    ) -> Result<(Settings, Given), ConfigErrors> {
        let typed = Self::layers(files, sets, flags)?;
        let given = typed.given();
        let mut raw = Self::default();
        if let Some((name, text)) = kept {
            raw.file(name, text)?;
        }
        for (key, value) in &given {
            let same = last.get(key) == Some(value);
            if let Some(setting) = Setting::find(key).filter(|_| kept.is_none() || !same) {
                raw.take_from(&typed, setting, value);
            }
        }
        Ok((raw.check()?, given))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_edited_stays_unless_something_else_is_typed_than_last_time() {
        let sets = |all: &[&str]| all.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
        let contact = "identity.contact=you@example.com";
        let first = sets(&[contact, "politeness.delay=1s", "politeness.burst=2"]);
        let (settings, given) = Raw::resume(None, &Given::new(), &[], &first, &[]).unwrap();
        assert_eq!((settings.politeness.burst, given.len()), (2, 3));
        let mut edited = settings;
        edited.apply_set("politeness.delay=5s").unwrap();
        edited.apply_set("politeness.ip-delay=4s").unwrap();
        let kept = edited.to_toml();
        let resume = |typed: &[&str]| {
            let file = [("c.toml", "[politeness]\nburst = 2\n")];
            let kept = Some(("kept", kept.as_str()));
            let (settings, _) = Raw::resume(kept, &given, &file, &sets(typed), &[]).unwrap();
            let p = settings.politeness;
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
        let wrong = Raw::resume(None, &given, &[], &sets(&["politeness.delay=1"]), &[]);
        assert!(wrong.unwrap_err().to_string().contains("--set politeness.delay=1: "));
    }
}
