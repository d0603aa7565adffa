//! The reasons for which a crawl cannot be opened or continued.

use crate::engines::writer::WriterError;
use crate::fetch::FetchError;
use crate::observe::index::AgentIndexError;
use crate::observe::upload::UploadError;
use crate::process::known::KnownError;
use crate::process::links::LinksError;
use crate::storage::{DiskError, OpenError};
use crivello_webhook::WebhookError;

/// The reason for which a crawl cannot be opened or continued.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// The directory cannot be opened, or the cluster cannot be joined.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The state on disk cannot be read or written.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The archive cannot be opened or written.
    #[error(transparent)]
    Archive(#[from] WriterError),
    /// The HTTP client cannot be created.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// A link rule is invalid.
    #[error(transparent)]
    Links(#[from] LinksError),
    /// Known payloads cannot be read.
    #[error(transparent)]
    Known(#[from] KnownError),
    /// The webhook cannot be set up.
    #[error(transparent)]
    Webhook(#[from] WebhookError),
    /// Archive files cannot be uploaded.
    #[error(transparent)]
    Upload(#[from] UploadError),
    /// The archive cannot be indexed.
    #[error(transparent)]
    Index(#[from] AgentIndexError),
    /// A thread or the runtime cannot be started.
    #[error("cannot start a thread: {0}")]
    Threads(#[from] std::io::Error),
    /// [`Seed::Cut`](crate::Seed::Cut) arrived before anything was changed.
    #[error("the seeds were not read to their end; nothing was changed")]
    SeedsCut,
}

impl AgentError {
    /// Returns true if the user can correct the error by another command.
    pub const fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::Open(OpenError::Refused(_))
                | Self::Links(_)
                | Self::Fetch(_)
                | Self::Known(KnownError::File(..) | KnownError::Sha1(_))
                | Self::Webhook(_)
                | Self::Upload(_)
                | Self::Index(_)
        )
    }

    /// Returns true if more space on the disk would solve the problem.
    pub fn is_full(&self) -> bool {
        match self {
            Self::Open(error) => error.is_full(),
            Self::Disk(error) => error.is_full(),
            Self::Archive(error) => error.is_full(),
            Self::Known(KnownError::Disk(error)) => error.is_full(),
            Self::Fetch(_)
            | Self::Links(_)
            | Self::Known(_)
            | Self::Webhook(_)
            | Self::Upload(_)
            | Self::Index(_)
            | Self::Threads(_)
            | Self::SeedsCut => false,
        }
    }
}
