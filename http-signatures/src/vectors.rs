//! Published vectors, byte by byte: `draft-ietf-webbotauth-httpsig-protocol`, its predecessors, and the
//! directory draft. All use the Ed25519 key of RFC 9421 appendix B.1.4.

use crate::key_directory::{content_digest, sign};
use crate::request_signer::SignedRequest;
use crate::{KeyDirectory, PrivateKey, SignatureAgent};
use crivello_common::time::Timestamp;
use std::time::Duration;

/// Thumbprint of [`key`].
pub const KEY_ID: &str = "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U";
const PEM: &str = "-----BEGIN PRIVATE KEY-----\n\
    MC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF\n\
    -----END PRIVATE KEY-----\n";
const CREATED: u64 = 1_735_689_600;
/// Expiry of all vectors but that of the legacy form.
const EXPIRES: u64 = 4_889_289_600;

/// The key of RFC 9421 appendix B.1.4.
pub fn key() -> PrivateKey {
    PrivateKey::parse(PEM).unwrap()
}

fn params(components: &str, expires: u64, nonce: &str) -> String {
    format!(
        "({components});created={CREATED};keyid=\"{KEY_ID}\";alg=\"ed25519\";expires={expires};nonce=\"{nonce}\";\
         tag=\"web-bot-auth\""
    )
}

fn check(
    request: &SignedRequest<'_>,
    label: &str,
    expires: u64,
    (components, signature): (&str, &str),
) {
    let (input, signed) = request.sign(label, &key(), (CREATED, expires));
    let params = params(components, expires, request.nonce.unwrap());
    assert_eq!(input, format!("{label}={params}"));
    assert_eq!(signed, format!("{label}=:{signature}:"));
}

#[test]
fn the_key_has_its_published_thumbprint() {
    assert_eq!(key().id(), KEY_ID);
}

#[test]
fn a_dictionary_of_agents() {
    let agent = SignatureAgent::member("agent2", "https://signature-agent.test");
    assert_eq!(agent.header, "agent2=\"https://signature-agent.test\"");
    let nonce =
        "n9p433xm+NJ3ph3upfBIGmsuwHw387YV7Q/F+6BSpGCVjYCqQw6rznNA8PVVLySrAWsv0hQtFioQb6E1YsauiA==";
    let request =
        SignedRequest { authority: "example.com", agent: Some(&agent), nonce: Some(nonce) };
    let components = "\"@authority\" \"signature-agent\";key=\"agent2\"";
    let signature =
        "RdNFx5Bj6au3YgAMQL/RzmUlZE8QZLIaXGRpw985hWnwPfMxT228NMk6ehRS1PSl4e8PhbNZACSanGdhEwYCCg==";
    check(&request, "sig2", EXPIRES, (components, signature));
}

#[test]
fn no_agent() {
    let nonce =
        "zIW8+cdmA3vdYagbxojpONwa/l0EKJ/O3/wD486VvsQjO/RxPaSt6ZxvQaMcQzNnqKN/mQ6hpGiFro2L2qkz5A==";
    let request = SignedRequest { authority: "example.com", agent: None, nonce: Some(nonce) };
    let signature =
        "QKN4fTdIYfh82fvoZCQiQA1weuozfCS/Led2zTMbewMMqH8PI2Wsy/5c4ao6B6D09nraNQdBNOADg8aM1MqfCg==";
    check(&request, "sig1", EXPIRES, ("\"@authority\"", signature));
}

#[test]
fn a_legacy_string() {
    let agent = SignatureAgent::string("https://signature-agent.test");
    assert_eq!(agent.header, "\"https://signature-agent.test\"");
    let nonce =
        "e8N7S2MFd/qrd6T2R3tdfAuuANngKI7LFtKYI/vowzk4lAZYadIX6wW25MwG7DCT9RUKAJ0qVkU0mEeLElW1qg==";
    let request =
        SignedRequest { authority: "example.com", agent: Some(&agent), nonce: Some(nonce) };
    let components = "\"@authority\" \"signature-agent\"";
    let signature =
        "jdq0SqOwHdyHr9+r5jw3iYZH6aNGKijYp/EstF4RQTQdi5N5YYKrD+mCT1HA1nZDsi6nJKuHxUi/5Syp3rLWBA==";
    check(&request, "sig1", 1_735_693_200, (components, signature));
}

#[test]
fn a_directory() {
    let body = "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\
        \"kid\":\"poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U\",\
        \"x\":\"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs\",\"use\":\"sig\"}]}";
    let digest = "sha-256=:CADMT2aBdV/rqQr/NIru64ERQkCobVvllA4V0fLFDu0=:";
    let signature =
        "l6P8R67tm3kujAxbHWio7ll01qrEZ0dKD/WWlGhNYEmTnFZM8Wt0VQ9zqGfvo7T/UMkBxsigzChM1Gpz7gOVBg==";
    let (now, life) = (Timestamp::from_secs(CREATED), Duration::from_secs(EXPIRES - CREATED));
    let url = "https://signature-agent.test";
    let directory = KeyDirectory::new(&[key()], url, now, life).unwrap();
    assert_eq!(directory.body, body);
    assert_eq!(content_digest(body.as_bytes()), digest);
    let times = (CREATED, EXPIRES);
    let (input, signed) = sign("binding", &key(), "signature-agent.test", digest, times);
    let params = format!(
        "created={CREATED};expires={EXPIRES};keyid=\"{KEY_ID}\";tag=\"http-message-signatures-directory\""
    );
    assert_eq!(input, format!("binding=(\"@authority\";req \"content-digest\");{params}"));
    assert_eq!(signed, format!("binding=:{signature}:"));
    // The directory has the same signature, by another label.
    assert_eq!(directory.headers[3], ("Signature", format!("sig1=:{signature}:")));
}
