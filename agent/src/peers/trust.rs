//! Credentials for peers, and verified views.

use crivello_common::view::View;
use crivello_proto::auth::NodeAuth;
use crivello_proto::signing::ViewBook;
use crivello_proto::v1;
use std::sync::Arc;

/// Credentials of this agent, and the views that it has verified. Clones share the views.
#[derive(Clone, Debug, Default)]
pub struct PeerTrust {
    /// Certificate, node secret and deny list.
    pub auth: NodeAuth,
    /// The verified views.
    pub book: Arc<ViewBook>,
}

impl PeerTrust {
    /// Returns the later view of a rejection. A view without a valid signature of the coordinator is
    /// ignored: the coordinator, to which a stream of views is open, decides.
    pub(super) fn view_of(&self, mismatch: v1::ViewMismatch) -> Option<Arc<View>> {
        let accepted = self.book.accept(mismatch.view?);
        accepted.inspect_err(|error| tracing::debug!("an agent sent a view: {error}")).ok()
    }
}
