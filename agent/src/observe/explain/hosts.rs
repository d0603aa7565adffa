//! The hosts that an agent knows of, the first few by some order.

use crate::api::HostsWanted;
use crate::messages::HostSnapshot;
use crate::observe::explain::{Place, shelf};
use crate::storage::DiskError;
use crate::storage::values::HostRow;
use crate::why::{Crawl, Facts, host_story};
use crivello_common::assignment::Owners;
use crivello_common::hash::HostKey;
use crivello_common::time::Timestamp;
use crivello_common::url::host_key;
use crivello_proto::v1::{self, HostOrder};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// What was found on disk.
pub struct Found {
    pub rows: Vec<(HostKey, HostRow)>,
    truncated: bool,
}

/// Looks through at most so many rows of hosts on disk; memory is bounded by the limit wanted.
pub fn find(place: &Place, wanted: &HostsWanted, most: usize) -> Result<Found, DiskError> {
    let rank = |row: &HostRow| match wanted.order {
        HostOrder::Pages => row.pages,
        HostOrder::Failures => row.state.failures.iter().map(|(_, n)| u64::from(n)).sum(),
        HostOrder::Queued | HostOrder::Unspecified => row.queued,
    };
    let mut best = BTreeMap::new();
    let mut offer = |key: HostKey, row: HostRow| {
        best.insert((Reverse(rank(&row)), key), row);
        if best.len() > wanted.limit {
            best.pop_last();
        }
    };
    let all = shelf::hosts(&place.disk, most, |key, row| {
        if row.name.contains(&wanted.contains) {
            offer(key, row);
        }
    })?;
    // Whoever gives the whole name finds it wherever it is.
    let key = host_key(&wanted.contains, place.settings.identity.assign_by);
    if !all && let Some(row) = shelf::host(&place.disk, key)? {
        offer(key, row);
    }
    let rows = best.into_iter().map(|((_, key), row)| (key, row)).collect();
    Ok(Found { rows, truncated: !all })
}

/// Puts them into words; `bench` says how each stands in memory. Reads the tags of their groups.
pub fn tell(
    place: &Place,
    found: &Found,
    bench: &[Option<HostSnapshot>],
    owners: Option<&Owners>,
    crawl: &Crawl,
    now: Timestamp,
) -> Result<v1::HostsResponse, DiskError> {
    let mut hosts = Vec::with_capacity(found.rows.len());
    for ((key, row), bench) in found.rows.iter().zip(bench) {
        hosts.push(host_story(&Facts {
            now,
            name: &row.name,
            hold: place.hold(owners, key.group)?,
            row: Some(row),
            bench: bench.as_ref(),
            robots: &[],
            lender: None,
            crawl,
            settings: &place.settings,
            lists: &place.lists,
        }));
    }
    Ok(v1::HostsResponse { hosts, truncated: found.truncated, now: now.0 })
}
