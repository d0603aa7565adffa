//! Room for large bodies: so many may be in memory at once, from when they turn out to be large
//! until the parsers have done with them.
//!
//! Nobody who holds room waits for more of it, and what they do wait for (the site, under its
//! timeouts; the parsers) never waits for room: so everybody gets it in the end, in the order of
//! asking.

use crate::flow::Room;
use crate::limits::BODIES_BYTES_MAX;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// See the module.
#[derive(Debug)]
pub(super) struct Rooms(Arc<Semaphore>);

impl Rooms {
    /// Room for as many bodies as fit into [`BODIES_BYTES_MAX`] when each is as large as
    /// `body_size_max` lets it be; for one at least.
    pub(super) fn new(body_size_max: usize) -> Self {
        let n_bodies = (BODIES_BYTES_MAX / body_size_max.max(1)).clamp(1, Semaphore::MAX_PERMITS);
        Self(Arc::new(Semaphore::new(n_bodies)))
    }

    /// Room for one body, once there is some. `None` never comes: nobody closes the rooms.
    pub(super) async fn take(&self) -> Option<Room> {
        let permit = Arc::clone(&self.0).acquire_owned().await.ok()?;
        Some(Box::new(permit))
    }
}
