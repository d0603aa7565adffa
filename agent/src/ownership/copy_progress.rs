//! State of the check that all groups are copied.

use crivello_common::hash::GroupHash;

/// Progress of the check.
#[derive(Debug, Default)]
pub(super) struct CopyCheck {
    /// Epoch in which the current check began.
    pub(super) began: Option<u64>,
    /// Last group that is copied.
    pub(super) cursor: Option<GroupHash>,
    /// Epoch in which the last complete check began.
    pub(super) complete: u64,
}
