//! Lag of the other agents: the rows that wait for each, and the time since which its head is the
//! same.

use crate::cluster::outbox::{LaneKey, Outbox};
use crivello_common::time::Timestamp;
use crivello_common::view::AgentId;
use std::collections::BTreeMap;
use std::time::Duration;

/// Minimum time between two checks.
const CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// Outbox rows that wait for one agent, in both lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Agent that has not acknowledged them.
    pub to: AgentId,
    /// Number of outbox rows.
    pub rows: usize,
    /// Bytes of these rows.
    pub bytes: usize,
    /// Time since which the first row of a lane has been the same; the earlier of both lanes.
    pub since: Timestamp,
}

/// State of the checks of all lanes.
#[derive(Debug, Default)]
pub struct Lag {
    checked_at: Timestamp,
    heads: BTreeMap<LaneKey, (u64, Timestamp)>,
}

impl Lag {
    /// Returns the rows that wait for each agent; `None` if the last check was a moment ago.
    pub fn look(&mut self, outbox: &Outbox, now: Timestamp) -> Option<Vec<Waiting>> {
        if now.since(self.checked_at) < CHECK_INTERVAL {
            return None;
        }
        self.checked_at = now;
        let mut heads = BTreeMap::new();
        let mut all: BTreeMap<AgentId, Waiting> = BTreeMap::new();
        for lane in outbox.lanes() {
            let (Some(head), (rows, bytes)) = (outbox.head(lane), outbox.amount(lane)) else {
                continue;
            };
            let before = self.heads.get(&lane).filter(|(known, _)| *known == head);
            let since = before.map_or(now, |&(_, since)| since);
            heads.insert(lane, (head, since));
            let waiting = Waiting { to: lane.0, rows: 0, bytes: 0, since };
            let waiting = all.entry(lane.0).or_insert(waiting);
            waiting.rows += rows;
            waiting.bytes += bytes;
            waiting.since = waiting.since.min(since);
        }
        self.heads = heads;
        Some(all.into_values().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::Lane;
    use bytes::Bytes;

    #[test]
    fn a_line_is_behind_while_its_head_stays() {
        let (mut outbox, mut lag) = (Outbox::default(), Lag::default());
        let (a, at) = (AgentId(1), Timestamp::from_secs);
        let row = || vec![Bytes::from_static(b"fact")];
        let first = outbox.push((a, Lane::Main), None, row())[0];
        outbox.push((a, Lane::Main), None, row());
        outbox.push((a, Lane::Replicas), None, row());
        let waiting = lag.look(&outbox, at(10)).unwrap();
        let [one] = waiting[..] else { panic!("{waiting:?}") };
        assert_eq!((one.to, one.rows, one.since), (a, 3, at(10)));
        assert!(one.bytes >= 12, "{one:?}");
        assert_eq!(lag.look(&outbox, at(10)), None, "within the interval between two reports");
        assert_eq!(lag.look(&outbox, at(12)).unwrap()[0].since, at(10));
        outbox.remove((a, Lane::Main), first);
        let copies_wait = lag.look(&outbox, at(13)).unwrap()[0];
        assert_eq!((copies_wait.rows, copies_wait.since), (2, at(10)));
        outbox.remove((a, Lane::Replicas), first + 2);
        assert_eq!(lag.look(&outbox, at(14)).unwrap()[0].since, at(13));
        outbox.remove((a, Lane::Main), first + 1);
        assert_eq!(lag.look(&outbox, at(15)).unwrap(), []);
    }
}
