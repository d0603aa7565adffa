//! Reading of a body, chunk by chunk, within its caps.

use super::Caps;
use super::body_budget::{BodyBudget, Reservation};
use super::error_kind::failure;
use crate::limits::{BODY_FREE, HELD_RATE_MIN};
use crate::messages::{ReservationGuard, Truncation};
use bytes::{Bytes, BytesMut};
use crivello_common::failure::Failure;
use crivello_common::time::{Clock, Timestamp};
use std::pin::Pin;
use std::time::Duration;
use tokio::time::{Instant, Sleep};
use tokio_util::sync::CancellationToken;

/// Maximum bytes that are allocated for a promised length before the first byte arrives.
const RESERVED_MAX: u64 = 64 << 10;
/// Interval of checks of the rate after the grace period.
const RATE_CHECK: Duration = Duration::from_secs(1);

/// Body, or the part of it that was received.
pub(super) struct Body {
    pub(super) bytes: Bytes,
    pub(super) cut: Option<Cut>,
    /// Reservation for its bytes, if it is large.
    pub(super) reservation: Option<ReservationGuard>,
    /// Time for which it waited for the reservation.
    pub(super) waited: Duration,
}

/// Reason why a body is incomplete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Cut {
    Length,
    TotalTimeout,
    TooSlow,
    Broken(Failure),
    /// The visit was stopped while the body waited for a reservation. The received part is
    /// unusable.
    Stopped,
}

impl Cut {
    pub(super) const fn truncation(self) -> Truncation {
        match self {
            Self::Length => Truncation::Length,
            Self::TotalTimeout | Self::TooSlow | Self::Stopped => Truncation::Time,
            Self::Broken(_) => Truncation::Disconnect,
        }
    }

    /// Returns the kind of failure if no byte is usable. `None` if the body has reached its maximum
    /// length, even if that is 0, or was stopped by us.
    pub(super) const fn failure(self) -> Option<Failure> {
        match self {
            Self::Length | Self::Stopped => None,
            Self::TotalTimeout => Some(Failure::TotalTimeout),
            Self::TooSlow => Some(Failure::TooSlow),
            Self::Broken(failure) => Some(failure),
        }
    }
}

/// Reader of bodies under given caps.
pub(super) struct Reader<'a> {
    pub(super) caps: &'a Caps,
    pub(super) clock: &'a Clock,
    pub(super) budget: &'a BodyBudget,
    /// Its cancellation ends the wait for a reservation.
    pub(super) stop: &'a CancellationToken,
}

/// Progress of a body. Time spent waiting for a reservation does not count: it shifts `began` and
/// `deadline`.
struct Progress {
    bytes: BytesMut,
    began: Timestamp,
    deadline: Timestamp,
    /// Time of the last check of the rate while it had a reservation, and its length at that time.
    seen: (Timestamp, usize),
    reservation: Reservation,
    waited: Duration,
}

impl Reader<'_> {
    /// Reads the body of a response until it ends, breaks, or reaches a cap. `sleep` may be any
    /// timer, because it is set here. `deadline` is the end of the whole request.
    pub(super) async fn read(
        &self,
        response: &mut reqwest::Response,
        deadline: Timestamp,
        mut sleep: Pin<&mut Sleep>,
    ) -> Body {
        let began = self.clock.now();
        let mut so_far = Progress {
            bytes: BytesMut::with_capacity(reserved(response, self.caps)),
            began,
            deadline,
            seen: (began, 0),
            reservation: Reservation::default(),
            waited: Duration::ZERO,
        };
        self.set(sleep.as_mut(), so_far.began + self.caps.rate_grace, &so_far);
        let cut = loop {
            let chunk = tokio::select! {
                biased;
                chunk = response.chunk() => chunk,
                () = sleep.as_mut() => {
                    if let Some(cut) = self.judge(&mut so_far) {
                        break Some(cut);
                    }
                    self.set(sleep.as_mut(), self.clock.now() + RATE_CHECK, &so_far);
                    continue;
                }
            };
            match chunk {
                Ok(Some(chunk)) => {
                    if let Some(cut) = self.take(chunk, &mut so_far, sleep.as_mut()).await {
                        break Some(cut);
                    }
                }
                Ok(None) => break None,
                Err(error) => break Some(Cut::Broken(failure(&error))),
            }
        };
        let Progress { bytes, reservation, waited, .. } = so_far;
        let reservation =
            (!reservation.is_empty()).then(|| Box::new(reservation) as ReservationGuard);
        Body { bytes: shrink_to_fit(bytes), cut, reservation, waited }
    }

    /// Sets the timer to the earliest of `check`, the deadline, and, for a body with a reservation,
    /// the next check of its rate.
    fn set(&self, sleep: Pin<&mut Sleep>, check: Timestamp, so_far: &Progress) {
        let check = match so_far.reservation.is_empty() {
            true => check,
            false => check.min(so_far.seen.0 + self.caps.held_window),
        };
        sleep.reset(instant(self.clock, check.min(so_far.deadline)));
    }

    /// Returns the reason to cut off a body that has not ended, if time requires it.
    fn judge(&self, so_far: &mut Progress) -> Option<Cut> {
        let now = self.clock.now();
        if now >= so_far.deadline {
            return Some(Cut::TotalTimeout);
        }
        let elapsed = now.since(so_far.began);
        let is_early = elapsed < self.caps.rate_grace;
        let is_slow = !is_early && is_slow(so_far.bytes.len(), elapsed, self.caps.rate_min);
        (is_slow || self.blocks_others(now, so_far)).then_some(Cut::TooSlow)
    }

    /// Returns true if it has a reservation while others wait for one, and has hardly grown in the
    /// last window.
    fn blocks_others(&self, now: Timestamp, so_far: &mut Progress) -> bool {
        let (seen, length) = so_far.seen;
        let elapsed = now.since(seen);
        if so_far.reservation.is_empty() || elapsed < self.caps.held_window {
            return false;
        }
        so_far.seen = (now, so_far.bytes.len());
        self.budget.is_short() && is_slow(so_far.bytes.len() - length, elapsed, HELD_RATE_MIN)
    }

    /// Adds a chunk once memory for it is reserved. Returns the reason if it is the last one.
    async fn take(
        &self,
        chunk: Bytes,
        so_far: &mut Progress,
        sleep: Pin<&mut Sleep>,
    ) -> Option<Cut> {
        let left = self.caps.body_size - so_far.bytes.len();
        let kept = &chunk[..chunk.len().min(left)];
        let beyond = (so_far.bytes.len() + kept.len()).saturating_sub(BODY_FREE);
        if beyond > 0
            && let Some(cut) = self.reserve(beyond, so_far, sleep).await
        {
            return Some(cut);
        }
        so_far.bytes.extend_from_slice(kept);
        (chunk.len() > left).then_some(Cut::Length)
    }

    /// Waits until this many bytes are reserved, or returns the reason to stop waiting. All waits
    /// of a body together may take as long as a whole request.
    async fn reserve(
        &self,
        bytes: usize,
        so_far: &mut Progress,
        mut sleep: Pin<&mut Sleep>,
    ) -> Option<Cut> {
        if so_far.reservation.has(bytes) {
            return None;
        }
        let is_first = so_far.reservation.is_empty();
        let asked = self.clock.now();
        let remaining = self.caps.total.saturating_sub(so_far.waited);
        sleep.as_mut().reset(instant(self.clock, asked + remaining));
        let cut = tokio::select! {
            biased;
            () = self.budget.grow(&mut so_far.reservation, bytes) => None,
            () = self.stop.cancelled() => Some(Cut::Stopped),
            () = sleep.as_mut() => Some(Cut::TotalTimeout),
        };
        let now = self.clock.now();
        let waited = now.since(asked);
        so_far.waited += waited;
        so_far.began = so_far.began + waited;
        so_far.deadline = so_far.deadline + waited;
        so_far.seen = match is_first {
            true => (now, so_far.bytes.len()),
            false => (so_far.seen.0 + waited, so_far.seen.1),
        };
        self.set(sleep, now + RATE_CHECK, so_far);
        cut
    }
}

fn reserved(response: &reqwest::Response, caps: &Caps) -> usize {
    let promised = response.content_length().unwrap_or(0).min(RESERVED_MAX);
    usize::try_from(promised).unwrap_or(0).min(caps.body_size)
}

/// Returns true if the average is below `rate_min` bytes per second.
fn is_slow(received: usize, elapsed: Duration, rate_min: u64) -> bool {
    (received as u128) * 1_000 < u128::from(rate_min) * elapsed.as_millis()
}

/// Returns the bytes without much unused capacity: bodies that wait for the parsers are counted by
/// length, so the allocation must not be much larger.
fn shrink_to_fit(bytes: BytesMut) -> Bytes {
    if bytes.capacity() / 2 > bytes.len() { Bytes::copy_from_slice(&bytes) } else { bytes.freeze() }
}

/// Converts a time of `clock` to one of the runtime's timers.
pub(super) fn instant(clock: &Clock, at: Timestamp) -> Instant {
    Instant::from_std(clock.instant(at))
}
