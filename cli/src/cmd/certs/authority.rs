//! The certificate authority of a cluster.

use super::node::Node;
use super::store::{AUTHORITY, Pair, Store};
use crate::exit::CliError;
use anyhow::Context as _;
use crivello_common::time::{Clock, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use std::time::Duration;
use time::OffsetDateTime;
use x509_parser::pem::parse_x509_pem;

const DAY: Duration = Duration::from_secs(24 * 3_600);
/// Validity in days: ten years, including leap days.
const DAYS: u32 = 3_652;
/// Time before now at which validity begins, because clocks of nodes may differ.
const CLOCK_SKEW: Duration = Duration::from_secs(3_600);

/// A certificate authority.
pub struct CertificateAuthority {
    issuer: Issuer<'static, KeyPair>,
    pair: Pair,
    until: Timestamp,
    now: Timestamp,
}

impl CertificateAuthority {
    /// Reads the authority in `store`, or creates one if there is none. Also returns true if the
    /// authority is new, and therefore not written yet.
    ///
    /// # Errors
    /// Fails if the authority in `store` is invalid or incomplete.
    pub fn open(store: &Store) -> Result<(Self, bool), CliError> {
        let now = Clock::start().now();
        if store.has(AUTHORITY) {
            return Ok((Self::read(store, now)?, false));
        }
        if !store.nodes()?.is_empty() {
            return Err(CliError::usage(format!(
                "{} and {} are missing, but there are certificates of nodes: restore them, or give \
                 another --out for a new cluster",
                store.certificate(AUTHORITY).display(),
                store.key(AUTHORITY).display()
            )));
        }
        Ok((Self::create(now)?, true))
    }

    fn read(store: &Store, now: Timestamp) -> Result<Self, CliError> {
        for file in [store.certificate(AUTHORITY), store.key(AUTHORITY)] {
            if file.symlink_metadata().is_err() {
                return Err(CliError::usage(format!(
                    "{} is missing: restore it, because only the existing authority can sign \
                     certificates for this cluster",
                    file.display()
                )));
            }
        }
        let pair = store.read(AUTHORITY)?;
        let wrong = |why: &str| {
            CliError::usage(format!("{}: {why}", store.certificate(AUTHORITY).display()))
        };
        // The error is not printed: it might contain parts of the key.
        let key = KeyPair::from_pem(&pair.key).map_err(|_| {
            CliError::usage(format!(
                "{}: it contains no private key",
                store.key(AUTHORITY).display()
            ))
        })?;
        let (_, pem) = parse_x509_pem(pair.certificate.as_bytes())
            .map_err(|_| wrong("it contains no certificate"))?;
        let certificate = pem.parse_x509().map_err(|_| wrong("it contains no certificate"))?;
        if !certificate.is_ca() {
            return Err(wrong("it is the certificate of a node, not of an authority"));
        }
        if certificate.public_key().subject_public_key.data.as_ref() != key.public_key_raw() {
            return Err(wrong("ca.key is not its private key"));
        }
        let until = certificate.validity().not_after.timestamp();
        let until = Timestamp::from_secs(u64::try_from(until).unwrap_or_default());
        if until <= now {
            return Err(wrong(&format!(
                "the authority expired on {}: create a new one with another --out",
                day(until)
            )));
        }
        let issuer = Issuer::from_ca_cert_pem(&pair.certificate, key)
            .map_err(|_| wrong("it contains no certificate"))?;
        Ok(Self { issuer, pair, until, now })
    }

    fn create(now: Timestamp) -> Result<Self, CliError> {
        let key = KeyPair::generate().context("cannot generate a key")?;
        let mut params = CertificateParams::default();
        // A suffix of the key makes names of authorities distinct.
        let number: String =
            key.public_key_raw().iter().rev().take(4).map(|byte| format!("{byte:02x}")).collect();
        params.distinguished_name.push(DnType::CommonName, format!("Crivello cluster {number}"));
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let until = now + DAY * DAYS;
        (params.not_before, params.not_after) = (date_time(now - CLOCK_SKEW), date_time(until));
        let certificate = params.self_signed(&key).context("certificate of the authority")?.pem();
        let pair = Pair { certificate, key: key.serialize_pem() };
        Ok(Self { issuer: Issuer::new(params, key), pair, until, now })
    }

    /// Returns the certificate and key.
    pub const fn pair(&self) -> &Pair {
        &self.pair
    }

    /// Returns the last day of validity.
    pub fn until(&self) -> String {
        day(self.until)
    }

    /// Creates a certificate for a node. Returns it with its last day, which is not later than the
    /// authority's last day.
    ///
    /// # Errors
    /// Fails if the certificate cannot be created.
    pub fn sign(&self, node: &Node, days: u16) -> Result<(Pair, String), CliError> {
        let key = KeyPair::generate().context("cannot generate a key")?;
        let mut params = CertificateParams::new(node.names.clone())
            .with_context(|| format!("certificate of {}", node.name))?;
        params.distinguished_name.push(DnType::CommonName, node.name.clone());
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        params.use_authority_key_identifier_extension = true;
        let until = (self.now + DAY * u32::from(days)).min(self.until);
        (params.not_before, params.not_after) =
            (date_time(self.now - CLOCK_SKEW), date_time(until));
        let certificate = params
            .signed_by(&key, &self.issuer)
            .with_context(|| format!("certificate of {}", node.name))?;
        Ok((Pair { certificate: certificate.pem(), key: key.serialize_pem() }, day(until)))
    }
}

fn date_time(at: Timestamp) -> OffsetDateTime {
    let seconds = i64::try_from(at.as_secs()).unwrap_or(i64::MAX);
    OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH)
}

/// Returns the date as text.
fn day(at: Timestamp) -> String {
    at.to_string().chars().take_while(|&c| c != 'T').collect()
}
