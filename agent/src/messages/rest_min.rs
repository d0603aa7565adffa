//! How long a host rests between two visits at least, as the settings in force have it: seen by all
//! rooms at once.

use crivello_common::config::{PolitenessMode, Settings};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// See the module. Clones see the same.
#[derive(Clone, Debug)]
pub struct RestMin(Arc<AtomicU64>);

impl RestMin {
    /// By the settings that a run begins with.
    #[must_use]
    pub fn of(settings: &Settings) -> Self {
        Self(Arc::new(AtomicU64::new(millis(settings))))
    }

    /// Other settings are in force.
    pub fn replace(&self, settings: &Settings) {
        self.0.store(millis(settings), Relaxed);
    }

    /// The shortest of any host, to the millisecond.
    #[must_use]
    pub fn get(&self) -> Duration {
        Duration::from_millis(self.0.load(Relaxed))
    }
}

fn millis(settings: &Settings) -> u64 {
    let politeness = &settings.politeness;
    let general = match politeness.mode {
        PolitenessMode::Absolute => politeness.delay,
        PolitenessMode::Relative => politeness.relative_delay_min,
    };
    let rest = politeness.domains.iter().map(|domain| domain.delay).fold(general, Duration::min);
    u64::try_from(rest.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_common::config::DomainDelay;

    #[test]
    fn the_shortest_counts_and_clones_see_what_is_new() {
        let mut settings = Settings::default();
        settings.politeness.delay = Duration::from_secs(7);
        settings.politeness.relative_delay_min = Duration::from_secs(3);
        let rest = RestMin::of(&settings);
        let seen = rest.clone();
        assert_eq!(seen.get(), Duration::from_secs(7));
        settings.politeness.mode = PolitenessMode::Relative;
        rest.replace(&settings);
        assert_eq!(seen.get(), Duration::from_secs(3));
        settings.politeness.domains =
            vec![DomainDelay { suffix: "b.example".into(), delay: Duration::ZERO }];
        rest.replace(&settings);
        assert_eq!(seen.get(), Duration::ZERO);
    }
}
