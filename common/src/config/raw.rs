//! What was typed, layer upon layer, with the place of each setting remembered for the messages.

use super::check;
use super::choices::AssignBy;
use super::edit::Edit;
use super::error::{ConfigError, ConfigErrors, Place};
use super::resume::Given;
use super::settings::{SECTIONS, Settings, TABLE};
use super::suggest::suggest;
use super::table::{Section, Setting};
use super::value::{Problem, Typed};
use std::collections::BTreeMap;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Settings as they were typed: each of a known key and type, not yet checked against bounds and
/// each other. A later layer replaces what an earlier one said; a list is replaced as a whole.
#[derive(Clone, Debug, Default)]
pub struct Raw {
    settings: Settings,
    places: BTreeMap<String, Place>,
}

impl Raw {
    /// All layers in their order: the files (their names and texts), the arguments of `--set`, and the
    /// flags, each with the setting it stands for and what was typed behind it.
    ///
    /// # Errors
    /// All that is wrong in any of them.
    pub fn merge(
        files: &[(&str, &str)],
        sets: &[String],
        flags: &[(&str, &str, String)],
    ) -> Result<Settings, ConfigErrors> {
        Self::layers(files, sets, flags)?.check()
    }

    /// The same, unchecked.
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
        if errors.is_empty() { Ok(raw) } else { Err(ConfigErrors(errors)) }
    }

    /// Settings of which nobody has typed anything yet.
    pub(super) const fn of(settings: Settings) -> Self {
        Self { settings, places: BTreeMap::new() }
    }

    /// What was typed, by key, as in a file.
    pub(super) fn given(&self) -> Given {
        let typed = TABLE.iter().filter(|setting| self.places.contains_key(&setting.key()));
        typed.map(|setting| (setting.key(), (setting.write)(&self.settings))).collect()
    }

    /// Takes over what `other` says of a setting, and where it was typed.
    pub(super) fn take_from(&mut self, other: &Self, setting: &Setting, value: &str) {
        // Whatever is written can be read.
        let _ = (setting.read_text)(&mut self.settings, value);
        let key = setting.key();
        let place = other.places.get(&key).cloned().unwrap_or_default();
        self.places.insert(key, place);
    }

    /// Makes one change; `Err` says in words what is wrong with it.
    pub(super) fn edit(&mut self, setting: &Setting, edit: &Edit) -> Result<(), String> {
        let settings = &mut self.settings;
        let made = match edit {
            Edit::Set(value) => (setting.read_text)(settings, value.trim()),
            Edit::Add(entry) => (setting.add)(settings, entry.trim()),
            Edit::Remove(entry) => (setting.remove)(settings, entry.trim()),
            Edit::Unset => (setting.read_text)(settings, &(setting.write)(&Settings::default())),
        };
        made.map_err(|problem| problem.text)?;
        let key = setting.key();
        match edit {
            Edit::Unset => drop(self.places.remove(&key)),
            _ => drop(self.places.insert(key, Place::Default)),
        }
        Ok(())
    }

    /// The layer of a TOML file, named as the user named it.
    ///
    /// # Errors
    /// What is no TOML; unknown keys; values of the wrong type or without their unit.
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
        let errors: Vec<_> = file.errors.into_iter().map(|(_, error)| error).collect();
        if errors.is_empty() { Ok(()) } else { Err(ConfigErrors(errors)) }
    }

    fn section(&mut self, file: &mut File<'_>, name: &Spanned<impl AsRef<str>>, value: &Typed<'_>) {
        let section = name.get_ref().as_ref();
        let at = name.span().start;
        let known = Section::find(section).is_some();
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
                    self.places.insert(key, file.place(name.span().start));
                }
                Err(Problem { at, text }) => file.error(at, Some(key), text),
            }
        }
    }

    /// The layer of one `--set section.key=value`. Quotes around a text may be left out, and a list
    /// may be written with commas alone.
    ///
    /// # Errors
    /// What has no `=`; an unknown key; a value of the wrong type or without its unit.
    pub fn set(&mut self, argument: &str) -> Result<(), ConfigError> {
        let place = Place::Set(argument.to_owned());
        match argument.split_once('=') {
            Some((key, value)) => self.one(place, key.trim(), value.trim()),
            None => {
                let problem = "write section.key=value, such as politeness.delay=5s".to_owned();
                Err(ConfigError { place, key: None, problem })
            }
        }
    }

    /// The layer of one flag that stands for the setting `key`.
    ///
    /// # Errors
    /// A value of the wrong type or without its unit.
    pub fn flag(&mut self, flag: &str, key: &str, value: &str) -> Result<(), ConfigError> {
        self.one(Place::Flag(flag.to_owned()), key, value)
    }

    fn one(&mut self, place: Place, key: &str, value: &str) -> Result<(), ConfigError> {
        let result = match Setting::find(key) {
            Some(setting) => (setting.read_text)(&mut self.settings, value).map_err(|p| p.text),
            None => Err(unknown(key)),
        };
        let key = key.to_owned();
        match result {
            Ok(()) => {
                self.places.insert(key, place);
                Ok(())
            }
            Err(problem) => Err(ConfigError { place, key: Some(key), problem }),
        }
    }

    /// The keys of which no layer has spoken.
    #[must_use]
    pub fn missing(&self) -> Vec<String> {
        TABLE.iter().map(Setting::key).filter(|key| !self.places.contains_key(key)).collect()
    }

    /// The settings so far, unchecked.
    #[must_use]
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The settings, once every bound and relation holds.
    ///
    /// # Errors
    /// All that do not, each with the place where it was typed.
    pub fn check(mut self) -> Result<Settings, ConfigErrors> {
        // A default that means something for domains only.
        let said = self.places.contains_key("limits.hosts-per-domain-max");
        if self.settings.identity.assign_by == AssignBy::Host && !said {
            self.settings.limits.hosts_per_domain_max = None;
        }
        let problems = check::problems(&self.settings).into_iter();
        let place = |key: &str| self.places.get(key).cloned().unwrap_or_default();
        let errors: Vec<_> = problems
            .map(|(key, problem)| ConfigError { place: place(&key), key: Some(key), problem })
            .collect();
        if errors.is_empty() { Ok(self.settings) } else { Err(ConfigErrors(errors)) }
    }
}

pub(super) fn unknown(key: &str) -> String {
    let keys: Vec<String> = TABLE.iter().map(Setting::key).collect();
    match suggest(key, &keys) {
        Some(near) => format!("there is no such setting; did you mean {near}?"),
        None => "there is no such setting; `crivello config` prints all there are".to_owned(),
    }
}

/// A file while it is read: its errors with their offsets.
struct File<'a> {
    name: &'a str,
    text: &'a str,
    errors: Vec<(usize, ConfigError)>,
}

impl File<'_> {
    fn place(&self, at: usize) -> Place {
        let before = self.text.as_bytes().iter().take(at);
        Place::File {
            name: self.name.to_owned(),
            line: 1 + before.filter(|&&b| b == b'\n').count(),
        }
    }

    fn error(&mut self, at: usize, key: Option<String>, problem: String) {
        self.errors.push((at, ConfigError { place: self.place(at), key, problem }));
    }
}

impl Settings {
    /// The settings of a TOML file over the defaults: of known keys and types, not yet checked (see
    /// [`Self::check`]), because what is missing may come from the command line.
    ///
    /// # Errors
    /// As [`Raw::file`].
    pub fn from_toml(name: &str, text: &str) -> Result<Self, ConfigErrors> {
        let mut raw = Raw::default();
        raw.file(name, text)?;
        Ok(raw.settings)
    }

    /// Takes over one `section.key=value`.
    ///
    /// # Errors
    /// As [`Raw::set`]; the settings are then as before.
    pub fn apply_set(&mut self, argument: &str) -> Result<(), ConfigError> {
        let mut raw = Raw { settings: std::mem::take(self), places: BTreeMap::new() };
        let result = raw.set(argument);
        *self = raw.settings;
        result
    }

    /// Whether every bound and relation holds.
    ///
    /// # Errors
    /// All that do not.
    pub fn check(&self) -> Result<(), ConfigErrors> {
        Raw { settings: self.clone(), places: BTreeMap::new() }.check().map(|_| ())
    }
}
