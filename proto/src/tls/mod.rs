//! Mutual TLS between the nodes of a cluster.
//!
//! Certificates can be replaced at run time: each new connection uses the certificates in force at
//! that moment, and existing connections are kept.

mod files;
mod https;
mod rejection;
#[cfg(test)]
mod tests;

pub use files::{Pem, TlsError, TlsFiles};
pub use https::{Https, HttpsFiles};
pub(crate) use rejection::RejectionKind;
pub use rejection::{RejectedBy, Rejection};

use crate::rejection_log::RejectionLog;
use crate::reload::{Reloadable as _, Reloading};
use files::TlsConfig;
use rustls::{ClientConfig, ServerConfig};
use std::sync::Arc;

/// Mutual TLS: a node without a certificate of our authority is rejected, in both directions.
/// Clones share the configuration.
#[derive(Clone, Debug)]
pub struct Tls {
    config: Arc<Reloading<TlsConfig>>,
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
        Self { config: Arc::new(config), log: Arc::default() }
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
