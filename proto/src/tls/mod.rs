//! Mutual TLS between all of a cluster: who is let in, and how we show who we are.
//!
//! What is in force can be changed while connections are there: each connection is made, and each
//! handshake answered, with what is in force just then; those that are there go on.

mod files;
mod fresh;
mod reason;
#[cfg(test)]
mod tests;

pub use files::{Files, Pem, TlsError};
pub(crate) use reason::Kind;
pub use reason::{Reason, Refuser};

use crate::sayings::Sayings;
use arc_swap::ArcSwap;
use files::Set;
use rustls::{ClientConfig, ServerConfig};
use std::sync::Arc;

/// Who cannot show a certificate of our authority is neither let in nor spoken to.
#[derive(Clone)]
pub struct Tls(Arc<Inner>);

struct Inner {
    files: Option<Files>,
    set: ArcSwap<Set>,
    /// What is said of those we connect to.
    log: Sayings,
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
        let set = Set::try_from(files.read()?)?;
        set.warn();
        Ok(Self::with(Some(files), set))
    }

    /// By what was given, for good.
    ///
    /// # Errors
    /// When it cannot be used.
    pub fn of(pem: Pem) -> Result<Self, TlsError> {
        Ok(Self::with(None, Set::try_from(pem)?))
    }

    fn with(files: Option<Files>, set: Set) -> Self {
        Self(Arc::new(Inner { files, set: ArcSwap::from_pointee(set), log: Sayings::default() }))
    }

    /// Has a task of the present runtime look at the files every second, for as long as this and
    /// its clones are there. What has changed is in force within three seconds; what cannot be used is
    /// refused with a line in the log.
    pub fn keep_fresh(&self) {
        if let Some(files) = &self.0.files {
            tokio::spawn(fresh::watch(Arc::downgrade(&self.0), files.clone()));
        }
    }

    /// For those who connect to us, at present.
    pub(crate) fn server(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.0.set.load().server)
    }

    /// For those we connect to, at present: their certificate must also hold the name or address
    /// by which we reach them.
    pub(crate) fn client(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.0.set.load().client)
    }

    pub(crate) fn log(&self) -> &Sayings {
        &self.0.log
    }
}
