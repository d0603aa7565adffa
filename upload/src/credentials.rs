//! Credentials of an object store: from the environment or from a file of mode 0600.

use crate::error::UploadError;
use crivello_common::config::Upload;
use crivello_common::runtime::read_secret;
use std::ffi::OsString;
use std::fmt;
use std::path::Path;

const KEY_ID: &str = "AWS_ACCESS_KEY_ID";
const SECRET: &str = "AWS_SECRET_ACCESS_KEY";
const TOKEN: &str = "AWS_SESSION_TOKEN";

/// The key of an account of an object store. `Debug` does not show it.
#[derive(Clone)]
pub struct StoreCredentials {
    pub(crate) key_id: String,
    pub(crate) secret: String,
    pub(crate) token: Option<String>,
}

/// Hides the credentials.
impl fmt::Debug for StoreCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreCredentials")
    }
}

impl StoreCredentials {
    /// Reads them from the file in the settings, or else with `variable`, which returns the value of a variable of the
    /// environment.
    ///
    /// # Errors
    /// [`UploadError`] if there are none, or if other users may read the file.
    pub(crate) fn of(
        settings: &Upload,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, UploadError> {
        let file = Path::new(&settings.credentials_file);
        Self::read(Some(file).filter(|file| !file.as_os_str().is_empty()), variable)
    }

    /// Reads them from `file`, or else with `variable`, which returns the value of a variable of the environment.
    ///
    /// # Errors
    /// [`UploadError`] if there are none, or if other users may read the file.
    pub fn read(
        file: Option<&Path>,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, UploadError> {
        let Some(file) = file else {
            let value = |name: &str| variable(name)?.into_string().ok();
            return Self::find(value).ok_or(UploadError::NoCredentials);
        };
        let text = read_secret(file).map_err(UploadError::CredentialsFile)?;
        let value = |name: &str| {
            let mut pairs = text.lines().filter_map(|line| line.split_once('='));
            let (_, value) = pairs.find(|(key, _)| key.trim().eq_ignore_ascii_case(name))?;
            Some(value.trim().to_owned())
        };
        Self::find(value).ok_or_else(|| UploadError::CredentialsFormat(file.to_owned()))
    }

    fn find(value: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let value = |name| value(name).filter(|value| !value.is_empty());
        Some(Self { key_id: value(KEY_ID)?, secret: value(SECRET)?, token: value(TOKEN) })
    }

    /// Replaces the credentials in a text, such as the answer of a store.
    pub(crate) fn redact(&self, text: &str) -> String {
        let parts = [Some(&self.secret), self.token.as_ref(), Some(&self.key_id)];
        let redacted = |text: String, part: &String| text.replace(part.as_str(), "[redacted]");
        parts.into_iter().flatten().fold(text.to_owned(), redacted)
    }
}
