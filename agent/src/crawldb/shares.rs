//! Shares of the limits per host and domain, by class of finder. Pure.
//!
//! A seed is never refused. All classes of finders in other domains together have one half of a
//! limit, each of them an eighth; the domain itself has the rest. So what others find never takes
//! what a domain finds on its own pages, and what one class finds never takes the room of another
//! before four classes have filled their parts.

use crate::messages::Finder;
use crate::storage::group_row::{GroupRow, ShareUsage};
use crate::storage::values::HostRow;
use crivello_common::config::Limits;
use crivello_common::discard::Discard;

/// Part of a limit that one class of finders in other domains may take: one in this many.
const PARTS: u64 = 8;

/// A limit, and the part of it for one class of finders in other domains.
#[derive(Clone, Copy, Debug)]
struct Share {
    max: u64,
    part: u64,
}

impl Share {
    const fn of(max: u64) -> Self {
        Self { max, part: max.div_ceil(PARTS) }
    }

    /// Returns true if `finder` may add something, given what each class has.
    fn has_room(
        self,
        finder: Finder,
        amounts: impl Iterator<Item = (Finder, u64)> + Clone,
    ) -> bool {
        self.is_far_from_full(amounts.clone()) || self.has_share(finder, amounts)
    }

    /// Returns true if all classes together have less than one of them may take: the usual case, in
    /// which there is room for each.
    fn is_far_from_full(self, amounts: impl Iterator<Item = (Finder, u64)>) -> bool {
        amounts.map(|(_, amount)| amount).sum::<u64>() < self.part
    }

    fn has_share(self, finder: Finder, amounts: impl Iterator<Item = (Finder, u64)>) -> bool {
        let half = self.max.div_ceil(2);
        let (mut own, mut others, mut same) = (0, 0, 0);
        for (class, amount) in amounts {
            if class.is_own() {
                own += amount;
            } else {
                others += amount.min(self.part);
            }
            if class == finder {
                same = amount;
            }
        }
        let has_room = own + others.min(half) < self.max;
        has_room && (finder.is_own() || (others < half && same < self.part))
    }
}

/// Returns the reason to refuse a new URL found by `finder`, given the rows of its host, if it has
/// one, and of its group.
#[must_use]
pub fn refuse(
    limits: &Limits,
    host: Option<&HostRow>,
    group: &GroupRow,
    finder: Finder,
) -> Option<Discard> {
    let counts = host.is_some_and(|host| host.counts_as().is_some());
    let refused = if counts { None } else { refuse_host(limits, group, finder) };
    refused.or_else(|| refuse_url(limits, host, group, finder))
}

/// Returns the reason to refuse a host that does not count yet, found by `finder`, given the row of
/// its group.
fn refuse_host(limits: &Limits, group: &GroupRow, finder: Finder) -> Option<Discard> {
    let is_full = |max: Option<u64>, amount: fn(ShareUsage) -> u64| {
        let amounts = group.classes().map(|(class, usage)| (class, amount(usage)));
        max.is_some_and(|max| !Share::of(max).has_room(finder, amounts))
    };
    if finder == Finder::SEED {
        return None;
    }
    if is_full(limits.hosts_per_domain_max, |usage| usage.hosts + usage.unresolved) {
        return Some(Discard::TooManyHosts);
    }
    is_full(limits.unresolved_hosts_per_domain_max, |usage| usage.unresolved)
        .then_some(Discard::TooManyUnresolvedHosts)
}

/// Returns the reason to refuse a URL found by `finder`, given the rows of its host, if it has one,
/// and of its group.
fn refuse_url(
    limits: &Limits,
    host: Option<&HostRow>,
    group: &GroupRow,
    finder: Finder,
) -> Option<Discard> {
    if finder == Finder::SEED {
        return None;
    }
    let (urls_max, bytes_max) = (limits.queued_urls_per_host_max, limits.queued_bytes_per_host_max);
    let is_full = |n: u64, max: u64| n >= if finder.is_own() { max } else { max.div_ceil(2) };
    if let Some(host) = host
        && (urls_max.is_some_and(|max| is_full(host.queued, max))
            || is_full(host.queued_bytes, bytes_max.0))
    {
        return Some(Discard::HostQueueFull);
    }
    let is_full = |max: u64, host_max: u64, amount: fn(ShareUsage) -> u64| {
        let share = Share { max, part: max.min(host_max).div_ceil(PARTS) };
        let amounts = group.classes().map(|(class, usage)| (class, amount(usage)));
        !share.has_room(finder, amounts)
    };
    let too_many = limits
        .queued_urls_per_domain_max
        .is_some_and(|max| is_full(max, urls_max.unwrap_or(max), |usage| usage.urls));
    let too_long = is_full(limits.queued_bytes_per_domain_max.0, bytes_max.0, |usage| usage.bytes);
    (too_many || too_long).then_some(Discard::DomainQueueFull)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_common::units::ByteSize;
    use proptest::prelude::*;

    fn finder(code: u8) -> Finder {
        Finder::from_code(code).unwrap()
    }

    fn limits(max: u64) -> Limits {
        Limits {
            hosts_per_domain_max: Some(max),
            unresolved_hosts_per_domain_max: None,
            queued_urls_per_host_max: None,
            queued_urls_per_domain_max: Some(max),
            queued_bytes_per_domain_max: ByteSize(u64::MAX),
            queued_bytes_per_host_max: ByteSize(u64::MAX),
            ..Limits::default()
        }
    }

    /// Adds hosts in this order of finders, as far as they are admitted.
    fn admit(row: &mut GroupRow, limits: &Limits, finders: impl Iterator<Item = Finder>) -> u64 {
        let mut admitted = 0;
        for finder in finders {
            if refuse_host(limits, row, finder).is_none() {
                row.change(finder, |usage| usage.count_host(true, true));
                admitted += 1;
            }
        }
        admitted
    }

    proptest! {
        /// The short cut for domains with few hosts or URLs changes nothing.
        #[test]
        fn a_domain_that_is_far_from_full_has_room(
            amounts in prop::collection::vec((0u8..16, 0u64..9), 0..8),
            new in 0u8..16,
            max in 1u64..200,
        ) {
            let share = Share::of(max);
            let amounts = amounts.into_iter().map(|(code, amount)| (finder(code), amount));
            if share.is_far_from_full(amounts.clone()) {
                prop_assert!(share.has_share(finder(new), amounts));
            }
        }

        /// Half of the limit is left for the domain itself.
        #[test]
        fn others_never_take_the_half_of_the_domain_itself(
            others in prop::collection::vec(2u8..16, 0..400),
            max in 1u64..100,
        ) {
            let (mut row, limits) = (GroupRow::default(), limits(max));
            let taken = admit(&mut row, &limits, others.into_iter().map(finder));
            prop_assert!(taken <= max.div_ceil(2));
            let own = admit(&mut row, &limits, std::iter::repeat_n(Finder::OWN, 200));
            prop_assert_eq!(own, max - taken);
            prop_assert_eq!(admit(&mut row, &limits, std::iter::once(Finder::SEED)), 1);
        }

        /// Each class keeps its share.
        #[test]
        fn one_class_never_takes_the_room_of_another(
            flooder in 3u8..16,
            other in 3u8..16,
            max in 9u64..100,
        ) {
            prop_assume!(flooder != other);
            let (mut row, limits) = (GroupRow::default(), limits(max));
            admit(&mut row, &limits, std::iter::repeat_n(finder(flooder), 200));
            let part = max.div_ceil(8);
            prop_assert_eq!(row.hosts(), part);
            let more = admit(&mut row, &limits, std::iter::repeat_n(finder(other), 200));
            prop_assert_eq!(more, part);
        }
    }

    #[test]
    fn hosts_that_were_not_admitted_by_a_share_take_nothing_of_the_domain_itself() {
        let (mut row, limits) = (GroupRow::default(), limits(16));
        // Robots redirects bring hosts that are counted and never refused.
        row.change(Finder::ROBOTS, |usage| usage.hosts = 1_000);
        assert_eq!(admit(&mut row, &limits, std::iter::repeat_n(Finder::OWN, 99)), 14);
    }

    #[test]
    fn a_queue_is_full_by_urls_or_bytes_of_the_host_or_the_domain() {
        let by_host = Limits { queued_urls_per_host_max: Some(4), ..Limits::default() };
        let long = Limits { queued_bytes_per_host_max: ByteSize(100), ..Limits::default() };
        let by_domain = Limits { queued_urls_per_domain_max: Some(16), ..Limits::default() };
        let domain_long = Limits { queued_bytes_per_domain_max: ByteSize(80), ..Limits::default() };
        let (own, other) = (Finder::OWN, finder(7));
        let full = Some(Discard::HostQueueFull);
        let group_full = Some(Discard::DomainQueueFull);
        for (limits, finder, queued, bytes, expected) in [
            (&by_host, own, 3, 0, None),
            (&by_host, own, 4, 0, full),
            (&by_host, other, 1, 0, None),
            (&by_host, other, 2, 0, full),
            (&by_host, Finder::SEED, 4, 0, None),
            (&long, own, 0, 99, None),
            (&long, own, 0, 100, full),
            (&long, other, 0, 50, full),
            (&by_domain, own, 15, 0, None),
            (&by_domain, own, 16, 0, group_full),
            (&domain_long, own, 1, 79, None),
            (&domain_long, own, 1, 80, group_full),
        ] {
            let host = HostRow { queued, queued_bytes: bytes, ..HostRow::default() };
            let mut group = GroupRow::default();
            group.change(Finder::OWN, |usage| (usage.urls, usage.bytes) = (queued, bytes));
            let refused = refuse_url(limits, Some(&host), &group, finder);
            assert_eq!(refused, expected, "{finder:?} with {queued} URLs of {bytes} bytes");
        }
        let mut group = GroupRow::default();
        group.change(other, |usage| usage.urls = 2);
        assert_eq!(refuse_url(&by_domain, None, &group, other), group_full, "an eighth");
        assert_eq!(refuse_url(&by_domain, None, &group, finder(8)), None);
    }
}
