//! Typed settings, merged from all layers, with the origin of each for error messages.

use super::check;
use super::choices::AssignBy;
use super::error::{ConfigError, ConfigErrors, SettingOrigin};
use super::settings::{SECTIONS, Settings, TABLE};
use super::suggest::suggest;
use super::table::Setting;
use super::value::{TomlValue, ValueError};
use std::collections::BTreeMap;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Typed settings: keys and types are checked, bounds and relations are not. A later layer replaces
/// the values of an earlier one; a list is replaced as a whole.
#[derive(Clone, Debug, Default)]
pub struct RawSettings {
    pub(super) settings: Settings,
    /// Origin of each setting that a layer has set, by its key.
    pub(super) origins: BTreeMap<String, SettingOrigin>,
}

impl RawSettings {
    /// Merges and checks all layers in order: files (name and text), arguments of `--set`, and flags
    /// (the flag, its setting, and the value).
    ///
    /// # Errors
    /// Returns all errors in all layers.
    pub fn merge(
        files: &[(&str, &str)],
        sets: &[String],
        flags: &[(&str, &str, String)],
    ) -> Result<Settings, ConfigErrors> {
        Self::layers(files, sets, flags)?.check()
    }

    /// Merges all layers like [`Self::merge`], but without the check.
    pub(super) fn layers(
        files: &[(&str, &str)],
        sets: &[String],
        flags: &[(&str, &str, String)],
    ) -> Result<Self, ConfigErrors> {
        let mut raw = Self::default();
        let mut errors = Vec::new();
        for (name, text) in files {
            errors.extend(raw.file(name, text).err().into_iter().flat_map(|errors| errors.0));
        }
        errors.extend(sets.iter().filter_map(|argument| raw.set(argument).err()));
        let flags = flags.iter();
        errors.extend(flags.filter_map(|(flag, key, text)| raw.flag(flag, key, text).err()));
        ConfigErrors::or(errors, raw)
    }

    /// Creates settings without origins.
    pub(super) const fn of(settings: Settings) -> Self {
        Self { settings, origins: BTreeMap::new() }
    }

    /// Adds the layer of a TOML file, with its name for error messages.
    ///
    /// # Errors
    /// Returns invalid TOML, unknown keys, and values of the wrong type or without unit.
    pub fn file(&mut self, name: &str, text: &str) -> Result<(), ConfigErrors> {
        let mut file = File { name, text, errors: Vec::new() };
        match DeTable::parse(text) {
            Ok(sections) => {
                for (section, value) in sections.get_ref() {
                    self.section(&mut file, section, value);
                }
            }
            Err(error) => {
                let at = error.span().map_or(0, |span| span.start);
                file.error(at, None, error.message().to_owned());
            }
        }
        file.errors.sort_by_key(|(at, _)| *at);
        ConfigErrors::or(file.errors.into_iter().map(|(_, error)| error).collect(), ())
    }

    fn section(
        &mut self,
        file: &mut File<'_>,
        name: &Spanned<impl AsRef<str>>,
        value: &TomlValue<'_>,
    ) {
        let section = name.get_ref().as_ref();
        let at = name.span().start;
        let known = SECTIONS.iter().any(|one| one.name == section);
        let DeValue::Table(keys) = value.get_ref() else {
            let text = if known {
                format!("this is a section; write [{section}] and its settings below it")
            } else {
                unknown(section)
            };
            return file.error(at, Some(section.to_owned()), text);
        };
        if !known {
            let names: Vec<String> = SECTIONS.iter().map(|s| s.name.to_owned()).collect();
            let hint = match suggest(section, &names) {
                Some(near) => format!("did you mean [{near}]?"),
                None => format!("the sections are {}", names.join(", ")),
            };
            let text = format!("there is no such section; {hint}");
            return file.error(at, Some(section.to_owned()), text);
        }
        for (name, value) in keys {
            let key = format!("{section}.{}", name.get_ref());
            let Some(setting) = Setting::find(&key) else {
                let text = unknown(&key);
                file.error(name.span().start, Some(key), text);
                continue;
            };
            match (setting.read)(&mut self.settings, value) {
                Ok(()) => {
                    self.origins.insert(key, file.origin(name.span().start));
                }
                Err(ValueError { at, text }) => file.error(at, Some(key), text),
            }
        }
    }

    /// Adds the layer of one `--set section.key=value`. Quotes around a text are optional, and a list
    /// may be written without brackets.
    ///
    /// # Errors
    /// Fails for a missing `=`, an unknown key, or a value of the wrong type or without unit.
    pub fn set(&mut self, argument: &str) -> Result<(), ConfigError> {
        let origin = SettingOrigin::Set(argument.to_owned());
        match argument.split_once('=') {
            Some((key, value)) => self.one(origin, key.trim(), value.trim()),
            None => {
                let problem = "write section.key=value, such as politeness.delay=5s".to_owned();
                Err(ConfigError { origin, key: None, problem })
            }
        }
    }

    /// Adds the layer of one flag for the setting `key`.
    ///
    /// # Errors
    /// Fails for a value of the wrong type or without unit.
    pub fn flag(&mut self, flag: &str, key: &str, value: &str) -> Result<(), ConfigError> {
        self.one(SettingOrigin::Flag(flag.to_owned()), key, value)
    }

    fn one(&mut self, origin: SettingOrigin, key: &str, value: &str) -> Result<(), ConfigError> {
        let result = match Setting::find(key) {
            Some(setting) => (setting.read_text)(&mut self.settings, value).map_err(|p| p.text),
            None => Err(unknown(key)),
        };
        let key = key.to_owned();
        if let Err(problem) = result {
            return Err(ConfigError { origin, key: Some(key), problem });
        }
        self.origins.insert(key, origin);
        Ok(())
    }

    /// Returns the keys that no layer has set.
    pub fn missing(&self) -> Vec<String> {
        TABLE.iter().map(Setting::key).filter(|key| !self.origins.contains_key(key)).collect()
    }

    /// Returns the merged settings, unchecked.
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Checks all bounds and relations.
    ///
    /// # Errors
    /// Returns all violations, each with the origin of the setting.
    pub fn check(mut self) -> Result<Settings, ConfigErrors> {
        // This default applies only to domains.
        let typed = self.origins.contains_key("limits.hosts-per-domain-max");
        if self.settings.fixed.identity.assign_by == AssignBy::Host && !typed {
            self.settings.live.limits.hosts_per_domain_max = None;
        }
        let problems = check::problems(&self.settings).into_iter();
        let origin = |key: &str| self.origins.get(key).cloned().unwrap_or_default();
        let errors = problems
            .map(|(key, problem)| ConfigError { origin: origin(&key), key: Some(key), problem })
            .collect();
        ConfigErrors::or(errors, self.settings)
    }
}

pub(super) fn unknown(key: &str) -> String {
    let keys: Vec<String> = TABLE.iter().map(Setting::key).collect();
    match suggest(key, &keys) {
        Some(near) => format!("there is no such setting; did you mean {near}?"),
        None => "there is no such setting; `crivello config` prints all settings".to_owned(),
    }
}

/// A file during parsing, with its errors and their offsets.
struct File<'a> {
    name: &'a str,
    text: &'a str,
    errors: Vec<(usize, ConfigError)>,
}

impl File<'_> {
    fn origin(&self, at: usize) -> SettingOrigin {
        let before = self.text.as_bytes().iter().take(at);
        SettingOrigin::File {
            name: self.name.to_owned(),
            line: 1 + before.filter(|&&b| b == b'\n').count(),
        }
    }

    fn error(&mut self, at: usize, key: Option<String>, problem: String) {
        self.errors.push((at, ConfigError { origin: self.origin(at), key, problem }));
    }
}

impl Settings {
    /// Returns the defaults overridden by a TOML file. Bounds and relations are not checked (see
    /// [`Self::check`]).
    ///
    /// # Errors
    /// Same as [`RawSettings::file`].
    pub fn from_toml(name: &str, text: &str) -> Result<Self, ConfigErrors> {
        let mut raw = RawSettings::default();
        raw.file(name, text)?;
        Ok(raw.settings)
    }

    /// Applies one `section.key=value`.
    ///
    /// # Errors
    /// Same as [`RawSettings::set`]. The settings are then unchanged.
    pub fn apply_set(&mut self, argument: &str) -> Result<(), ConfigError> {
        let mut raw = RawSettings::of(std::mem::take(self));
        let result = raw.set(argument);
        *self = raw.settings;
        result
    }

    /// Checks all bounds and relations.
    ///
    /// # Errors
    /// Returns all violations.
    pub fn check(&self) -> Result<(), ConfigErrors> {
        RawSettings::of(self.clone()).check().map(|_| ())
    }
}
