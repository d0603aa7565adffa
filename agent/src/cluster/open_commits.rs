//! The commits that are being filled.

use crate::messages::Commit;

/// The two open commits.
pub struct OpenCommits<'a> {
    /// Pages, seeds, and URLs from other agents.
    pub pages: &'a mut Commit,
    /// Facts to merge.
    pub facts: &'a mut Commit,
}
