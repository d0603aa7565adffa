//! Mutual TLS between the nodes of a cluster.
//!
//! Certificates can be replaced at run time: each new connection uses the certificates in force at
//! that moment, and existing connections are kept.

mod files;
mod https;
mod identity;
mod rejection;
#[cfg(test)]
mod tests;

pub use files::{Pem, TlsError, TlsFiles};
pub use https::{Https, HttpsFiles};
pub(crate) use rejection::RejectionKind;
pub use rejection::{RejectedBy, Rejection};

use crate::deny::DenyList;
use crate::rejection_log::RejectionLog;
use crate::reload::{Reloadable as _, Reloading};
use crivello_common::certificate_id::CertificateId;
use files::TlsConfig;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use identity::certificate_id;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, ServerConfig};
use std::sync::Arc;

/// The certificate of the other end of a connection, and what ends when it is refused.
type Identified = (Option<CertificateId>, Option<BoxFuture<'static, ()>>);

/// Mutual TLS: a node without a certificate of our authority is rejected, in both directions.
/// Clones share the configuration.
#[derive(Clone, Debug)]
pub struct Tls {
    config: Arc<Reloading<TlsConfig>>,
    deny: Option<DenyList>,
    /// Limits log messages about outgoing connections.
    pub(crate) log: Arc<RejectionLog>,
}

impl Tls {
    /// Loads the files. See [`Self::watch`].
    ///
    /// # Errors
    /// Fails if the files cannot be read or used.
    pub fn load(files: TlsFiles) -> Result<Self, TlsError> {
        Reloading::load(files).map(Self::with)
    }

    /// Creates a configuration that never changes.
    ///
    /// # Errors
    /// Fails if the contents are invalid.
    pub fn of(pem: Pem) -> Result<Self, TlsError> {
        TlsConfig::build(pem).map(Reloading::fixed).map(Self::with)
    }

    fn with(config: Reloading<TlsConfig>) -> Self {
        Self { config: Arc::new(config), deny: None, log: Arc::default() }
    }

    /// Refuses the certificates of a deny list, in both directions and also on open connections.
    #[must_use]
    pub fn denying(self, deny: Option<DenyList>) -> Self {
        Self { deny, ..self }
    }

    /// Returns the identity of this node's certificate in force.
    pub fn certificate(&self) -> Option<CertificateId> {
        self.config.now().certificate
    }

    /// Returns the identity of the certificate of the other end.
    ///
    /// # Errors
    /// The rejection, if it is in the deny list.
    pub(crate) fn identify(
        &self,
        chain: Option<&[CertificateDer<'_>]>,
    ) -> Result<Identified, Rejection> {
        let certificate = chain.and_then(<[_]>::first).and_then(certificate_id);
        let Some((id, deny)) = certificate.zip(self.deny.clone()) else {
            return Ok((certificate, None));
        };
        if deny.has_certificate(id) {
            let why = format!("its certificate {id} is in the deny list");
            return Err(Rejection::new(RejectedBy::Local, RejectionKind::Denied, why));
        }
        Ok((certificate, Some(deny.refuses(id).boxed())))
    }

    /// Spawns a task that reads the files every second while this value or a clone exists. A change
    /// is in force within three seconds. Invalid files are logged and ignored.
    pub fn watch(&self) {
        self.config.watch();
    }

    /// Returns the configuration in force for incoming connections.
    pub(crate) fn server(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config.now().server)
    }

    /// Returns the configuration in force for outgoing connections. The certificate of the other
    /// node must also contain the name or address that we connect to.
    pub(crate) fn client(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.config.now().client)
    }
}
