//! Rankings of hosts for the report, from one scan of all host rows.

use crate::report::{HOSTS_LISTED_MAX, RestingHost, SlowHost};
use crate::storage::values::HostRow;
use crate::storage::{Database, DiskError, Family, keys};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

/// Bounded set of the largest elements.
struct Largest<T>(BinaryHeap<Reverse<(u64, T)>>);

impl<T: Ord> Largest<T> {
    fn offer(&mut self, rank: u64, make: impl FnOnce() -> T) {
        let full = self.0.len() == HOSTS_LISTED_MAX;
        if rank == 0 || full && self.0.peek().is_some_and(|Reverse((least, _))| rank <= *least) {
            return;
        }
        self.0.push(Reverse((rank, make())));
        if full {
            self.0.pop();
        }
    }

    fn descending(self) -> impl Iterator<Item = (u64, T)> {
        self.0.into_sorted_vec().into_iter().map(|Reverse(pair)| pair)
    }
}

/// Returns the slowest hosts and those that rested longest. Rows that cannot be read are left out,
/// with a warning in the log: the report does not fail because of them.
pub fn extremes(disk: &Database) -> (Vec<SlowHost>, Vec<RestingHost>) {
    let mut slowest = Largest(BinaryHeap::new());
    let mut resting = Largest(BinaryHeap::new());
    let walked = disk.walk(Family::Hosts, &[], &[0xff; keys::PAIR + 1], |key, value| {
        let Some(host) = keys::read_host(key).filter(|key| key.host.0 != 0) else {
            return Ok::<_, DiskError>(true);
        };
        let row = HostRow::decode(value)?;
        let state = &row.state;
        if let Some(mean_us) = state.served_us.checked_div(state.requests) {
            slowest.offer(mean_us, || (host, row.name.to_string(), state.requests));
        }
        resting.offer(state.rested_us, || {
            (host, row.name.to_string(), u64::from(state.rests), state.rest_rule.name())
        });
        Ok(true)
    });
    if let Err(error) = walked {
        tracing::warn!(%error, "cannot read all hosts; the report omits some");
    }
    let seconds = |us| Duration::from_micros(us).as_secs_f64();
    let slow = |(us, (_, host, requests))| SlowHost { host, requests, mean_seconds: seconds(us) };
    let rest = |(us, (_, host, times, reason)): (u64, (_, String, u64, &str))| RestingHost {
        host,
        rested_seconds: seconds(us),
        times,
        reason: reason.to_owned(),
    };
    (slowest.descending().map(slow).collect(), resting.descending().map(rest).collect())
}
