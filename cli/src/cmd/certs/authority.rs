//! The certificate authority of a cluster.

use super::node::Node;
use super::store::{AUTHORITY, CertificateStore, Pair};
use crate::exit::{CliError, usage};
use anyhow::Context as _;
use crivello_common::time::Clock;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use std::time::Duration;
use time::{Date, OffsetDateTime};
use x509_parser::pem::parse_x509_pem;

const DAY: Duration = Duration::from_secs(24 * 3_600);
/// Validity in days: ten years, including leap days.
const DAYS: u32 = 3_652;
/// Time before now at which validity begins, because clocks of nodes may differ.
const CLOCK_SKEW: Duration = Duration::from_secs(3_600);

/// A certificate authority.
pub struct CertificateAuthority {
    issuer: Issuer<'static, KeyPair>,
    /// Certificate and key.
    pub pair: Pair,
    /// End of validity.
    pub until: OffsetDateTime,
    now: OffsetDateTime,
}

impl CertificateAuthority {
    /// Reads the authority in `store`, or creates one if there is none. Also returns true if the
    /// authority is new, and therefore not written yet.
    ///
    /// # Errors
    /// Fails if the authority in `store` is invalid or incomplete.
    pub fn open(store: &CertificateStore) -> Result<(Self, bool), CliError> {
        let since_1970 = Duration::from_secs(Clock::start().now().as_secs());
        let now = OffsetDateTime::UNIX_EPOCH + since_1970;
        if store.has(AUTHORITY) {
            return Ok((Self::read(store, now)?, false));
        }
        if !store.nodes()?.is_empty() {
            return Err(usage!(
                "{} are missing, but there are certificates of nodes: restore them, or give \
                 another --out for a new cluster",
                store.pair(AUTHORITY)
            ));
        }
        Ok((Self::create(now)?, true))
    }

    fn read(store: &CertificateStore, now: OffsetDateTime) -> Result<Self, CliError> {
        for file in [store.certificate(AUTHORITY), store.key(AUTHORITY)] {
            if file.symlink_metadata().is_err() {
                return Err(usage!(
                    "{} is missing: restore it, because only the existing authority can sign \
                     certificates for this cluster",
                    file.display()
                ));
            }
        }
        let pair = store.read(AUTHORITY)?;
        let wrong = |why: &str| usage!("{}: {why}", store.certificate(AUTHORITY).display());
        // The error is not printed: it might contain parts of the key.
        let no_key = format!("{}: it contains no private key", store.key(AUTHORITY).display());
        let key = KeyPair::from_pem(&pair.key).map_err(|_| CliError::usage(no_key))?;
        let broken = || wrong("it contains no certificate");
        let (_, pem) = parse_x509_pem(pair.certificate.as_bytes()).map_err(|_| broken())?;
        let certificate = pem.parse_x509().map_err(|_| broken())?;
        if !certificate.is_ca() {
            return Err(wrong("it is the certificate of a node, not of an authority"));
        }
        if certificate.public_key().subject_public_key.data.as_ref() != key.public_key_raw() {
            return Err(wrong("ca.key is not its private key"));
        }
        let until = certificate.validity().not_after.to_datetime();
        if until <= now {
            return Err(wrong(&format!(
                "the authority expired on {}: create a new one with another --out",
                until.date()
            )));
        }
        let issuer = Issuer::from_ca_cert_pem(&pair.certificate, key).map_err(|_| broken())?;
        Ok(Self { issuer, pair, until, now })
    }

    fn create(now: OffsetDateTime) -> Result<Self, CliError> {
        let key = KeyPair::generate().context("cannot generate a key")?;
        let mut params = CertificateParams::default();
        // A suffix of the key makes names of authorities distinct.
        let suffix = key.public_key_raw().iter().rev().take(4);
        let number: String = suffix.map(|byte| format!("{byte:02x}")).collect();
        params.distinguished_name.push(DnType::CommonName, format!("Crivello cluster {number}"));
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let until = now + DAY * DAYS;
        (params.not_before, params.not_after) = (now - CLOCK_SKEW, until);
        let certificate = params.self_signed(&key).context("certificate of the authority")?.pem();
        let pair = Pair { certificate, key: key.serialize_pem() };
        Ok(Self { issuer: Issuer::new(params, key), pair, until, now })
    }

    /// Creates a certificate for a node. Returns it with its last day, which is not later than the
    /// authority's last day.
    ///
    /// # Errors
    /// Fails if the certificate cannot be created.
    pub fn sign(&self, node: &Node, days: u16) -> Result<(Pair, Date), CliError> {
        let key = KeyPair::generate().context("cannot generate a key")?;
        let mut params = CertificateParams::new(node.names.clone())
            .with_context(|| format!("certificate of {}", node.name))?;
        params.distinguished_name.push(DnType::CommonName, node.name.clone());
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        params.use_authority_key_identifier_extension = true;
        let until = (self.now + DAY * u32::from(days)).min(self.until);
        (params.not_before, params.not_after) = (self.now - CLOCK_SKEW, until);
        let certificate = params
            .signed_by(&key, &self.issuer)
            .with_context(|| format!("certificate of {}", node.name))?;
        Ok((Pair { certificate: certificate.pem(), key: key.serialize_pem() }, until.date()))
    }
}
