//! Errors of filters.

/// The reason why a filter cannot be made, changed or read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// No room is left, or a larger filter would take more memory than it may.
    #[error("the filter is full")]
    Full,
    /// The parameters make no filter, or none that fits in the memory given.
    #[error("the parameters make no filter")]
    Parameters,
    /// Two filters with different parameters cannot be combined.
    #[error("the filters have different parameters")]
    Mismatch,
    /// The bytes are damaged, or were written by another version.
    #[error("the filter is {0}")]
    Damaged(String),
}

impl FilterError {
    /// Returns the error for bytes with a valid checksum that are no filter.
    pub(crate) fn malformed() -> Self {
        Self::Damaged("malformed".to_owned())
    }
}
