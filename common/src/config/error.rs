//! Errors in settings, with the origin of each setting.

use std::fmt;

/// The origin of a setting.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum SettingOrigin {
    /// The default, or set by the program.
    #[default]
    Default,
    /// A file.
    File {
        /// Name as given by the user.
        name: String,
        /// Line number, from 1.
        line: usize,
    },
    /// An argument of `--set`.
    Set(String),
    /// A flag, with its hyphens.
    Flag(String),
}

/// The text ends with a colon and a space, unless it is empty.
impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => Ok(()),
            Self::File { name, line } => write!(f, "{name}:{line}: "),
            Self::Set(argument) => write!(f, "--set {argument}: "),
            Self::Flag(flag) => write!(f, "{flag}: "),
        }
    }
}

/// One error in the settings.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{origin}{}{problem}", key.as_ref().map(|key| format!("{key}: ")).unwrap_or_default())]
pub struct ConfigError {
    /// Origin of the setting.
    pub origin: SettingOrigin,
    /// `section.key`; `None` if the text is not valid TOML.
    pub key: Option<String>,
    /// Problem and a valid form.
    pub problem: String,
}

impl ConfigError {
    /// Creates an error in a setting that the program has set.
    pub(super) fn of(key: &str, problem: String) -> Self {
        Self { origin: SettingOrigin::Default, key: Some(key.to_owned()), problem }
    }
}

/// All errors, one per line; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigErrors(pub Vec<ConfigError>);

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            write!(f, "{}{error}", if i == 0 { "" } else { "\n" })?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}

impl ConfigErrors {
    /// Returns `value` if there are no `errors`.
    pub(super) fn or<T>(errors: Vec<ConfigError>, value: T) -> Result<T, Self> {
        if errors.is_empty() { Ok(value) } else { Err(Self(errors)) }
    }
}
