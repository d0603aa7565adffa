//! Room for large bodies: what they may hold of memory together, from when they turn out to be
//! large until the parsers have done with them. It is taken in units, as the bytes come.
//!
//! ```text
//!   one more unit ──► free units? ── yes ──► taken
//!                        └── none ──► waits for units, or for the pass
//! ```
//!
//! Bodies that hold some and want more could wait for each other for ever. So there is one pass:
//! who has it needs no more units up to the largest size. It comes to its end under the site's
//! timeouts, and gives back all it holds. Who holds room while others wait has to be quick about
//! it besides: see [`Rooms::is_short`].

use crate::limits::{BODIES_BYTES_MAX, BODY_UNIT};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// See the module.
#[derive(Debug)]
pub(super) struct Rooms {
    n_units: usize,
    units: Arc<Semaphore>,
    pass: Arc<Semaphore>,
    waiting: AtomicUsize,
}

/// What one body holds; given back when it is dropped.
#[derive(Debug, Default)]
pub(super) struct Held {
    units: Option<OwnedSemaphorePermit>,
    pass: Option<OwnedSemaphorePermit>,
}

impl Rooms {
    /// [`BODIES_BYTES_MAX`] for all bodies, the one with the pass included, that may grow to
    /// `body_size_max`. Half of it is there for the others, however large that is.
    pub(super) fn new(body_size_max: usize) -> Self {
        let shared = BODIES_BYTES_MAX.saturating_sub(body_size_max).max(BODIES_BYTES_MAX / 2);
        Self::with_units(shared / BODY_UNIT)
    }

    pub(super) fn with_units(n_units: usize) -> Self {
        Self {
            n_units,
            units: Arc::new(Semaphore::new(n_units)),
            pass: Arc::new(Semaphore::new(1)),
            waiting: AtomicUsize::new(0),
        }
    }

    /// Lets `held` grow until it is room for `bytes`, once there is some: in the order of asking.
    /// Dropped before that, it has taken nothing.
    pub(super) async fn grow(&self, held: &mut Held, bytes: usize) {
        if held.has(bytes) {
            return;
        }
        let missing = bytes.div_ceil(BODY_UNIT) - held.n_units();
        let missing = u32::try_from(missing).unwrap_or(u32::MAX);
        if let Ok(more) = Arc::clone(&self.units).try_acquire_many_owned(missing) {
            return held.add(more);
        }
        let _waiting = Waiting::begin(&self.waiting);
        // An error says that the semaphore was closed: nobody does that.
        tokio::select! {
            biased;
            Ok(more) = Arc::clone(&self.units).acquire_many_owned(missing) => held.add(more),
            Ok(pass) = Arc::clone(&self.pass).acquire_owned() => held.pass = Some(pass),
            else => {}
        }
    }

    /// Bytes that are taken, without those of the one that has the pass, and how many wait.
    pub(super) fn held(&self) -> (usize, usize) {
        let taken = self.n_units.saturating_sub(self.units.available_permits());
        (taken * BODY_UNIT, self.waiting.load(Relaxed))
    }

    /// Whether somebody waits: then a body that holds room and comes slowly is in the way.
    pub(super) fn is_short(&self) -> bool {
        self.waiting.load(Relaxed) > 0
    }
}

impl Held {
    /// Nothing.
    pub(super) const fn is_empty(&self) -> bool {
        self.units.is_none() && self.pass.is_none()
    }

    /// Room for so many bytes.
    pub(super) fn has(&self, bytes: usize) -> bool {
        self.pass.is_some() || bytes.div_ceil(BODY_UNIT) <= self.n_units()
    }

    fn n_units(&self) -> usize {
        self.units.as_ref().map_or(0, OwnedSemaphorePermit::num_permits)
    }

    fn add(&mut self, more: OwnedSemaphorePermit) {
        match &mut self.units {
            Some(units) => units.merge(more),
            None => self.units = Some(more),
        }
    }
}

/// Counted among those who wait.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn begin(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Relaxed);
        Self(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}
