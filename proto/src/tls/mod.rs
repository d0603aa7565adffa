//! Mutual TLS between all of a cluster: who is let in, and how we show who we are.
//!
//! What is in force can be changed while connections are there: each connection is made, and each
//! handshake answered, with what is in force just then; those that are there go on.

mod files;
mod https;
mod reason;
#[cfg(test)]
mod tests;

pub use files::{Files, Pem, TlsError};
pub use https::{Https, HttpsFiles};
pub(crate) use reason::Kind;
pub use reason::{Reason, Refuser};

use crate::fresh::{Fresh, Made as _};
use crate::sayings::Sayings;
use files::Set;
use rustls::{ClientConfig, ServerConfig};
use std::sync::Arc;

/// Who cannot show a certificate of our authority is neither let in nor spoken to.
#[derive(Clone)]
pub struct Tls {
    fresh: Arc<Fresh<Set>>,
    /// What is said of those we connect to.
    log: Arc<Sayings>,
}

/// Says nothing: the key is nobody's business.
impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls")
    }
}

impl Tls {
    /// What is in these files; see [`Self::keep_fresh`].
    ///
    /// # Errors
    /// When they cannot be read or used.
    pub fn load(files: Files) -> Result<Self, TlsError> {
        Fresh::load(files).map(Self::with)
    }

    /// By what was given, for good.
    ///
    /// # Errors
    /// When it cannot be used.
    pub fn of(pem: Pem) -> Result<Self, TlsError> {
        Set::make(pem).map(Fresh::fixed).map(Self::with)
    }

    fn with(fresh: Fresh<Set>) -> Self {
        Self { fresh: Arc::new(fresh), log: Arc::default() }
    }

    /// Has a task of the present runtime look at the files every second, for as long as this and
    /// its clones are there. What has changed is in force within three seconds; what cannot be used is
    /// refused with a line in the log.
    pub fn keep_fresh(&self) {
        self.fresh.keep();
    }

    /// For those who connect to us, at present.
    pub(crate) fn server(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.fresh.now().server)
    }

    /// For those we connect to, at present: their certificate must also hold the name or address
    /// by which we reach them.
    pub(crate) fn client(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.fresh.now().client)
    }

    pub(crate) fn log(&self) -> &Sayings {
        &self.log
    }
}
