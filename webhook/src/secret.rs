//! The secret of a webhook, and the signature of a message (Standard Webhooks 1.0).

use crivello_common::runtime::{SecretFileError, read_secret};
use data_encoding::BASE64;
use ring::hmac::{HMAC_SHA256, Key, sign};
use std::ffi::OsString;
use std::fmt;
use std::path::Path;

/// Name of the environment variable that may have the secret.
pub const SECRET_VARIABLE: &str = "CRIVELLO_WEBHOOK_SECRET";
/// Begin of the text of a secret.
const PREFIX: &str = "whsec_";
/// Bounds of the length of a secret in bytes.
const LENGTHS: std::ops::RangeInclusive<usize> = 24..=64;

/// The key of signatures. Neither `Debug` nor any error shows it.
pub struct WebhookSecret(Key);

/// The reason why there is no secret.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// There is neither a file nor a variable.
    #[error("webhook.secret-file: missing; write the file of a secret, or set {SECRET_VARIABLE}")]
    Missing,
    /// The file cannot be used.
    #[error("webhook.secret-file: {0}")]
    File(SecretFileError),
    /// The text is not a secret.
    #[error(
        "{0} has no secret of a webhook: write {PREFIX} and 24 to 64 random bytes in Base64, such as the output \
         of `echo {PREFIX}$(head -c 32 /dev/urandom | base64)`"
    )]
    Format(String),
}

/// Hides the secret.
impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookSecret")
    }
}

impl WebhookSecret {
    /// Reads the secret in `file`, or else takes the value of [`SECRET_VARIABLE`].
    ///
    /// # Errors
    /// [`SecretError`] if there is none.
    pub fn read(file: Option<&Path>, variable: Option<OsString>) -> Result<Self, SecretError> {
        let (text, from) = match (file, variable) {
            (Some(file), _) => {
                let text = read_secret(file).map_err(SecretError::File)?;
                (text, file.display().to_string())
            }
            (None, Some(text)) => {
                (text.into_string().unwrap_or_default(), SECRET_VARIABLE.to_owned())
            }
            (None, None) => return Err(SecretError::Missing),
        };
        Self::parse(&text).ok_or(SecretError::Format(from))
    }

    fn parse(text: &str) -> Option<Self> {
        let bytes = BASE64.decode(text.trim().strip_prefix(PREFIX)?.as_bytes()).ok()?;
        LENGTHS.contains(&bytes.len()).then(|| Self(Key::new(HMAC_SHA256, &bytes)))
    }

    /// Returns the value of `webhook-signature`.
    pub(crate) fn sign(&self, id: &str, timestamp: u64, body: &str) -> String {
        let tag = sign(&self.0, format!("{id}.{timestamp}.{body}").as_bytes());
        format!("v1,{}", BASE64.encode(tag.as_ref()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_common::runtime::write_secret;
    use std::fs;

    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

    /// The example of the specification.
    #[test]
    fn a_message_has_its_published_signature() {
        let secret = WebhookSecret::parse(SECRET).unwrap();
        let signature =
            secret.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, "{\"test\": 2432232314}");
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn a_secret_is_read_from_a_file_of_its_owner_or_from_the_environment() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("secret");
        write_secret(&file, &format!("{SECRET}\n")).unwrap();
        let secret = WebhookSecret::read(Some(&file), None).unwrap();
        assert_eq!(format!("{secret:?}"), "WebhookSecret");
        assert!(WebhookSecret::read(None, Some(SECRET.into())).is_ok());
        let missing = WebhookSecret::read(None, None).unwrap_err().to_string();
        assert!(missing.contains(SECRET_VARIABLE), "{missing}");
        for bad in
            ["", "whsec_", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_QUJDREVGRw==", "whsec_?"]
        {
            let error = WebhookSecret::read(None, Some(bad.into())).unwrap_err();
            let shown = format!("{error} {error:?}");
            assert!(shown.contains("base64"), "{shown}");
            assert!(!shown.contains("MfKQ"), "{shown}");
        }
        fs::write(dir.path().join("exposed"), SECRET).unwrap();
        let exposed = WebhookSecret::read(Some(&dir.path().join("exposed")), None).unwrap_err();
        assert!(exposed.to_string().contains("chmod 600"), "{exposed}");
    }
}
