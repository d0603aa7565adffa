//! Lines in the log about others who try again and again: one a minute for each reason.

use crate::tls::{Kind, Reason, Refuser};
use crivello_common::time::{Clock, Timestamp};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::time::Duration;

/// Between two lines about the same.
const SAY_EVERY: Duration = Duration::from_secs(60);
/// Others and reasons that are remembered. Of more at once nothing is said.
const REMEMBERED_MAX: usize = 1_024;

/// What was said of whom, and when.
#[derive(Debug)]
pub(crate) struct Sayings {
    clock: Clock,
    said: Mutex<Said>,
}

/// Of whom, who does not want, and why.
type Said = HashMap<(String, Refuser, Kind), Timestamp>;

impl Default for Sayings {
    fn default() -> Self {
        Self { clock: Clock::start(), said: Mutex::default() }
    }
}

/// Whether something is to be said of `who` now; takes note that it is.
fn is_due(said: &mut Said, who: &str, (by, kind): (Refuser, Kind), now: Timestamp) -> bool {
    let key = (who.to_owned(), by, kind);
    if said.get(&key).is_some_and(|&at| now.since(at) < SAY_EVERY) {
        return false;
    }
    if said.len() >= REMEMBERED_MAX {
        said.retain(|_, &mut at| now.since(at) < SAY_EVERY);
    }
    if said.len() >= REMEMBERED_MAX {
        return false;
    }
    said.insert(key, now);
    true
}

impl Sayings {
    /// Whether something is to be said of `who` now; takes note that it is.
    pub(crate) fn is_due(&self, who: &str, by: Refuser, kind: Kind) -> bool {
        is_due(&mut self.said.lock(), who, (by, kind), self.clock.now())
    }

    /// Says why `at`, one of those known as `who`, who called, is not let in.
    pub(crate) fn not_let_in(&self, who: &str, at: &str, reason: &Reason) {
        let Reason { by, kind, text } = reason;
        match by {
            // Whoever looks whether somebody listens.
            Refuser::Nobody => tracing::debug!("{at}: {text}"),
            _ if !self.is_due(who, *by, *kind) => {}
            Refuser::Us => tracing::warn!("{at} is not let in: {text}"),
            Refuser::Them => tracing::warn!("{at} called and does not trust this node: {text}"),
        }
    }

    /// Says why nothing comes of the call to `at`.
    pub(crate) fn not_reached(&self, at: &str, reason: &Reason) {
        let Reason { by, kind, text } = reason;
        match by {
            Refuser::Nobody => tracing::debug!("{at}: {text}"),
            _ if !self.is_due(at, *by, *kind) => {}
            Refuser::Us => tracing::warn!("{at} is not spoken to: {text}"),
            Refuser::Them => tracing::warn!("{at} does not let this node in: {text}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXPIRED: (Refuser, Kind) = (Refuser::Us, Kind::Expired);

    #[test]
    fn the_same_is_said_once_a_minute_and_memory_has_a_bound() {
        let (mut said, begin) = (Said::new(), Timestamp::from_secs(1_000));
        assert!(is_due(&mut said, "a", EXPIRED, begin));
        assert!(!is_due(&mut said, "a", EXPIRED, begin + Duration::from_secs(59)));
        assert!(is_due(&mut said, "a", (Refuser::Us, Kind::Authority), begin));
        assert!(is_due(&mut said, "a", (Refuser::Them, Kind::Expired), begin));
        assert!(is_due(&mut said, "b", EXPIRED, begin));
        assert!(is_due(&mut said, "a", EXPIRED, begin + SAY_EVERY));
        for n in 0..2 * REMEMBERED_MAX {
            is_due(&mut said, &n.to_string(), EXPIRED, begin);
        }
        assert_eq!(said.len(), REMEMBERED_MAX);
        assert!(!is_due(&mut said, "one more", EXPIRED, begin));
        assert!(is_due(&mut said, "one more", EXPIRED, begin + 2 * SAY_EVERY));
        assert!(said.len() <= 2, "{}", said.len());
    }
}
