//! A body, chunk by chunk, never more than its caps allow.

use super::Caps;
use super::fault::{self, Stage};
use super::rooms::{Held, Rooms};
use crate::limits::{BODY_FREE, HELD_RATE_MIN};
use crate::messages::{ReservationGuard, Truncation};
use bytes::{Bytes, BytesMut};
use crivello_common::failure::Failure;
use crivello_common::time::{Clock, Timestamp};
use std::pin::Pin;
use std::time::Duration;
use tokio::time::{Instant, Sleep};
use tokio_util::sync::CancellationToken;

/// What a promised length may reserve before a byte came.
const RESERVED_MAX: u64 = 64 << 10;
/// After the grace the rate is looked at this often.
const RATE_CHECK: Duration = Duration::from_secs(1);

/// A body as far as it came.
pub(super) struct Body {
    pub(super) bytes: Bytes,
    pub(super) cut: Option<Cut>,
    /// The room it takes, if it is large.
    pub(super) room: Option<ReservationGuard>,
    /// How long it waited for that.
    pub(super) waited: Duration,
}

/// Why it is not complete: the kind of failure should no byte of it be usable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Cut {
    Length,
    TotalTimeout,
    TooSlow,
    Broken(Failure),
    /// By us, while it waited for room: what came is of no use.
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

    /// `None`: the body is as long as it was allowed to be, and be it nothing.
    pub(super) const fn failure(self) -> Option<Failure> {
        match self {
            Self::Length | Self::Stopped => None,
            Self::TotalTimeout => Some(Failure::TotalTimeout),
            Self::TooSlow => Some(Failure::TooSlow),
            Self::Broken(failure) => Some(failure),
        }
    }
}

/// What a body is read under.
pub(super) struct Reader<'a> {
    pub(super) caps: &'a Caps,
    pub(super) clock: &'a Clock,
    pub(super) rooms: &'a Rooms,
    /// Whoever waits for room waits no longer once this is cancelled.
    pub(super) stop: &'a CancellationToken,
}

/// How a body comes along. Time spent waiting for room is nobody's: it moves `began` and
/// `deadline`.
struct Progress {
    bytes: BytesMut,
    began: Timestamp,
    deadline: Timestamp,
    /// When its rate was last looked at while it held room, and how long it was then.
    seen: (Timestamp, usize),
    held: Held,
    waited: Duration,
}

impl Reader<'_> {
    /// Reads the body of a response until it ends, breaks, or reaches a cap. `sleep` is any timer:
    /// it is set here; `deadline` is when the whole request must be over.
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
            held: Held::default(),
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
                Err(error) => break Some(Cut::Broken(fault::failure(&error, Stage::Body))),
            }
        };
        let Progress { bytes, held, waited, .. } = so_far;
        let room = (!held.is_empty()).then(|| Box::new(held) as ReservationGuard);
        Body { bytes: snug(bytes), cut, room, waited }
    }

    /// The timer goes off at `check`, at the deadline, and where it holds room when its rate is to
    /// be looked at.
    fn set(&self, sleep: Pin<&mut Sleep>, check: Timestamp, so_far: &Progress) {
        let check = match so_far.held.is_empty() {
            true => check,
            false => check.min(so_far.seen.0 + self.caps.held_window),
        };
        sleep.reset(instant(self.clock, check.min(so_far.deadline)));
    }

    /// What the time says of a body that has not ended.
    fn judge(&self, so_far: &mut Progress) -> Option<Cut> {
        let now = self.clock.now();
        if now >= so_far.deadline {
            return Some(Cut::TotalTimeout);
        }
        let elapsed = now.since(so_far.began);
        let is_early = elapsed < self.caps.rate_grace;
        let is_slow = !is_early && is_slow(so_far.bytes.len(), elapsed, self.caps.rate_min);
        (is_slow || self.is_in_the_way(now, so_far)).then_some(Cut::TooSlow)
    }

    /// Whether it holds room that others wait for, and has hardly grown of late.
    fn is_in_the_way(&self, now: Timestamp, so_far: &mut Progress) -> bool {
        let (seen, length) = so_far.seen;
        let elapsed = now.since(seen);
        if so_far.held.is_empty() || elapsed < self.caps.held_window {
            return false;
        }
        so_far.seen = (now, so_far.bytes.len());
        self.rooms.is_short() && is_slow(so_far.bytes.len() - length, elapsed, HELD_RATE_MIN)
    }

    /// Adds a chunk, once there is room for it; says why it was the last, if it was.
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
            && let Some(cut) = self.make_room(beyond, so_far, sleep).await
        {
            return Some(cut);
        }
        so_far.bytes.extend_from_slice(kept);
        (chunk.len() > left).then_some(Cut::Length)
    }

    /// Has room for so many bytes, or says why it waits no longer: all its waiting may take as long
    /// as the whole request.
    async fn make_room(
        &self,
        bytes: usize,
        so_far: &mut Progress,
        mut sleep: Pin<&mut Sleep>,
    ) -> Option<Cut> {
        if so_far.held.has(bytes) {
            return None;
        }
        let is_first = so_far.held.is_empty();
        let asked = self.clock.now();
        let patience = self.caps.total.saturating_sub(so_far.waited);
        sleep.as_mut().reset(instant(self.clock, asked + patience));
        let cut = tokio::select! {
            biased;
            () = self.rooms.grow(&mut so_far.held, bytes) => None,
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

/// Less than `rate_min` bytes a second on average.
fn is_slow(received: usize, elapsed: Duration, rate_min: u64) -> bool {
    (received as u128) * 1_000 < u128::from(rate_min) * elapsed.as_millis()
}

/// What waits for the parsers is counted by its length: nothing much larger may be behind it.
fn snug(bytes: BytesMut) -> Bytes {
    if bytes.capacity() / 2 > bytes.len() { Bytes::copy_from_slice(&bytes) } else { bytes.freeze() }
}

/// A timer's end.
pub(super) fn instant(clock: &Clock, at: Timestamp) -> Instant {
    Instant::from_std(clock.instant(at))
}
