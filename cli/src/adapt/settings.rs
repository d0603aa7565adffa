//! Settings, layer upon layer, and the file that explains them.

use crivello_common::config::{Given, Raw, Settings, commented_toml};

/// A flag that stands for a setting: the flag, the setting, and what was typed.
pub type Flag = (&'static str, &'static str, String);

/// The checked settings: the defaults, then `files` (their names and texts), then the arguments of
/// `--set`, then the flags.
///
/// # Errors
/// All that is wrong, in words, each with the place where it was typed.
pub fn load(files: &[(&str, &str)], sets: &[String], flags: &[Flag]) -> Result<Settings, String> {
    Raw::merge(files, sets, flags).map_err(|errors| errors.to_string())
}

/// The checked settings, and what was typed for them: those `kept` of a crawl that is resumed (name
/// and text), or the defaults, and over them a settings file, the arguments of `--set`, and the flags;
/// what was typed the same at the `last` start changes nothing.
///
/// # Errors
/// All that is wrong, in words, each with the place where it was typed.
pub fn resume(
    kept: Option<(&str, &str)>,
    last: &Given,
    files: &[(&str, &str)],
    sets: &[String],
    flags: &[Flag],
) -> Result<(Settings, Given), String> {
    Raw::resume(kept, last, files, sets, flags).map_err(|errors| errors.to_string())
}

/// The settings that the file `name` with this text does not speak of.
///
/// # Errors
/// What is wrong with the file.
pub fn missing(name: &str, text: &str) -> Result<Vec<String>, String> {
    let mut raw = Raw::default();
    raw.file(name, text).map_err(|errors| errors.to_string())?;
    Ok(raw.missing())
}

/// Every setting with its default, unit and meaning, as a TOML file.
pub fn commented() -> String {
    commented_toml()
}
