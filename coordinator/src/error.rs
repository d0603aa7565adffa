//! Errors that prevent a coordinator from starting or that stop it.

/// The reason why a coordinator cannot start or had to stop.
#[derive(Debug, thiserror::Error)]
pub enum CoordinatorError {
    /// The request is invalid and nothing was changed; the caller must change the request.
    #[error("{0}")]
    Refused(String),
    /// Something is damaged or failed.
    #[error("{0}")]
    Broken(String),
    /// Another coordinator may be active now.
    #[error(
        "this coordinator is not active any more: etcd was not reached in time, or it was stopped or asleep"
    )]
    Deposed,
}

impl CoordinatorError {
    /// True if the request is invalid.
    pub const fn is_usage(&self) -> bool {
        matches!(self, Self::Refused(_))
    }
}
