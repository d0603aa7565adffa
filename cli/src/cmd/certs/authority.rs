//! Who vouches for the nodes.

use super::node::Node;
use super::store::{AUTHORITY, Pair, Store};
use crate::exit::Trouble;
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
/// Ten years, with the leap days.
const DAYS: u32 = 3_652;
/// Clocks of nodes may differ.
const BEFORE: Duration = Duration::from_secs(3_600);

/// See the module.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pair: Pair,
    until: Timestamp,
    now: Timestamp,
}

impl Authority {
    /// The one in `store`, or a new one where there is none; and whether it is new, and not yet
    /// written.
    ///
    /// # Errors
    /// When the one in `store` cannot be used, or is not whole.
    pub fn open(store: &Store) -> Result<(Self, bool), Trouble> {
        let now = Clock::start().now();
        if store.has(AUTHORITY) {
            return Ok((Self::read(store, now)?, false));
        }
        if !store.nodes()?.is_empty() {
            return Err(Trouble::usage(format!(
                "{} and {} are missing, and there are nodes' certificates: bring them back, or give \
                 another --out for a new cluster",
                store.certificate(AUTHORITY).display(),
                store.key(AUTHORITY).display()
            )));
        }
        Ok((Self::draw(now)?, true))
    }

    fn read(store: &Store, now: Timestamp) -> Result<Self, Trouble> {
        for file in [store.certificate(AUTHORITY), store.key(AUTHORITY)] {
            if file.symlink_metadata().is_err() {
                return Err(Trouble::usage(format!(
                    "{} is missing: bring it back from where it is kept, since only the authority \
                     that there is can vouch for nodes of this cluster",
                    file.display()
                )));
            }
        }
        let pair = store.read(AUTHORITY)?;
        let wrong = |why: &str| {
            Trouble::usage(format!("{}: {why}", store.certificate(AUTHORITY).display()))
        };
        // What the errors say of the key might say what it is.
        let key = KeyPair::from_pem(&pair.key).map_err(|_| {
            Trouble::usage(format!("{}: it holds no private key", store.key(AUTHORITY).display()))
        })?;
        let (_, pem) = parse_x509_pem(pair.certificate.as_bytes())
            .map_err(|_| wrong("it holds no certificate"))?;
        let certificate = pem.parse_x509().map_err(|_| wrong("it holds no certificate"))?;
        if !certificate.is_ca() {
            return Err(wrong("it is the certificate of a node, and not of an authority"));
        }
        if certificate.public_key().subject_public_key.data.as_ref() != key.public_key_raw() {
            return Err(wrong("ca.key is not its key"));
        }
        let until = certificate.validity().not_after.timestamp();
        let until = Timestamp::from_secs(u64::try_from(until).unwrap_or_default());
        if until <= now {
            return Err(wrong(&format!(
                "the authority expired on {}: make a new one with another --out",
                day(until)
            )));
        }
        let issuer = Issuer::from_ca_cert_pem(&pair.certificate, key)
            .map_err(|_| wrong("it holds no certificate"))?;
        Ok(Self { issuer, pair, until, now })
    }

    fn draw(now: Timestamp) -> Result<Self, Trouble> {
        let key = KeyPair::generate().context("no key")?;
        let mut params = CertificateParams::default();
        // Two authorities are told apart by their names, too.
        let number: String =
            key.public_key_raw().iter().rev().take(4).map(|byte| format!("{byte:02x}")).collect();
        params.distinguished_name.push(DnType::CommonName, format!("Crivello cluster {number}"));
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let until = now + DAY * DAYS;
        (params.not_before, params.not_after) = (point(now - BEFORE), point(until));
        let certificate = params.self_signed(&key).context("the authority's certificate")?.pem();
        let pair = Pair { certificate, key: key.serialize_pem() };
        Ok(Self { issuer: Issuer::new(params, key), pair, until, now })
    }

    /// Itself, as it is written.
    pub const fn pair(&self) -> &Pair {
        &self.pair
    }

    /// Its last day.
    pub fn until(&self) -> String {
        day(self.until)
    }

    /// A certificate for a node, and its last day: never after our own.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn vouch(&self, node: &Node, days: u16) -> Result<(Pair, String), Trouble> {
        let key = KeyPair::generate().context("no key")?;
        let mut params = CertificateParams::new(node.names.clone())
            .with_context(|| format!("the certificate of {}", node.name))?;
        params.distinguished_name.push(DnType::CommonName, node.name.clone());
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        params.use_authority_key_identifier_extension = true;
        let until = (self.now + DAY * u32::from(days)).min(self.until);
        (params.not_before, params.not_after) = (point(self.now - BEFORE), point(until));
        let certificate = params
            .signed_by(&key, &self.issuer)
            .with_context(|| format!("the certificate of {}", node.name))?;
        Ok((Pair { certificate: certificate.pem(), key: key.serialize_pem() }, day(until)))
    }
}

fn point(at: Timestamp) -> OffsetDateTime {
    let seconds = i64::try_from(at.as_secs()).unwrap_or(i64::MAX);
    OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH)
}

/// As people read it.
fn day(at: Timestamp) -> String {
    at.to_string().chars().take_while(|&c| c != 'T').collect()
}
