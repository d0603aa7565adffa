//! Settings applied to a host that is already waiting, or that was taken over.

use super::host_policy::HostPolicy;
use super::retry::rest_after;
use super::state::{HostState, WaitRule};
use crate::config::PolitenessMode;
use crate::time::Timestamp;
use std::time::Duration;

impl HostState {
    /// Adjusts the next time to a policy that may have changed. An ordinary wait is recomputed from
    /// the end of the last request; a wait set by another rule is never shortened. Under an
    /// unchanged policy nothing changes.
    pub fn reapply_policy(&mut self, policy: &HostPolicy<'_>) {
        if self.last_ended == Timestamp::ZERO {
            return;
        }
        let (wait, rule) = self.ordinary_wait(policy);
        let ordinary = self.last_ended + wait;
        if !matches!(self.rule, WaitRule::Delay | WaitRule::CrawlDelay | WaitRule::Relative) {
            return self.hold_until(ordinary, rule);
        }
        (self.next, self.rule) = (ordinary, rule);
        // These waits may have been shorter than the ordinary wait.
        self.hold_until(self.slowed_until, WaitRule::Backoff);
        let failures = self.failures;
        for (kind, n) in failures.iter() {
            let rest = rest_after(kind, n, policy.politeness);
            self.hold_until(self.last_ended + rest, WaitRule::Failure(kind));
        }
    }

    /// Takes the host over at `now` from an agent that may have sent a request until then. It rests
    /// for the longest ordinary wait of `policy`; for the shortest one if no visit is recorded.
    pub fn take_over(&mut self, now: Timestamp, policy: &HostPolicy<'_>) {
        let wait = match self.last_ended {
            Timestamp::ZERO => policy.wait(Duration::ZERO).0,
            _ => policy.wait_max(),
        };
        self.hold_until(now + wait, WaitRule::TakeOver);
    }

    /// Returns the ordinary wait after the last visit. The response time of that visit is not
    /// stored, so a relative wait is only clamped to its new bounds.
    fn ordinary_wait(&self, policy: &HostPolicy<'_>) -> (Duration, WaitRule) {
        let politeness = policy.politeness;
        let (wait, rule) = policy.wait(self.mean_served());
        if politeness.mode != PolitenessMode::Relative || self.rule != WaitRule::Relative {
            return (wait, rule);
        }
        let old = self.next.since(self.last_ended);
        let bounded = old.min(politeness.relative_delay_max).max(politeness.relative_delay_min);
        let least = policy.wait(Duration::ZERO);
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
        let policy = HostPolicy { politeness, domain_delay: None, crawl_delay: None };
        after_visit(&HostState::default(), &visit, &policy, 0)
    }

    #[test]
    fn an_ordinary_wait_follows_the_settings_and_no_other_does() {
        let refused = VisitSignal::Failed(Failure::ConnectRefused);
        let later = VisitSignal::SlowDown(Some(secs(30)));
        // (delay, signal, new delay, Crawl-delay) → (wait, rule)
        for (old, signal, new, asked, wait, rule) in [
            (10, VisitSignal::Healthy, 2, None, 2, WaitRule::Delay),
            (10, VisitSignal::Healthy, 0, None, 0, WaitRule::Delay),
            (10, VisitSignal::Healthy, 40, None, 40, WaitRule::Delay),
            (10, VisitSignal::Healthy, 2, Some(7), 7, WaitRule::CrawlDelay),
            (10, later, 2, None, 30, WaitRule::RetryAfter),
            (10, later, 40, None, 40, WaitRule::Delay),
            // The old delay was longer than Retry-After, which still holds.
            (100, later, 2, None, 30, WaitRule::Backoff),
            (10, refused, 2, None, 60, WaitRule::Failure(Failure::ConnectRefused)),
            (100, refused, 2, None, 60, WaitRule::Failure(Failure::ConnectRefused)),
        ] {
            let mut state = visited(&politeness(old), signal);
            let new = politeness(new);
            let policy =
                HostPolicy { politeness: &new, domain_delay: None, crawl_delay: asked.map(secs) };
            state.reapply_policy(&policy);
            assert_eq!((state.next, state.rule), (T + secs(wait), rule), "{old} {signal:?}");
        }
    }

    #[test]
    fn a_host_that_was_never_visited_does_not_wait() {
        let mut state = HostState::default();
        state.reapply_policy(&HostPolicy {
            politeness: &politeness(10),
            domain_delay: None,
            crawl_delay: None,
        });
        assert_eq!(state, HostState::default());
    }

    #[test]
    fn a_relative_wait_stays_within_its_new_bounds() {
        let relative = Politeness { mode: PolitenessMode::Relative, ..Politeness::default() };
        let (min, max) = (relative.relative_delay_min, relative.relative_delay_max);
        for (new_min, new_max, wait) in [(min, max, 10), (secs(20), max, 20), (min, secs(5), 5)] {
            let mut state = visited(&relative, VisitSignal::Healthy);
            let new = Politeness {
                relative_delay_min: new_min,
                relative_delay_max: new_max,
                ..relative.clone()
            };
            state.reapply_policy(&HostPolicy {
                politeness: &new,
                domain_delay: None,
                crawl_delay: None,
            });
            assert_eq!(state.next, T + secs(wait));
        }
    }

    proptest! {
        /// After any changes, the next time is never before the end of the last request plus the
        /// new delay. Unchanged settings change nothing.
        #[test]
        fn no_change_of_settings_makes_a_visit_too_early(
            old in 0u64..100,
            news in prop::collection::vec(0u64..100, 1..5),
            signal in prop::sample::select(vec![
                VisitSignal::Healthy,
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
                let policy = HostPolicy { politeness: &politeness, domain_delay: None, crawl_delay: None };
                state.reapply_policy(&policy);
            };
            under(&mut state, old);
            prop_assert_eq!(state.next, same.next);
            for new in news {
                under(&mut state, new);
                prop_assert!(state.next >= T + secs(new));
                prop_assert!(state.next >= at_once.next, "the wait was shortened");
            }
        }
    }
}
