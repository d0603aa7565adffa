//! Settings, layer upon layer, and the file that explains them.

use crivello_common::config::{Raw, Settings, commented_toml};

/// A flag that stands for a setting: the flag, the setting, and what was typed.
pub type Flag = (&'static str, &'static str, String);

/// The checked settings: the defaults, then `file` (its name and its text), then the arguments of
/// `--set`, then the flags.
///
/// # Errors
/// All that is wrong, in words, each with the place where it was typed.
pub fn load(
    file: Option<(&str, &str)>,
    sets: &[String],
    flags: &[Flag],
) -> Result<Settings, String> {
    Raw::merge(file, sets, flags).map_err(|errors| errors.to_string())
}

/// Every setting with its default, unit and meaning, as a TOML file.
pub fn commented() -> String {
    commented_toml()
}
