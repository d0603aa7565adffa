//! This agent's quota of the page limit: requested when it runs low, returned when other agents
//! need it and it cannot be used here soon.

use crate::limits::NO_DELAY_VISIT_URLS;
use crate::shared::Shared;
use crivello_proto::v1;
use std::sync::atomic::Ordering::Acquire;
use std::time::Duration;

/// Pause between two checks whether pages run low.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// Number of pages that are useful before any visit is in flight.
const FIRST: u64 = 16;
/// Number of useful pages for each visit in flight: twice what it may fetch before the next
/// heartbeat is answered, so that half of them last until then.
const A_VISIT: u64 = 2 * NO_DELAY_VISIT_URLS as u64;

/// This agent's part of the quota protocol. Counts are of all runs.
#[derive(Debug)]
pub struct PageQuotaClient {
    /// Number of pages that may be fetched, fetched ones included.
    allowed: u64,
    is_scarce: bool,
    /// Number of pages fetched as of the last report to the coordinator.
    reported: u64,
    /// Page limit that the quota is a portion of.
    limit: Option<u64>,
}

impl PageQuotaClient {
    /// Creates a client without quota: what an earlier process was allowed and has not fetched is
    /// lost.
    pub fn new(shared: &Shared) -> Self {
        let limit = shared.live.latest().live.limits.pages_max;
        let fetched = shared.status.totals.lock().0.pages;
        Self { allowed: fetched, is_scarce: false, reported: fetched, limit }
    }

    /// Returns once more pages should be requested, at the earliest after one pause.
    pub async fn runs_short(shared: &Shared) {
        loop {
            tokio::time::sleep(CHECK_INTERVAL).await;
            if is_short(shared) {
                return;
            }
        }
    }

    /// Returns the report to the coordinator; `None` in a crawl without a limit. An agent that is
    /// `leaving` fetches nothing more that counts against the limit.
    pub fn report(&mut self, shared: &Shared, leaving: bool) -> Option<v1::QuotaReport> {
        // Read first: pages reserved for a visit later are counted here, and in nothing below.
        let Some(left) = shared.page_budget.get() else {
            self.limit = None;
            return None;
        };
        let left = self.adopt_limit(shared, left);
        // Pages in flight when the limit was set belong to no quota, so they are no credit either.
        self.allowed = self.allowed.max(shared.status.totals.lock().0.pages);
        let surplus = match (leaving, self.is_scarce) {
            (true, _) => left,
            (false, true) => left.saturating_sub(useful(shared)),
            (false, false) => 0,
        };
        if surplus > 0 {
            let back = shared.page_budget.take(surplus);
            self.allowed = self.allowed.saturating_sub(back);
        } else if shared.status.visits.load(Acquire) == 0 && shared.pipeline.is_empty() {
            // Requests that did not count as a page use no quota.
            let fetched = shared.status.totals.lock().0.pages;
            self.allowed = self.allowed.min(fetched + left);
        }
        let fetched = shared.status.totals.lock().0.pages;
        let wants = if leaving { 0 } else { wanted(shared) };
        let number = shared.clock.now().0;
        self.reported = fetched;
        Some(v1::QuotaReport { allowed: self.allowed, fetched, wanted: wants, number })
    }

    /// Drops the whole remaining quota if the limit has changed, because it is granted anew. Returns
    /// the pages then left.
    fn adopt_limit(&mut self, shared: &Shared, left: u64) -> u64 {
        let limit = shared.live.latest().live.limits.pages_max;
        if limit == self.limit {
            return left;
        }
        match self.limit {
            Some(_) => {
                let back = shared.page_budget.take(u64::MAX);
                self.allowed = self.allowed.saturating_sub(back);
            }
            // Nothing was counted so far: the pages fetched are all that was allowed.
            None => self.allowed = shared.status.totals.lock().0.pages,
        }
        self.limit = limit;
        0
    }

    /// Applies a grant of the coordinator.
    pub fn on_grant(&mut self, grant: v1::QuotaGrant, shared: &Shared) {
        let v1::QuotaGrant { allowed, is_scarce, is_used_up, remaining: left } = grant;
        self.is_scarce = is_scarce;
        shared.page_budget.set_cluster_left(left, self.reported);
        shared.page_budget.add(allowed.saturating_sub(self.allowed));
        self.allowed = self.allowed.max(allowed);
        shared.page_budget.set_used_up(is_used_up);
    }
}

/// Returns the number of pages that could be fetched soon; 0 if all hosts rest.
fn useful(shared: &Shared) -> u64 {
    let visits = shared.status.visits.load(Acquire) as u64;
    let ready = shared.status.workbench.lock().ips_ready > 0 || visits > 0;
    let queued = shared.status.totals.lock().0.own_queued;
    if ready { queued.min(FIRST + A_VISIT * visits) } else { 0 }
}

/// Returns true if less than half of the useful pages are left. A request whenever any are missing
/// would cost the coordinator a write of its state each time.
fn is_short(shared: &Shared) -> bool {
    left(shared).is_some_and(|left| left < useful(shared).div_ceil(2))
}

fn wanted(shared: &Shared) -> u64 {
    left(shared).map_or(0, |left| useful(shared).saturating_sub(left))
}

/// Returns the pages left; `None` if no more will be granted, or there is no limit.
fn left(shared: &Shared) -> Option<u64> {
    shared.page_budget.get().filter(|_| !shared.page_budget.is_used_up())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crawldb::Totals;
    use crivello_common::config::Settings;
    use crivello_common::identity::KeyedHasher;
    use crivello_common::time::Clock;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn more_is_asked_for_once_half_of_what_is_of_use_has_been_used() {
        let totals = Totals { own_queued: 1_000, ..Totals::default() };
        let shared = Shared::new(
            &Settings::default(),
            Clock::start(),
            ("crawl", KeyedHasher::with_public_key()),
            totals,
            None,
        );
        assert!(!is_short(&shared), "short without a limit");
        shared.page_budget.wait();
        assert!(!is_short(&shared), "short although no visit is in flight and no host is ready");
        shared.status.visits.store(2, Relaxed);
        assert!(is_short(&shared), "the quota is empty");
        let half = useful(&shared) / 2;
        shared.page_budget.add(2 * half);
        assert!(!is_short(&shared));
        assert_eq!((shared.page_budget.take(half), wanted(&shared)), (half, half));
        assert!(!is_short(&shared), "short although half of the quota is left");
        shared.page_budget.take(1);
        assert!(is_short(&shared));
        shared.page_budget.take(u64::MAX);
        shared.page_budget.set_used_up(true);
        assert!(!is_short(&shared), "short although the quota is exhausted");
    }
}
