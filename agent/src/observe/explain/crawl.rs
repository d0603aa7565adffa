//! The state of the crawl as a whole.

use crate::explain::{CrawlFacts, PageLimitState};
use crate::shared::Shared;
use std::sync::atomic::Ordering::Relaxed;

/// Returns the facts about a running crawl.
pub fn crawl_facts(shared: &Shared) -> CrawlFacts {
    let census = *shared.status.census.lock();
    CrawlFacts {
        is_running: true,
        is_stopping: shared.lifecycle.is_stopping(),
        is_paused: shared.status.paused.load(Relaxed),
        page_limit: match shared.page_budget.any() {
            true => PageLimitState::Open,
            false if shared.page_budget.is_used_up() => PageLimitState::Reached,
            false => PageLimitState::QuotaUsed,
        },
        fence_is_open: shared.fetch_deadline.is_open(shared.clock.now()),
        disk_is_full: shared.status.disk_full.load(Relaxed),
        is_offline: shared.status.offline.load(Relaxed),
        visits_from: shared.lifecycle.visits_from,
        pipeline_is_full: !shared.pipeline.has_room(),
        visits: shared.status.visits.load(Relaxed) as u64,
        visits_max: shared.settings.fetch.visits_max.into(),
        hosts_in_memory: census.hosts as u64,
    }
}
