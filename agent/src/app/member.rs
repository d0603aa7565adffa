//! An agent of a cluster: stands in until the assembly of one is here.

use super::{AgentError, Crawl};
use crivello_proto::tls::Tls;
use std::net::SocketAddr;
use std::path::PathBuf;
use tokio_util::sync::CancellationToken;

/// How an agent joins.
#[derive(Clone, Debug)]
pub struct JoinOptions {
    /// The coordinator's URL.
    pub coordinator: String,
    /// Where to listen.
    pub listen: SocketAddr,
    /// Where peers reach it, if not there.
    pub advertise: Option<String>,
    /// Its directory.
    pub dir: PathBuf,
    /// Its name.
    pub name: Option<String>,
    /// Its share.
    pub weight: u16,
    /// Who is let in.
    pub tls: Option<Tls>,
}

impl Crawl {
    /// Joins.
    ///
    /// # Errors
    /// Always.
    #[expect(clippy::needless_pass_by_value, reason = "stands in")]
    pub fn join(options: JoinOptions, stop: CancellationToken) -> Result<Self, AgentError> {
        drop(stop);
        Err(AgentError::Broken(format!("{}: cannot join yet", options.dir.display())))
    }

    /// Where peers reach it.
    #[must_use]
    pub const fn address(&self) -> Option<SocketAddr> {
        None
    }

    /// Ends at once, as a kill would.
    pub fn abandon(self) {
        drop(self);
    }
}
