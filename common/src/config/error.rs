//! What is wrong with the settings, and where it was said.

use std::fmt;

/// Where a setting was typed.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Place {
    /// Nowhere: the default, or set by the program.
    #[default]
    Default,
    /// In a file.
    File {
        /// As the user named it.
        name: String,
        /// Counted from 1.
        line: usize,
    },
    /// In an argument of `--set`.
    Set(String),
    /// In a flag of its own, named with its hyphens.
    Flag(String),
}

/// Ends with a colon and a space where there is anything to say.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => Ok(()),
            Self::File { name, line } => write!(f, "{name}:{line}: "),
            Self::Set(argument) => write!(f, "--set {argument}: "),
            Self::Flag(flag) => write!(f, "{flag}: "),
        }
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}{}{problem}", key.as_ref().map(|key| format!("{key}: ")).unwrap_or_default())]
pub struct ConfigError {
    /// Where it was typed.
    pub place: Place,
    /// `section.key`; `None` where what was typed is not even TOML.
    pub key: Option<String>,
    /// What is wrong, and what to write.
    pub problem: String,
}

/// All that is wrong, one a line; never empty.
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

impl From<ConfigError> for ConfigErrors {
    fn from(error: ConfigError) -> Self {
        Self(vec![error])
    }
}
