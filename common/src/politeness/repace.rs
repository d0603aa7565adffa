//! What new settings change for a host that waits already.

use super::pace::Pace;
use super::retry::rest_after;
use super::state::{HostState, WaitRule};
use crate::config::PolitenessMode;
use crate::time::Timestamp;
use std::time::Duration;

impl HostState {
    /// The pace may be another than when the next time was set: an ordinary wait is counted anew from
    /// the end of the last request; one that another rule has set is never made shorter. Under the
    /// pace that has set it, nothing changes.
    pub fn repace(&mut self, pace: &Pace<'_>) {
        if self.last_ended == Timestamp::ZERO {
            return;
        }
        let (wait, rule) = self.ordinary_wait(pace);
        let ordinary = self.last_ended + wait;
        if !matches!(self.rule, WaitRule::Delay | WaitRule::CrawlDelay | WaitRule::Relative) {
            return self.hold_until(ordinary, rule);
        }
        (self.next, self.rule) = (ordinary, rule);
        // These may have been shorter than the ordinary wait was.
        self.hold_until(self.slowed_until, WaitRule::Backoff);
        let failures = self.failures;
        for (kind, n) in failures.iter() {
            let rest = rest_after(kind, n, pace.politeness);
            self.hold_until(self.last_ended + rest, WaitRule::Failure(kind));
        }
    }

    /// What the pace asks for after the last visit. How long the site took then is not remembered:
    /// a wait that followed it stays within its new bounds.
    fn ordinary_wait(&self, pace: &Pace<'_>) -> (Duration, WaitRule) {
        let politeness = pace.politeness;
        let served = match u32::try_from(self.requests) {
            Ok(n) if n > 0 => Duration::from_micros(self.served_us) / n,
            _ => Duration::ZERO,
        };
        let (wait, rule) = pace.wait(served);
        if politeness.mode != PolitenessMode::Relative || self.rule != WaitRule::Relative {
            return (wait, rule);
        }
        let old = self.next.since(self.last_ended);
        let bounded = old.min(politeness.relative_delay_max).max(politeness.relative_delay_min);
        let least = pace.wait(Duration::ZERO);
        if least.0 > bounded { least } else { (bounded, WaitRule::Relative) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{VisitSignal, VisitSummary, after_visit};
    use super::*;
    use crate::config::Politeness;
    use crate::failure::Failure;
    use proptest::prelude::*;

    const T: Timestamp = Timestamp(1_700_000_000_000_000);

    fn secs(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    fn politeness(delay: u64) -> Politeness {
        Politeness { delay: secs(delay), ..Politeness::default() }
    }

    fn visited(politeness: &Politeness, signal: VisitSignal) -> HostState {
        let visit = VisitSummary { requests: 1, ended: T, served: secs(1), signal };
        let pace = Pace { politeness, domain_delay: None, crawl_delay: None };
        after_visit(&HostState::default(), &visit, &pace, 0)
    }

    #[test]
    fn an_ordinary_wait_follows_the_settings_and_no_other_does() {
        let refused = VisitSignal::Failed(Failure::ConnectRefused);
        let later = VisitSignal::SlowDown(Some(secs(30)));
        // (delay, signal, new delay, Crawl-delay) → (wait, rule)
        for (old, signal, new, asked, wait, rule) in [
            (10, VisitSignal::Well, 2, None, 2, WaitRule::Delay),
            (10, VisitSignal::Well, 0, None, 0, WaitRule::Delay),
            (10, VisitSignal::Well, 40, None, 40, WaitRule::Delay),
            (10, VisitSignal::Well, 2, Some(7), 7, WaitRule::CrawlDelay),
            (10, later, 2, None, 30, WaitRule::RetryAfter),
            (10, later, 40, None, 40, WaitRule::Delay),
            // The delay was the longer one: what the site asked for still holds.
            (100, later, 2, None, 30, WaitRule::Backoff),
            (10, refused, 2, None, 60, WaitRule::Failure(Failure::ConnectRefused)),
            (100, refused, 2, None, 60, WaitRule::Failure(Failure::ConnectRefused)),
        ] {
            let mut state = visited(&politeness(old), signal);
            let new = politeness(new);
            let pace = Pace { politeness: &new, domain_delay: None, crawl_delay: asked.map(secs) };
            state.repace(&pace);
            assert_eq!((state.next, state.rule), (T + secs(wait), rule), "{old} {signal:?}");
        }
    }

    #[test]
    fn a_host_that_was_never_visited_waits_for_nothing() {
        let mut state = HostState::default();
        state.repace(&Pace { politeness: &politeness(10), domain_delay: None, crawl_delay: None });
        assert_eq!(state, HostState::default());
    }

    #[test]
    fn a_relative_wait_stays_within_its_new_bounds() {
        let relative = Politeness { mode: PolitenessMode::Relative, ..Politeness::default() };
        let (min, max) = (relative.relative_delay_min, relative.relative_delay_max);
        for (new_min, new_max, wait) in [(min, max, 10), (secs(20), max, 20), (min, secs(5), 5)] {
            let mut state = visited(&relative, VisitSignal::Well);
            let new = Politeness {
                relative_delay_min: new_min,
                relative_delay_max: new_max,
                ..relative.clone()
            };
            state.repace(&Pace { politeness: &new, domain_delay: None, crawl_delay: None });
            assert_eq!(state.next, T + secs(wait));
        }
    }

    proptest! {
        /// Whatever changes how often: never before the last request's end plus the new delay, and
        /// under the same settings nothing moves.
        #[test]
        fn nobody_goes_too_early(
            old in 0u64..100,
            news in prop::collection::vec(0u64..100, 1..5),
            signal in prop::sample::select(vec![
                VisitSignal::Well,
                VisitSignal::SlowDown(None),
                VisitSignal::SlowDown(Some(secs(20))),
                VisitSignal::Failed(Failure::Disconnected),
            ]),
        ) {
            let at_once = visited(&politeness(0), signal);
            let mut state = visited(&politeness(old), signal);
            let same = state.clone();
            let under = |state: &mut HostState, delay| {
                let politeness = politeness(delay);
                let pace = Pace { politeness: &politeness, domain_delay: None, crawl_delay: None };
                state.repace(&pace);
            };
            under(&mut state, old);
            prop_assert_eq!(state.next, same.next);
            for new in news {
                under(&mut state, new);
                prop_assert!(state.next >= T + secs(new));
                prop_assert!(state.next >= at_once.next, "its rest was cut short");
            }
        }
    }
}
