//! How far the other agents are behind: what waits for each, and since when its head has not moved.

use crate::cluster::outbox::{Line, Outbox};
use crivello_common::time::Timestamp;
use crivello_common::view::AgentId;
use std::collections::BTreeMap;
use std::time::Duration;

/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// What waits for one agent, in both classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// For whom.
    pub to: AgentId,
    /// Rows of the outbox.
    pub rows: usize,
    /// Their bytes.
    pub bytes: usize,
    /// Since when the first row of a line has been the first, at the longest.
    pub since: Timestamp,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Lag {
    looked_at: Timestamp,
    heads: BTreeMap<Line, (u64, Timestamp)>,
}

impl Lag {
    /// What waits; `None` when it was said a moment ago.
    pub fn look(&mut self, outbox: &Outbox, now: Timestamp) -> Option<Vec<Waiting>> {
        if now.since(self.looked_at) < LOOK_EVERY {
            return None;
        }
        self.looked_at = now;
        let mut heads = BTreeMap::new();
        let mut all: BTreeMap<AgentId, Waiting> = BTreeMap::new();
        for line in outbox.lines() {
            let (Some(head), (rows, bytes)) = (outbox.head(line), outbox.amount(line)) else {
                continue;
            };
            let before = self.heads.get(&line).filter(|(known, _)| *known == head);
            let since = before.map_or(now, |&(_, since)| since);
            heads.insert(line, (head, since));
            let waiting = Waiting { to: line.0, rows: 0, bytes: 0, since };
            let waiting = all.entry(line.0).or_insert(waiting);
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
    use crate::peers::Class;
    use bytes::Bytes;

    #[test]
    fn a_line_is_behind_while_its_head_stays() {
        let (mut outbox, mut lag) = (Outbox::default(), Lag::default());
        let (a, at) = (AgentId(1), Timestamp::from_secs);
        let row = || vec![Bytes::from_static(b"fact")];
        let first = outbox.push((a, Class::Main), None, row())[0];
        outbox.push((a, Class::Main), None, row());
        outbox.push((a, Class::Copies), None, row());
        let waiting = lag.look(&outbox, at(10)).unwrap();
        let [one] = waiting[..] else { panic!("{waiting:?}") };
        assert_eq!((one.to, one.rows, one.since), (a, 3, at(10)));
        assert!(one.bytes >= 12, "{one:?}");
        assert_eq!(lag.look(&outbox, at(10)), None, "not that often");
        assert_eq!(lag.look(&outbox, at(12)).unwrap()[0].since, at(10));
        outbox.remove((a, Class::Main), first);
        let copies_wait = lag.look(&outbox, at(13)).unwrap()[0];
        assert_eq!((copies_wait.rows, copies_wait.since), (2, at(10)));
        outbox.remove((a, Class::Copies), first + 2);
        assert_eq!(lag.look(&outbox, at(14)).unwrap()[0].since, at(13));
        outbox.remove((a, Class::Main), first + 1);
        assert_eq!(lag.look(&outbox, at(15)).unwrap(), []);
    }
}
