//! The directory in which sites look up the crawler's keys: a JSON Web Key Set, and headers with which the
//! holder of each key proves that it offers the key at this place.

use crate::PrivateKey;
use crate::base::SignatureBase;
use crivello_common::config::directory_url;
use crivello_common::time::Timestamp;
use data_encoding::BASE64;
use ring::digest::{SHA256, digest};
use std::time::Duration;

/// Name of the directory, the last segment of its well-known path.
pub const DIRECTORY_FILE: &str = "http-message-signatures-directory";
const MEDIA_TYPE: &str = "application/http-message-signatures-directory+json";

/// A directory: the body and the headers of a response with status 200.
#[derive(Debug)]
pub struct KeyDirectory {
    /// The body.
    pub body: String,
    /// Names and values of headers.
    pub headers: Vec<(&'static str, String)>,
}

impl KeyDirectory {
    /// Creates the directory of these keys, at this URL, with signatures that are valid from `now` for `life`.
    ///
    /// # Errors
    /// Returns the problem of a URL that cannot be that of a directory.
    pub fn new(
        keys: &[PrivateKey],
        url: &str,
        now: Timestamp,
        life: Duration,
    ) -> Result<Self, String> {
        let url = directory_url(url)?;
        let authority = url.authority();
        let jwks: Vec<_> = keys.iter().map(PrivateKey::jwk).collect();
        let body = format!(r#"{{"keys":[{}]}}"#, jwks.join(","));
        let content = content_digest(body.as_bytes());
        let (created, expires) = (now.as_secs(), now.as_secs() + life.as_secs());
        let signed = keys
            .iter()
            .zip(1..)
            .map(|(key, n)| sign(&format!("sig{n}"), key, authority, &content, (created, expires)));
        let (inputs, signatures): (Vec<_>, Vec<_>) = signed.unzip();
        let headers = vec![
            ("Content-Type", MEDIA_TYPE.to_owned()),
            ("Content-Digest", content),
            ("Signature-Input", inputs.join(", ")),
            ("Signature", signatures.join(", ")),
        ];
        Ok(Self { body, headers })
    }
}

/// Returns the value of `Content-Digest` (RFC 9530).
pub(crate) fn content_digest(body: &[u8]) -> String {
    format!("sha-256=:{}:", BASE64.encode(digest(&SHA256, body).as_ref()))
}

/// Returns the values of `Signature-Input` and `Signature` of a response to a request to `authority`.
pub(crate) fn sign(
    label: &str,
    key: &PrivateKey,
    authority: &str,
    content_digest: &str,
    (created, expires): (u64, u64),
) -> (String, String) {
    SignatureBase::default()
        .component("\"@authority\";req", authority)
        .component("\"content-digest\"", content_digest)
        .integer("created", created)
        .integer("expires", expires)
        .string("keyid", key.id())
        .string("tag", DIRECTORY_FILE)
        .sign(label, key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::{KEY_ID, key};

    #[test]
    fn each_key_is_listed_and_signs() {
        let other = PrivateKey::parse(&PrivateKey::draw().unwrap()).unwrap();
        let id = other.id().to_owned();
        let life = Duration::from_secs(60);
        let now = Timestamp::from_secs(1_000);
        let url = "https://Bot.example:8443/keys";
        let directory = KeyDirectory::new(&[key(), other], url, now, life).unwrap();
        let parsed: serde_json::Value = serde_json::from_str(&directory.body).unwrap();
        assert_eq!(parsed["keys"][0]["kid"], KEY_ID);
        assert_eq!(parsed["keys"][1]["kid"], id.as_str());
        let header = |name| &directory.headers.iter().find(|(n, _)| *n == name).unwrap().1;
        assert_eq!(header("Content-Digest"), &content_digest(directory.body.as_bytes()));
        let expected =
            sign("sig1", &key(), "bot.example:8443", header("Content-Digest"), (1_000, 1_060));
        let (input, signature) = (header("Signature-Input"), header("Signature"));
        assert!(input.starts_with(&format!("{}, sig2=(", expected.0)), "{input}");
        assert!(signature.starts_with(&format!("{}, sig2=:", expected.1)), "{signature}");
    }

    #[test]
    fn a_directory_is_served_over_https_only() {
        let life = Duration::from_secs(60);
        let made = |url| KeyDirectory::new(&[key()], url, Timestamp::ZERO, life);
        assert!(made("http://bot.example").unwrap_err().contains("https"));
        assert!(made("https://bot.example").is_ok());
    }
}
