//! The shortest delay between two visits to any host, by the live settings. All stages see a change
//! at once.

use crivello_common::config::{Live, PolitenessMode};
use crivello_common::time::millis;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Shared shortest delay. Clones share the same value.
#[derive(Clone, Debug)]
pub struct MinHostDelay(Arc<AtomicU64>);

impl MinHostDelay {
    /// Creates it from the settings at the start.
    #[must_use]
    pub fn of(live: &Live) -> Self {
        Self(Arc::new(AtomicU64::new(shortest(live))))
    }

    /// Applies new settings.
    pub fn replace(&self, live: &Live) {
        self.0.store(shortest(live), Relaxed);
    }

    /// Returns the delay, in whole milliseconds.
    pub fn get(&self) -> Duration {
        Duration::from_millis(self.0.load(Relaxed))
    }
}

fn shortest(live: &Live) -> u64 {
    let politeness = &live.politeness;
    let general = match politeness.mode {
        PolitenessMode::Absolute => politeness.delay,
        PolitenessMode::Relative => politeness.relative_delay_min,
    };
    let rest = politeness.domains.iter().map(|domain| domain.delay).fold(general, Duration::min);
    millis(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_common::config::DomainDelay;

    #[test]
    fn the_shortest_counts_and_clones_see_what_is_new() {
        let mut live = Live::default();
        live.politeness.delay = Duration::from_secs(7);
        live.politeness.relative_delay_min = Duration::from_secs(3);
        let rest = MinHostDelay::of(&live);
        let seen = rest.clone();
        assert_eq!(seen.get(), Duration::from_secs(7));
        live.politeness.mode = PolitenessMode::Relative;
        rest.replace(&live);
        assert_eq!(seen.get(), Duration::from_secs(3));
        live.politeness.domains =
            vec![DomainDelay { suffix: "b.example".into(), delay: Duration::ZERO }];
        rest.replace(&live);
        assert_eq!(seen.get(), Duration::ZERO);
    }
}
