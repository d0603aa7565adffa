//! Signatures of requests, kept for each authority until half of their life has passed.

use crate::base::SignatureBase;
use crate::signature_agent::header;
use crate::{PrivateKey, SignatureAgent};
use crivello_common::config::SignatureAgentForm;
use crivello_common::time::Timestamp;
use http::{HeaderName, HeaderValue};
use moka::sync::Cache;
use std::sync::Arc;

/// Label of the signature in all three headers.
const LABEL: &str = "sig1";
const TAG: &str = "web-bot-auth";
/// Life of a signature in seconds. The drafts recommend at most a day. A site that receives a signature can show
/// it to nobody but itself, because it covers the authority.
const LIFETIME_SECS: u64 = 3_600;
/// Maximum number of authorities whose signature is kept, with about 700 bytes each: as many as there are hosts
/// in memory by default. Beyond it, a request costs a new signature.
const KEPT_MAX: u64 = 65_536;

/// Header fields of a signed request.
#[derive(Debug)]
pub struct SignatureHeaders {
    agent: HeaderValue,
    input: HeaderValue,
    signature: HeaderValue,
    /// Time from which a new signature is made, in seconds since 1970.
    renewal: u64,
}

impl SignatureHeaders {
    /// Returns names and values, in the order in which they are sent.
    pub fn iter(&self) -> impl Iterator<Item = (HeaderName, &HeaderValue)> {
        [
            (HeaderName::from_static("signature-agent"), &self.agent),
            (HeaderName::from_static("signature-input"), &self.input),
            (HeaderName::from_static("signature"), &self.signature),
        ]
        .into_iter()
    }
}

/// Signs requests with one key. Clones would not share what is kept, so there are none.
#[derive(Debug)]
pub struct RequestSigner {
    key: PrivateKey,
    agent: SignatureAgent,
    kept: Cache<Box<str>, Arc<SignatureHeaders>>,
}

impl RequestSigner {
    /// Creates a signer whose keys are published at `directory` (see [`SignatureAgent::new`]).
    ///
    /// # Errors
    /// Returns the problem of a URL that cannot be that of a directory.
    pub fn new(key: PrivateKey, directory: &str, form: SignatureAgentForm) -> Result<Self, String> {
        let agent = SignatureAgent::new(directory, form, LABEL)?;
        Ok(Self { key, agent, kept: Cache::new(KEPT_MAX) })
    }

    /// Returns the headers of a request to `authority`: a host name in lower case, with the port if it is not
    /// the default of the scheme. They cover nothing else of the request, so they are the same for all
    /// requests until half of their life has passed.
    pub fn headers(&self, authority: &str, now: Timestamp) -> Arc<SignatureHeaders> {
        let now = now.as_secs();
        if let Some(kept) = self.kept.get(authority)
            && now < kept.renewal
        {
            return kept;
        }
        let signed = Arc::new(self.sign(authority, now));
        self.kept.insert(authority.into(), Arc::clone(&signed));
        signed
    }

    fn sign(&self, authority: &str, now: u64) -> SignatureHeaders {
        let expires = now + LIFETIME_SECS;
        let request = SignedRequest { authority, agent: Some(&self.agent), nonce: None };
        let (input, signature) = request.sign(LABEL, &self.key, (now, expires));
        SignatureHeaders {
            agent: self.agent.header.clone(),
            input: header(&input),
            signature: header(&signature),
            renewal: now + LIFETIME_SECS / 2,
        }
    }
}

/// Contents of a signature of a request.
pub(crate) struct SignedRequest<'a> {
    pub(crate) authority: &'a str,
    pub(crate) agent: Option<&'a SignatureAgent>,
    pub(crate) nonce: Option<&'a str>,
}

impl SignedRequest<'_> {
    /// Returns the values of `Signature-Input` and `Signature`.
    pub(crate) fn sign(
        &self,
        label: &str,
        key: &PrivateKey,
        (created, expires): (u64, u64),
    ) -> (String, String) {
        let mut base = SignatureBase::default().component("\"@authority\"", self.authority);
        if let Some(agent) = self.agent {
            base = base.component(&agent.component, &agent.value);
        }
        base = base.integer("created", created).string("keyid", key.id());
        base = base.string("alg", "ed25519").integer("expires", expires);
        if let Some(nonce) = self.nonce {
            base = base.string("nonce", nonce);
        }
        base.string("tag", TAG).sign(label, key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::key;

    fn signer() -> RequestSigner {
        RequestSigner::new(key(), "https://bot.example", SignatureAgentForm::DirectoryUrl).unwrap()
    }

    fn at(secs: u64) -> Timestamp {
        Timestamp::from_secs(secs)
    }

    #[test]
    fn a_signature_is_kept_until_half_of_its_life() {
        let signer = signer();
        let first = signer.headers("example.com", at(1_000));
        let texts: Vec<_> =
            first.iter().map(|(name, value)| (name, value.to_str().unwrap())).collect();
        assert_eq!(texts[0].0, "signature-agent");
        assert!(
            texts[1].1.starts_with(
                "sig1=(\"@authority\" \"signature-agent\";key=\"sig1\");created=1000;"
            )
        );
        assert!(
            texts[1].1.contains(";expires=4600;") && texts[1].1.ends_with(";tag=\"web-bot-auth\"")
        );
        assert!(Arc::ptr_eq(&first, &signer.headers("example.com", at(2_799))));
        let second = signer.headers("example.com", at(2_800));
        assert_ne!(first.signature, second.signature);
        assert!(Arc::ptr_eq(&second, &signer.headers("example.com", at(2_801))));
    }

    #[test]
    fn another_authority_has_another_signature() {
        let signer = signer();
        let names = ["example.com", "example.com:8443", "www.example.com"];
        let headers = names.map(|name| signer.headers(name, at(1_000)));
        assert_ne!(headers[0].signature, headers[1].signature);
        assert_ne!(headers[0].signature, headers[2].signature);
        assert_eq!(headers[0].input, headers[1].input);
    }

    #[test]
    fn what_is_kept_is_bounded_and_the_key_is_not_shown() {
        let signer = signer();
        assert_eq!(signer.kept.policy().max_capacity(), Some(KEPT_MAX));
        assert!(!format!("{signer:?}").contains("n4Ni"), "{signer:?}");
    }
}
