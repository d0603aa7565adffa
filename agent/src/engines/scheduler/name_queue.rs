//! Queue of names to resolve: registrable domains take turns, and each has a bounded number of
//! look-ups at once and per second. Pure: `now` is an argument.
//!
//! A domain has two queues: one for names that had an address before, one for all others. So names
//! that strangers invent delay neither the look-ups of other domains nor those of the hosts that
//! exist, and the name servers of a domain are never flooded.

use crate::messages::NameRequest;
use crivello_common::config::AssignBy;
use crivello_common::hash::HostKey;
use crivello_common::time::Timestamp;
use crivello_common::url::group_name;
use foldhash::HashMap;
use smallvec::SmallVec;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// A registrable domain, and true for its names that had an address before.
type DomainQueueKey = (Arc<str>, bool);

/// Names of a domain that wait, and the bounds of their look-ups.
#[derive(Debug, Default)]
struct DomainQueue {
    names: VecDeque<NameRequest>,
    in_flight: u32,
    /// Time of the next look-up at the permitted rate; at most a second in the past counts.
    slot: Timestamp,
    /// True while it is in `ready` or in `waiting`.
    is_placed: bool,
}

/// Names that wait for their look-up.
#[derive(Debug)]
pub struct NameQueue {
    /// Maximum number of look-ups of a domain queue, at once and per second.
    max: u32,
    queues: HashMap<DomainQueueKey, DomainQueue>,
    /// Queues that may begin a look-up, in turns.
    ready: VecDeque<DomainQueueKey>,
    /// Other queues with names, or with a rate to remember, by the time of their next look-up.
    waiting: BTreeSet<(Timestamp, DomainQueueKey)>,
    /// Queues of the look-ups of each host that have begun and not ended. There may be several, if
    /// the host has left and come back meanwhile.
    in_flight: HashMap<HostKey, SmallVec<[DomainQueueKey; 1]>>,
    n_in_flight: usize,
    len: usize,
}

impl NameQueue {
    /// Creates an empty queue with at most `max` look-ups of a domain queue, at once and per second.
    #[must_use]
    pub fn new(max: u32) -> Self {
        Self {
            max: max.max(1),
            queues: HashMap::default(),
            ready: VecDeque::new(),
            waiting: BTreeSet::new(),
            in_flight: HashMap::default(),
            n_in_flight: 0,
            len: 0,
        }
    }

    /// Returns the number of names that wait.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns the number of look-ups that have begun and not ended.
    pub const fn in_flight(&self) -> usize {
        self.n_in_flight
    }

    /// Adds a name.
    pub fn push(&mut self, name: NameRequest) {
        let domain = group_name(&name.name, AssignBy::Domain).into();
        let key = (domain, name.resolved);
        self.len += 1;
        self.queues.entry(key.clone()).or_default().names.push_back(name);
        self.place(key);
    }

    /// Removes and returns the next name whose look-up may begin at `now`. It ends with
    /// [`Self::done`].
    pub fn pop(&mut self, now: Timestamp) -> Option<NameRequest> {
        self.collect_due(now);
        let key = self.ready.pop_front()?;
        let queue = self.queues.get_mut(&key)?;
        queue.is_placed = false;
        let name = queue.names.pop_front()?;
        self.len -= 1;
        queue.in_flight += 1;
        queue.slot = queue.slot.max(now - SECOND) + SECOND / self.max;
        self.in_flight.entry(name.host).or_default().push(key.clone());
        self.n_in_flight += 1;
        self.place(key);
        Some(name)
    }

    /// Ends the look-up of a host's name.
    pub fn done(&mut self, host: HostKey) {
        let Some(queues) = self.in_flight.get_mut(&host) else { return };
        let key = queues.remove(0);
        if queues.is_empty() {
            self.in_flight.remove(&host);
        }
        self.n_in_flight -= 1;
        if let Some(queue) = self.queues.get_mut(&key) {
            queue.in_flight -= 1;
        }
        self.place(key);
    }

    /// Puts a queue where it belongs: it waits for its next slot, or for the end of a look-up.
    fn place(&mut self, key: DomainQueueKey) {
        let Some(queue) = self.queues.get_mut(&key) else { return };
        let is_blocked =
            queue.in_flight >= self.max || (queue.names.is_empty() && queue.in_flight > 0);
        if queue.is_placed || is_blocked {
            return;
        }
        queue.is_placed = true;
        self.waiting.insert((queue.slot, key));
    }

    /// Moves the queues whose time has come to those that take turns, and forgets those without
    /// names.
    fn collect_due(&mut self, now: Timestamp) {
        while self.waiting.first().is_some_and(|(at, _)| *at <= now) {
            let Some((_, key)) = self.waiting.pop_first() else { return };
            let Some(queue) = self.queues.get_mut(&key) else { continue };
            if !queue.names.is_empty() {
                self.ready.push_back(key);
            } else if queue.in_flight > 0 {
                queue.is_placed = false;
            } else {
                self.queues.remove(&key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_common::identity::KeyedHasher;
    use proptest::prelude::*;

    const START: Timestamp = Timestamp::from_secs(1_000);

    fn name(name: &str, resolved: bool) -> NameRequest {
        let host = KeyedHasher::with_public_key().host_key(name);
        NameRequest { host, name: name.into(), resolved }
    }

    fn flood(queue: &mut NameQueue, n: u32) {
        (0..n).for_each(|i| queue.push(name(&format!("n{i}.victim.test"), false)));
    }

    #[test]
    fn a_domain_has_a_burst_and_then_its_rate() {
        let mut queue = NameQueue::new(10);
        flood(&mut queue, 100);
        let mut begun = Vec::new();
        let mut now = START;
        while queue.len() > 0 {
            while let Some(name) = queue.pop(now) {
                begun.push(now);
                queue.done(name.host);
            }
            now = now + Duration::from_millis(1);
        }
        assert_eq!(begun.len(), 100);
        for window in begun.windows(21) {
            assert!(window[20].since(window[0]) >= SECOND, "more than twice the rate in a second");
        }
        let took = begun[99].since(START);
        assert!((8..=10).contains(&took.as_secs()), "{took:?}");
    }

    #[test]
    fn a_domain_has_no_more_look_ups_at_once() {
        let mut queue = NameQueue::new(3);
        flood(&mut queue, 10);
        let all: Vec<_> = std::iter::from_fn(|| queue.pop(START)).collect();
        assert_eq!(all.len(), 3);
        let later = START + Duration::from_secs(60);
        assert_eq!(queue.pop(later), None, "none has ended");
        queue.done(all[1].host);
        assert!(queue.pop(later).is_some());
        assert_eq!(queue.pop(later), None);
    }

    #[test]
    fn a_flood_delays_neither_other_domains_nor_names_that_exist() {
        let mut queue = NameQueue::new(2);
        flood(&mut queue, 1_000);
        queue.push(name("www.victim.test", true));
        queue.push(name("www.other.test", false));
        let first: Vec<_> =
            std::iter::from_fn(|| queue.pop(START)).map(|asked| asked.name.to_string()).collect();
        assert_eq!(first.len(), 4, "{first:?}");
        assert!(first.contains(&"www.victim.test".to_owned()), "{first:?}");
        assert!(first.contains(&"www.other.test".to_owned()), "{first:?}");
    }

    proptest! {
        /// A host may ask more than once, and have an address by then.
        #[test]
        fn every_name_gets_its_turn_and_nothing_is_kept(
            names in prop::collection::vec((0u8..5, 0u8..20, any::<bool>()), 0..80),
            max in 1u32..5,
        ) {
            let mut queue = NameQueue::new(max);
            let mut asked: Vec<_> = names.iter().map(|(d, n, r)| (format!("n{n}.d{d}.test"), *r)).collect();
            asked.sort();
            for (text, resolved) in &asked {
                queue.push(name(text, *resolved));
            }
            let (mut now, mut answered, mut open) = (START, 0, VecDeque::new());
            for _ in 0..10_000 {
                while let Some(name) = queue.pop(now) {
                    open.push_back(name.host);
                }
                if let Some(host) = open.pop_front() {
                    queue.done(host);
                    answered += 1;
                }
                now = now + Duration::from_millis(100);
            }
            prop_assert_eq!(answered, asked.len());
            prop_assert_eq!(queue.len() + queue.in_flight() + queue.queues.len() + queue.waiting.len(), 0);
        }
    }
}
