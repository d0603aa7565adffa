//! Memory budget of large bodies: the bytes that all of them together may reserve. A reservation
//! lasts from when a body turns out to be large until it is parsed. It grows in units, as bytes
//! arrive.
//!
//! ```text
//!   one more unit ──► free units? ── yes ──► reserved
//!                        └── none ──► waits for units, or for the pass
//! ```
//!
//! Bodies that have units and need more could wait for each other forever. So there is one pass:
//! a body that holds it needs no more units, up to the maximum size. The site's timeouts bound its
//! duration, and at its end it releases all it holds. Besides, a body with a reservation must be
//! fast while others wait: see [`BodyBudget::is_short`].

use crate::limits::{BODIES_BYTES_MAX, BODY_UNIT};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Memory budget of large bodies.
#[derive(Debug)]
pub(super) struct BodyBudget {
    n_units: usize,
    units: Arc<Semaphore>,
    pass: Arc<Semaphore>,
    waiting: AtomicUsize,
}

/// Reservation of one body; released when it is dropped.
#[derive(Debug, Default)]
pub(super) struct Reservation {
    units: Option<OwnedSemaphorePermit>,
    pass: Option<OwnedSemaphorePermit>,
}

impl BodyBudget {
    /// Creates a budget of [`BODIES_BYTES_MAX`] for all bodies, including the one with the pass,
    /// which may grow to `body_size_max`. At least half of it is for the others, however large
    /// `body_size_max` is.
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

    /// Waits until `reservation` has grown to `bytes`. Waiters are served in the order of their
    /// requests. If the future is dropped earlier, nothing is reserved.
    pub(super) async fn grow(&self, reservation: &mut Reservation, bytes: usize) {
        if reservation.has(bytes) {
            return;
        }
        let missing = bytes.div_ceil(BODY_UNIT) - reservation.n_units();
        let missing = u32::try_from(missing).unwrap_or(u32::MAX);
        if let Ok(more) = Arc::clone(&self.units).try_acquire_many_owned(missing) {
            return reservation.add(more);
        }
        let _waiting = Waiting::begin(&self.waiting);
        // An error means that the semaphore was closed, which never happens.
        tokio::select! {
            biased;
            Ok(more) = Arc::clone(&self.units).acquire_many_owned(missing) => reservation.add(more),
            Ok(pass) = Arc::clone(&self.pass).acquire_owned() => reservation.pass = Some(pass),
            else => {}
        }
    }

    /// Returns the bytes reserved as units, and the number of bodies that wait. What the holder of
    /// the pass needs beyond its units is not included.
    pub(super) fn usage(&self) -> (usize, usize) {
        let taken = self.n_units.saturating_sub(self.units.available_permits());
        (taken * BODY_UNIT, self.waiting.load(Relaxed))
    }

    /// Returns true if a body waits. Then a slow body that has a reservation must be cut off.
    pub(super) fn is_short(&self) -> bool {
        self.waiting.load(Relaxed) > 0
    }
}

impl Reservation {
    /// Returns true if nothing is reserved.
    pub(super) const fn is_empty(&self) -> bool {
        self.units.is_none() && self.pass.is_none()
    }

    /// Returns true if it is sufficient for this many bytes.
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

/// Guard that counts one waiting body.
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
