//! A body, chunk by chunk, never more than its caps allow.

use super::Caps;
use super::fault::{self, Stage};
use super::rooms::Rooms;
use crate::flow::{Room, Truncation};
use crate::limits::BODY_FREE;
use bytes::{Bytes, BytesMut};
use crivello_common::failure::Failure;
use crivello_common::time::{Clock, Timestamp};
use std::pin::Pin;
use std::time::Duration;
use tokio::time::{Instant, Sleep};

/// What a promised length may reserve before a byte came.
const RESERVED_MAX: u64 = 64 << 10;
/// After the grace the rate is looked at this often.
const RATE_CHECK: Duration = Duration::from_secs(1);

/// A body as far as it came.
pub(super) struct Body {
    pub(super) bytes: Bytes,
    pub(super) cut: Option<Cut>,
    /// The room it takes, if it is large.
    pub(super) room: Option<Room>,
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
}

impl Cut {
    pub(super) const fn truncation(self) -> Truncation {
        match self {
            Self::Length => Truncation::Length,
            Self::TotalTimeout | Self::TooSlow => Truncation::Time,
            Self::Broken(_) => Truncation::Disconnect,
        }
    }

    /// `None`: the body is as long as it was allowed to be, and be it nothing.
    pub(super) const fn failure(self) -> Option<Failure> {
        match self {
            Self::Length => None,
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
}

/// How a body comes along. Time spent waiting for room is nobody's: it moves `began` and
/// `deadline`.
struct Progress {
    bytes: BytesMut,
    began: Timestamp,
    deadline: Timestamp,
    room: Option<Room>,
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
        let mut so_far = Progress {
            bytes: BytesMut::with_capacity(reserved(response, self.caps)),
            began: self.clock.now(),
            deadline,
            room: None,
            waited: Duration::ZERO,
        };
        self.set(sleep.as_mut(), so_far.began + self.caps.rate_grace, &so_far);
        let cut = loop {
            let chunk = tokio::select! {
                biased;
                chunk = response.chunk() => chunk,
                () = sleep.as_mut() => {
                    if let Some(cut) = self.judge(&so_far) {
                        break Some(cut);
                    }
                    self.set(sleep.as_mut(), self.clock.now() + RATE_CHECK, &so_far);
                    continue;
                }
            };
            match chunk {
                Ok(Some(chunk)) => {
                    if self.take(chunk, &mut so_far).await {
                        break Some(Cut::Length);
                    }
                }
                Ok(None) => break None,
                Err(error) => break Some(Cut::Broken(fault::failure(&error, Stage::Body))),
            }
        };
        let Progress { bytes, room, waited, .. } = so_far;
        Body { bytes: snug(bytes), cut, room, waited }
    }

    fn set(&self, sleep: Pin<&mut Sleep>, check: Timestamp, so_far: &Progress) {
        sleep.reset(instant(self.clock, check.min(so_far.deadline)));
    }

    /// What the time says of a body that has not ended.
    fn judge(&self, so_far: &Progress) -> Option<Cut> {
        let now = self.clock.now();
        if now >= so_far.deadline {
            return Some(Cut::TotalTimeout);
        }
        let elapsed = now.since(so_far.began);
        let is_early = elapsed < self.caps.rate_grace;
        (!is_early && is_slow(so_far.bytes.len(), elapsed, self.caps.rate_min))
            .then_some(Cut::TooSlow)
    }

    /// Adds a chunk, once there is room for it; says whether it reached beyond the cap.
    async fn take(&self, chunk: Bytes, so_far: &mut Progress) -> bool {
        if so_far.room.is_none() && so_far.bytes.len() + chunk.len() > BODY_FREE {
            let asked = self.clock.now();
            so_far.room = self.rooms.take().await;
            let waited = self.clock.now().since(asked);
            so_far.waited += waited;
            so_far.began = so_far.began + waited;
            so_far.deadline = so_far.deadline + waited;
        }
        let left = self.caps.body_size - so_far.bytes.len();
        so_far.bytes.extend_from_slice(&chunk[..chunk.len().min(left)]);
        chunk.len() > left
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
