//! The views that an agent has verified, with their signatures, to be passed on.

use super::key::CoordinatorKey;
use super::view::is_signed;
use crate::v1;
use crate::view::InvalidView;
use crivello_common::view::View;
use parking_lot::{Mutex, RwLock};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Maximum number of views that are kept, the latest.
const KEPT_MAX: usize = 32;

/// The reason why a view is not taken over.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ViewRejected {
    /// The view is malformed.
    #[error(transparent)]
    Invalid(#[from] InvalidView),
    /// The view has no valid signature of the pinned key.
    #[error("the view of epoch {0} is not signed by the coordinator of this crawl")]
    Unsigned(u64),
}

/// The verified views of one agent, and the key by which they are verified.
#[derive(Debug, Default)]
pub struct ViewBook {
    pinned: RwLock<Option<(CoordinatorKey, Arc<str>)>>,
    kept: Mutex<BTreeMap<u64, (Arc<View>, v1::View)>>,
}

impl ViewBook {
    /// Sets the key of the coordinator and the id of the crawl. Before, no view is accepted.
    pub fn pin(&self, key: CoordinatorKey, crawl_id: &str) {
        *self.pinned.write() = Some((key, crawl_id.into()));
    }

    /// Returns the key of the coordinator and the id of the crawl.
    pub fn pinned(&self) -> Option<(CoordinatorKey, Arc<str>)> {
        self.pinned.read().clone()
    }

    /// Verifies a view, wherever it comes from, and keeps it. A view that is known is not verified
    /// again.
    ///
    /// # Errors
    /// [`ViewRejected`] if the view is malformed or not signed by the pinned key.
    pub fn accept(&self, message: v1::View) -> Result<Arc<View>, ViewRejected> {
        if let Some((view, known)) = self.kept.lock().get(&message.epoch)
            && *known == message
        {
            return Ok(Arc::clone(view));
        }
        let signature = message.signature.clone();
        let view = Arc::new(View::try_from(message.clone())?);
        let pinned = self.pinned();
        let is_signed =
            pinned.is_some_and(|(key, crawl_id)| is_signed(&view, &crawl_id, key, &signature));
        if !is_signed {
            return Err(ViewRejected::Unsigned(view.epoch));
        }
        let mut kept = self.kept.lock();
        kept.insert(view.epoch, (Arc::clone(&view), message));
        while kept.len() > KEPT_MAX {
            kept.pop_first();
        }
        Ok(view)
    }

    /// Returns the message of a verified view, with its signature; `None` if it is not kept.
    pub fn message(&self, epoch: u64) -> Option<v1::View> {
        self.kept.lock().get(&epoch).map(|(_, message)| message.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signing::{SigningKey, ViewSigner};

    fn signer() -> ViewSigner {
        ViewSigner::new(SigningKey::draw().unwrap(), "c".to_owned())
    }

    fn view(epoch: u64) -> View {
        View { epoch, ..View::of_one("a") }
    }

    #[test]
    fn only_views_of_the_pinned_key_are_taken_over_and_passed_on() {
        let (ours, theirs) = (signer(), signer());
        let book = ViewBook::default();
        let unsigned = Err(ViewRejected::Unsigned(7));
        assert_eq!(book.accept(ours.message(&view(7))), unsigned, "before a key is pinned");
        book.pin(ours.key().public(), "c");
        assert_eq!(book.accept(theirs.message(&view(7))), unsigned);
        assert_eq!(book.accept((&view(7)).into()), unsigned);
        assert_eq!(book.message(7), None);
        assert_eq!(book.accept(ours.message(&view(7))), Ok(Arc::new(view(7))));
        assert_eq!(book.message(7), Some(ours.message(&view(7))));
        // A known epoch does not make another view of it acceptable.
        let forged = v1::View { run: v1::RunState::Stopping.into(), ..ours.message(&view(7)) };
        assert_eq!(book.accept(forged), unsigned);
        // A person accepts another key.
        book.pin(theirs.key().public(), "c");
        assert_eq!(book.accept(theirs.message(&view(8))), Ok(Arc::new(view(8))));
        assert!(book.accept(ours.message(&view(9))).is_err());
        let other = ViewBook::default();
        other.pin(ours.key().public(), "another crawl");
        assert_eq!(other.accept(ours.message(&view(7))), unsigned);
    }

    #[test]
    fn the_latest_views_are_kept() {
        let (ours, book) = (signer(), ViewBook::default());
        book.pin(ours.key().public(), "c");
        for epoch in 1..=100 {
            book.accept(ours.message(&view(epoch))).unwrap();
        }
        assert_eq!(book.kept.lock().len(), KEPT_MAX);
        assert!(book.message(100).is_some() && book.message(1).is_none());
    }
}
