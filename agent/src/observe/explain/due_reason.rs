//! Reason for which a page is due when it is.

use crate::crawldb::{OwnInterval, own_interval};
use crate::messages::{Queued, Revisit};
use crivello_common::config::{self, RecrawlPolicy};
use crivello_common::time::Timestamp;
use crivello_proto::v1::DueReason;

/// Returns the reason for the due time of a URL; `Unspecified` if it is not fetched again.
pub fn due_reason(settings: &config::Recrawl, row: &Queued, revisit: &Revisit) -> DueReason {
    if revisit.due == Timestamp::ZERO || settings.policy == RecrawlPolicy::None {
        return DueReason::Unspecified;
    }
    let has_failed = revisit.history.is_some_and(|history| history.failures() > 0);
    match revisit.moved_in {
        Revisit::REQUESTED => DueReason::Requested,
        Revisit::SIGNALED => DueReason::Reported,
        _ if has_failed => DueReason::Failures,
        _ => match own_interval(settings, row, revisit.is_list) {
            Some((OwnInterval::Lists, _)) => DueReason::SitemapsInterval,
            Some((OwnInterval::Seeds, _)) => DueReason::SeedsInterval,
            None if settings.policy == RecrawlPolicy::Adaptive => DueReason::ChangeRate,
            None => DueReason::Interval,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::{Finder, LinkKind, QueueKey};
    use crivello_common::config::Settings;
    use crivello_common::hash::UrlHash;
    use crivello_common::url::{Origin, Scheme};
    use crivello_recrawl::page::PageHistory;

    const DUE: Timestamp = Timestamp::from_secs(1_000_000);

    fn settings(policy: RecrawlPolicy, sets: &[&str]) -> config::Recrawl {
        let mut settings = Settings::default();
        sets.iter().for_each(|set| settings.apply_set(set).unwrap());
        config::Recrawl { policy, ..settings.live.recrawl }
    }

    fn row(depth: u16) -> Queued {
        Queued {
            queue_key: QueueKey::default(),
            hash: UrlHash(1),
            origin: Origin { scheme: Scheme::Http, port: 80 },
            path: "/x".into(),
            depth,
            redirects: 0,
            attempts: 0,
            kind: LinkKind::Page,
            finder: Finder::SEED,
            revisit: None,
        }
    }

    #[test]
    fn a_feed_that_is_a_seed_has_the_shorter_interval() {
        let both = ["recrawl.seeds-interval=1h", "recrawl.sitemaps-interval=2d"];
        let seeds = ["recrawl.seeds-interval=1h", "recrawl.sitemaps-interval=0s"];
        for (sets, depth, moved_in, failures, reason) in [
            (&both, 0, 0, false, DueReason::SeedsInterval),
            (&seeds, 0, 0, false, DueReason::SeedsInterval),
            (&both, 1, 0, false, DueReason::SitemapsInterval),
            (&seeds, 1, 0, false, DueReason::Interval),
            (&both, 0, Revisit::REQUESTED, true, DueReason::Requested),
            (&both, 0, Revisit::SIGNALED, false, DueReason::Reported),
            (&both, 0, 7, true, DueReason::Failures),
        ] {
            let row = row(depth);
            let mut revisit = Revisit { is_list: true, moved_in, due: DUE, ..Revisit::default() };
            if failures {
                let mut history = PageHistory::from_bytes(&[0; PageHistory::LEN]);
                history.record_failure(1.0, false);
                revisit.history = Some(history);
            }
            assert_eq!(due_reason(&settings(RecrawlPolicy::Fixed, sets), &row, &revisit), reason);
            let none = due_reason(&settings(RecrawlPolicy::None, sets), &row, &revisit);
            assert_eq!(none, DueReason::Unspecified, "no policy");
        }
        let adaptive = settings(RecrawlPolicy::Adaptive, &[]);
        let revisit = Revisit { due: DUE, ..Revisit::default() };
        assert_eq!(due_reason(&adaptive, &row(1), &revisit), DueReason::ChangeRate);
        let never = due_reason(&adaptive, &row(1), &Revisit::default());
        assert_eq!(never, DueReason::Unspecified);
    }
}
