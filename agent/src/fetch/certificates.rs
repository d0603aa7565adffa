//! Verification of web sites' certificates, and a record of the results.
//!
//! rustls verifies a certificate during a handshake, where nothing is known of the request; the
//! response has the certificate, also if its connection resumed an earlier session. So results are
//! recorded by host name and certificate, and looked up for each response. A server that presents a
//! valid certificate without proving that it has its private key is refused, even if certificates
//! need not be valid: otherwise a copy of a site's certificate would count as the site's.

use crate::limits::TLS_HOSTS_REMEMBERED;
use crivello_common::certificate::CertificateStatus;
use moka::sync::Cache;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

/// Recorded results by host: two entries for each host whose session may be resumed, and as many
/// for hosts that changed their certificate.
const RESULTS_MAX: u64 = 4 * TLS_HOSTS_REMEMBERED as u64;

/// Results of verifications.
#[derive(Clone, Debug)]
pub(super) struct Certificates(Arc<Results>);

#[derive(Debug)]
struct Results {
    /// Results by the keyed hash of host and certificate. The key is random, so that a site cannot
    /// make a certificate with the hash of another one.
    by_hash: Cache<u64, CertificateStatus>,
    hasher: RandomState,
}

impl Default for Certificates {
    fn default() -> Self {
        let by_hash = Cache::new(RESULTS_MAX);
        Self(Arc::new(Results { by_hash, hasher: RandomState::new() }))
    }
}

impl Certificates {
    /// Returns the result for the certificate of a response of `host` (IPv6 literals in brackets).
    pub(super) fn status(&self, host: &str, certificate: &[u8]) -> CertificateStatus {
        let name = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let found = self.0.by_hash.get(&self.hash(name, certificate));
        found.unwrap_or(CertificateStatus::NotVerified)
    }

    fn record(&self, name: &str, certificate: &[u8], status: CertificateStatus) {
        self.0.by_hash.insert(self.hash(name, certificate), status);
        if status == CertificateStatus::Valid {
            // For `was_valid`: no host has an empty name.
            self.0.by_hash.insert(self.hash("", certificate), status);
        }
    }

    /// Returns true if a certificate was valid for some host.
    fn was_valid(&self, certificate: &[u8]) -> bool {
        self.0.by_hash.contains_key(&self.hash("", certificate))
    }

    fn hash(&self, name: &str, certificate: &[u8]) -> u64 {
        self.0.hasher.hash_one((name, certificate))
    }
}

/// Verifier that records its results. It refuses an invalid certificate only if it must be valid.
#[derive(Debug)]
pub(super) struct RecordingVerifier {
    /// `None` without root certificates.
    verifier: Option<Arc<WebPkiServerVerifier>>,
    must_be_valid: bool,
    certificates: Certificates,
}

impl RecordingVerifier {
    /// Creates a verifier with the root certificates of the system.
    ///
    /// # Errors
    /// If certificates must be valid, and the system has no root certificates.
    pub(super) fn new(
        provider: Arc<CryptoProvider>,
        must_be_valid: bool,
        certificates: Certificates,
    ) -> Result<Self, Error> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() && must_be_valid {
            return Err(Error::General("the system has no root certificates".to_owned()));
        }
        if roots.is_empty() {
            tracing::info!(
                "the system has no root certificates: certificates of sites are not verified"
            );
        }
        Ok(Self { verifier: of_roots(roots, provider), must_be_valid, certificates })
    }

    /// Returns the result for a handshake's signature.
    fn signature(
        &self,
        certificate: &CertificateDer<'_>,
        verified: Option<Result<HandshakeSignatureValid, Error>>,
    ) -> Result<HandshakeSignatureValid, Error> {
        match verified {
            Some(Ok(valid)) => Ok(valid),
            Some(Err(error)) if self.must_be_valid || self.certificates.was_valid(certificate) => {
                Err(error)
            }
            Some(Err(_)) | None => Ok(HandshakeSignatureValid::assertion()),
        }
    }
}

impl ServerCertVerifier for RecordingVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(verifier) = &self.verifier else {
            return Ok(ServerCertVerified::assertion());
        };
        let verified =
            verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        let status = verified.as_ref().map_or_else(status, |_| CertificateStatus::Valid);
        self.certificates.record(&server_name.to_str(), end_entity, status);
        if self.must_be_valid { verified } else { Ok(ServerCertVerified::assertion()) }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let verifier = self.verifier.as_ref();
        self.signature(cert, verifier.map(|v| v.verify_tls12_signature(message, cert, dss)))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let verifier = self.verifier.as_ref();
        self.signature(cert, verifier.map(|v| v.verify_tls13_signature(message, cert, dss)))
    }

    /// Returns all schemes, including obsolete ones, unless certificates must be valid.
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        if let Some(verifier) = self.verifier.as_ref().filter(|_| self.must_be_valid) {
            return verifier.supported_verify_schemes();
        }
        vec![
            SignatureScheme::RSA_PKCS1_SHA1,
            SignatureScheme::ECDSA_SHA1_Legacy,
            SignatureScheme::RSA_PKCS1_SHA256,
            SignatureScheme::ECDSA_NISTP256_SHA256,
            SignatureScheme::RSA_PKCS1_SHA384,
            SignatureScheme::ECDSA_NISTP384_SHA384,
            SignatureScheme::RSA_PKCS1_SHA512,
            SignatureScheme::ECDSA_NISTP521_SHA512,
            SignatureScheme::RSA_PSS_SHA256,
            SignatureScheme::RSA_PSS_SHA384,
            SignatureScheme::RSA_PSS_SHA512,
            SignatureScheme::ED25519,
            SignatureScheme::ED448,
        ]
    }
}

/// Returns a verifier with these root certificates; `None` if there are none.
fn of_roots(
    roots: RootCertStore,
    provider: Arc<CryptoProvider>,
) -> Option<Arc<WebPkiServerVerifier>> {
    WebPkiServerVerifier::builder_with_provider(roots.into(), provider).build().ok()
}

/// Returns the status for the reason why a certificate is invalid.
fn status(error: &Error) -> CertificateStatus {
    use CertificateError as Reason;
    let Error::InvalidCertificate(reason) = error else {
        return CertificateStatus::Invalid;
    };
    match reason {
        // A certificate in the name of a known issuer, but not signed by it.
        Reason::UnknownIssuer | Reason::BadSignature => CertificateStatus::UnknownIssuer,
        Reason::Expired | Reason::ExpiredContext { .. } => CertificateStatus::Expired,
        Reason::NotValidYet | Reason::NotValidYetContext { .. } => CertificateStatus::NotValidYet,
        Reason::NotValidForName | Reason::NotValidForNameContext { .. } => {
            CertificateStatus::WrongName
        }
        Reason::Revoked => CertificateStatus::Revoked,
        Reason::BadEncoding => CertificateStatus::Malformed,
        _ => CertificateStatus::Invalid,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::pki_types::PrivateKeyDer;
    use rustls::{ClientConfig, ClientConnection, ServerConfig, ServerConnection};

    /// A certificate authority, and what a server needs for certificates of it.
    struct Authority {
        issuer: rcgen::Issuer<'static, rcgen::KeyPair>,
        root: CertificateDer<'static>,
    }

    impl Authority {
        fn new() -> Self {
            let mut params = rcgen::CertificateParams::default();
            params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
            let key = rcgen::KeyPair::generate().unwrap();
            let root = params.self_signed(&key).unwrap().der().clone();
            Self { issuer: rcgen::Issuer::new(params, key), root }
        }

        fn certificate(
            &self,
            name: &str,
            days: (i64, i64),
        ) -> (CertificateDer<'static>, rcgen::KeyPair) {
            let key = rcgen::KeyPair::generate().unwrap();
            let mut params = rcgen::CertificateParams::new([name.to_owned()]).unwrap();
            let now = time::OffsetDateTime::now_utc();
            params.not_before = now + time::Duration::days(days.0);
            params.not_after = now + time::Duration::days(days.1);
            (params.signed_by(&key, &self.issuer).unwrap().der().clone(), key)
        }

        /// Returns a client whose verifier trusts only this authority.
        fn client(&self, certificates: &Certificates) -> Arc<ClientConfig> {
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let mut roots = RootCertStore::empty();
            roots.add(self.root.clone()).unwrap();
            let verifier = RecordingVerifier {
                verifier: of_roots(roots, provider.clone()),
                must_be_valid: false,
                certificates: certificates.clone(),
            };
            let config = ClientConfig::builder_with_provider(provider)
                .with_safe_default_protocol_versions()
                .unwrap()
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(verifier))
                .with_no_client_auth();
            Arc::new(config)
        }
    }

    /// Performs a handshake with a server that presents `certificate` and signs with `key`.
    fn handshake(
        client: &Arc<ClientConfig>,
        name: &str,
        certificate: &CertificateDer<'static>,
        key: &rcgen::KeyPair,
    ) -> Result<(), Error> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let key = provider.key_provider.load_private_key(key).unwrap();
        let certified = rustls::sign::CertifiedKey::new(vec![certificate.clone()], key);
        let server = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(rustls::sign::SingleCertAndKey::from(certified)));
        let mut server = ServerConnection::new(Arc::new(server)).unwrap();
        let name = ServerName::try_from(name.to_owned()).unwrap();
        let mut client = ClientConnection::new(client.clone(), name).unwrap();
        while client.is_handshaking() || server.is_handshaking() {
            let mut bytes = Vec::new();
            client.write_tls(&mut bytes).unwrap();
            server.read_tls(&mut &bytes[..]).unwrap();
            server.process_new_packets()?;
            bytes.clear();
            server.write_tls(&mut bytes).unwrap();
            client.read_tls(&mut &bytes[..]).unwrap();
            client.process_new_packets()?;
        }
        Ok(())
    }

    #[test]
    fn each_certificate_has_its_status() {
        let (authority, other) = (Authority::new(), Authority::new());
        let certificates = Certificates::default();
        let client = authority.client(&certificates);
        for (by, name, days, expected) in [
            (&authority, "site.test", (-1, 1), CertificateStatus::Valid),
            (&authority, "site.test", (-9, -1), CertificateStatus::Expired),
            (&authority, "site.test", (1, 9), CertificateStatus::NotValidYet),
            (&authority, "other.test", (-1, 1), CertificateStatus::WrongName),
            (&other, "site.test", (-1, 1), CertificateStatus::UnknownIssuer),
        ] {
            let (certificate, key) = by.certificate(name, days);
            handshake(&client, "site.test", &certificate, &key).unwrap();
            assert_eq!(certificates.status("site.test", &certificate), expected);
            let elsewhere = certificates.status("elsewhere.test", &certificate);
            assert_eq!(elsewhere, CertificateStatus::NotVerified);
        }
    }

    #[test]
    fn a_valid_certificate_without_its_key_is_refused() {
        let authority = Authority::new();
        let certificates = Certificates::default();
        let client = authority.client(&certificates);
        let (valid, _) = authority.certificate("site.test", (-1, 1));
        let (expired, own_key) = authority.certificate("site.test", (-9, -1));
        let error = handshake(&client, "site.test", &valid, &own_key).unwrap_err();
        assert!(matches!(error, Error::InvalidCertificate(_)), "{error}");
        // An invalid certificate proves nothing, with or without its key.
        let other_key = rcgen::KeyPair::generate().unwrap();
        handshake(&client, "site.test", &expired, &other_key).unwrap();
        assert_eq!(certificates.status("site.test", &expired), CertificateStatus::Expired);
    }
}
