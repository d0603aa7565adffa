//! Rankings of hosts for the report, from one scan of all host rows.

use super::explain::disk_view;
use crate::report::{HOSTS_LISTED_MAX, RestingHost, SlowHost};
use crate::storage::Database;
use crate::storage::values::HostRow;
use crivello_common::hash::HostKey;
use std::collections::BTreeMap;
use std::time::Duration;

/// The hosts with the highest ranks, by rank.
#[derive(Default)]
struct Largest(BTreeMap<(u64, HostKey), HostRow>);

impl Largest {
    fn offer(&mut self, rank: u64, host: HostKey, row: &HostRow) {
        let full = self.0.len() == HOSTS_LISTED_MAX;
        let least = self.0.first_key_value().map_or(0, |((least, _), _)| *least);
        if rank == 0 || full && rank <= least {
            return;
        }
        self.0.insert((rank, host), row.clone());
        if full {
            self.0.pop_first();
        }
    }

    /// Returns the hosts and their ranks, taken as microseconds, highest first.
    fn descending(self) -> impl Iterator<Item = (f64, HostRow)> {
        let hosts = self.0.into_iter().rev();
        hosts.map(|((us, _), row)| (Duration::from_micros(us).as_secs_f64(), row))
    }
}

/// Returns the slowest hosts and those that rested longest. Rows that cannot be read are left out,
/// with a warning in the log: the report does not fail because of them.
pub fn read(disk: &Database) -> (Vec<SlowHost>, Vec<RestingHost>) {
    let (mut slowest, mut resting) = (Largest::default(), Largest::default());
    let walked = disk_view::hosts(disk, usize::MAX, |host, row| {
        if let Some(mean_us) = row.state.served_us.checked_div(row.state.requests) {
            slowest.offer(mean_us, host, &row);
        }
        resting.offer(row.state.rested_us, host, &row);
    });
    if let Err(error) = walked {
        tracing::warn!(%error, "cannot read all hosts; the report omits some");
    }
    let slow = |(mean_seconds, HostRow { name, state, .. })| SlowHost {
        host: name.to_string(),
        requests: state.requests,
        mean_seconds,
    };
    let rest = |(rested_seconds, HostRow { name, state, .. })| RestingHost {
        host: name.to_string(),
        rested_seconds,
        times: state.rests.into(),
        reason: state.rest_rule.name().to_owned(),
    };
    (slowest.descending().map(slow).collect(), resting.descending().map(rest).collect())
}
