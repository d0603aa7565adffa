//! This agent's portion of the page limit: asked for when it runs short, given back when others want
//! it and it cannot be used here just now.

use crate::limits::NO_DELAY_VISIT_URLS;
use crate::shared::Shared;
use crivello_proto::v1;
use std::sync::atomic::Ordering::Acquire;
use std::time::Duration;

/// Between two looks whether pages run short.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Pages that are of use before any visit is out.
const FIRST: u64 = 16;
/// Of each visit that is out: those that it may bring before the next heartbeat is answered, twice.
/// So half of it lasts until then.
const A_VISIT: u64 = 2 * NO_DELAY_VISIT_URLS as u64;

/// See the module. Counts are of all runs.
#[derive(Debug)]
pub struct PageQuotaClient {
    /// Pages that may be fetched, those that were included.
    allowed: u64,
    is_scarce: bool,
    /// Pages that had been fetched when the coordinator was last reported.
    reported: u64,
    /// The limit that it is a portion of.
    limit: Option<u64>,
}

impl PageQuotaClient {
    /// Whatever an earlier process was allowed and has not fetched is not this one's.
    pub fn new(shared: &Shared) -> Self {
        let limit = shared.live.latest().live.limits.pages_max;
        let fetched = shared.status.totals.lock().0.pages;
        Self { allowed: fetched, is_scarce: false, reported: fetched, limit }
    }

    /// Returns once more should be asked for: a moment later at the soonest.
    pub async fn runs_short(shared: &Shared) {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            if is_short(shared) {
                return;
            }
        }
    }

    /// The report to the coordinator; `None` in a crawl without a limit. An agent that is `leaving`
    /// fetches nothing more if that takes a page of the limit.
    pub fn report(&mut self, shared: &Shared, leaving: bool) -> Option<v1::QuotaReport> {
        // First: what is taken for a visit after this is in it, and in nothing that follows.
        let Some(left) = shared.page_budget.get() else {
            self.limit = None;
            return None;
        };
        let left = self.keep_up(shared, left);
        // Pages in flight when the limit came are nobody's portion: they are no credit either.
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
            // What was fetched and does not count as a page is free.
            let fetched = shared.status.totals.lock().0.pages;
            self.allowed = self.allowed.min(fetched + left);
        }
        let fetched = shared.status.totals.lock().0.pages;
        let wants = if leaving { 0 } else { wanted(shared) };
        let number = shared.clock.now().0;
        self.reported = fetched;
        Some(v1::QuotaReport { allowed: self.allowed, fetched, wanted: wants, number })
    }

    /// By another limit, whatever is left is to be dealt out anew; says how much there is then.
    fn keep_up(&mut self, shared: &Shared, left: u64) -> u64 {
        let limit = shared.live.latest().live.limits.pages_max;
        if limit == self.limit {
            return left;
        }
        match self.limit {
            Some(_) => {
                let back = shared.page_budget.take(u64::MAX);
                self.allowed = self.allowed.saturating_sub(back);
            }
            // Nothing was counted: what was fetched is all that it was allowed.
            None => self.allowed = shared.status.totals.lock().0.pages,
        }
        self.limit = limit;
        0
    }

    /// What it says.
    pub fn on_grant(&mut self, allowance: v1::QuotaGrant, shared: &Shared) {
        let v1::QuotaGrant { allowed, is_scarce, is_used_up, remaining: left } = allowance;
        self.is_scarce = is_scarce;
        shared.page_budget.set_cluster_left(left, self.reported);
        shared.page_budget.add(allowed.saturating_sub(self.allowed));
        self.allowed = self.allowed.max(allowed);
        shared.page_budget.set_used_up(is_used_up);
    }
}

/// Pages that could be fetched before long: none where all hosts rest.
fn useful(shared: &Shared) -> u64 {
    let visits = shared.status.visits.load(Acquire) as u64;
    let ready = shared.status.census.lock().ips_ready > 0 || visits > 0;
    let queued = shared.status.totals.lock().0.own_queued;
    if ready { queued.min(FIRST + A_VISIT * visits) } else { 0 }
}

/// Whether more than half of what is of use has been used. To ask whenever it is less than all would
/// cost the coordinator a write of its state each time.
fn is_short(shared: &Shared) -> bool {
    left(shared).is_some_and(|left| left < useful(shared).div_ceil(2))
}

fn wanted(shared: &Shared) -> u64 {
    left(shared).map_or(0, |left| useful(shared).saturating_sub(left))
}

/// What is left of it; `None` where no more can be had, or there is no limit.
fn left(shared: &Shared) -> Option<u64> {
    shared.page_budget.get().filter(|_| !shared.page_budget.is_used_up())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crawldb::Totals;
    use crivello_common::config::Settings;
    use crivello_common::time::Clock;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn more_is_asked_for_once_half_of_what_is_of_use_has_been_used() {
        let totals = Totals { own_queued: 1_000, ..Totals::default() };
        let shared = Shared::new(&Settings::default(), Clock::start(), "crawl", totals, None);
        assert!(!is_short(&shared), "there is no limit");
        shared.page_budget.wait();
        assert!(!is_short(&shared), "nothing is of use: no visit is out, no host ready");
        shared.status.visits.store(2, Relaxed);
        assert!(is_short(&shared), "there is none");
        let half = useful(&shared) / 2;
        shared.page_budget.add(2 * half);
        assert!(!is_short(&shared));
        assert_eq!((shared.page_budget.take(half), wanted(&shared)), (half, half));
        assert!(!is_short(&shared), "half of it is left");
        shared.page_budget.take(1);
        assert!(is_short(&shared));
        shared.page_budget.take(u64::MAX);
        shared.page_budget.set_used_up(true);
        assert!(!is_short(&shared), "no more will come");
    }
}
