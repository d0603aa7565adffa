//! The hosts that an agent knows of, in a given order.

use super::disk_view;
use super::sources::Sources;
use crate::api::HostsQuery;
use crate::explain::{CrawlFacts, Facts, host_status};
use crate::messages::HostSnapshot;
use crate::storage::DiskError;
use crate::storage::values::HostRow;
use crivello_common::assignment::Owners;
use crivello_common::hash::HostKey;
use crivello_common::time::Timestamp;
use crivello_proto::v1::{self, HostOrder};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Hosts found on disk.
pub struct FoundHosts {
    pub rows: Vec<(HostKey, HostRow)>,
    truncated: bool,
}

/// Finds hosts in at most `rows_max` rows on disk. Memory is bounded by the limit of the query.
pub fn find(
    sources: &Sources,
    query: &HostsQuery,
    rows_max: usize,
) -> Result<FoundHosts, DiskError> {
    let rank = |row: &HostRow| match query.order {
        HostOrder::Pages => row.pages,
        HostOrder::Failures => row.state.failures.iter().map(|(_, n)| u64::from(n)).sum(),
        HostOrder::Queued | HostOrder::Unspecified => row.queued,
    };
    let mut best = BTreeMap::new();
    let mut add = |key: HostKey, row: HostRow| {
        best.insert((Reverse(rank(&row)), key), row);
        if best.len() > query.limit {
            best.pop_last();
        }
    };
    let all = disk_view::hosts(&sources.disk, rows_max, |key, row| {
        if row.name.contains(&query.contains) {
            add(key, row);
        }
    })?;
    // The host with exactly this name is found even beyond `rows_max`.
    let key = sources.hasher.host_key(&query.contains);
    if !all && let Some(row) = disk_view::host(&sources.disk, key)? {
        add(key, row);
    }
    let rows = best.into_iter().map(|((_, key), row)| (key, row)).collect();
    Ok(FoundHosts { rows, truncated: !all })
}

/// Returns the status of the hosts; `workbench` has their state in memory. Reads the state of their
/// groups.
pub fn statuses(
    sources: &Sources,
    found: &FoundHosts,
    workbench: &[Option<HostSnapshot>],
    owners: Option<&Owners>,
    crawl: &CrawlFacts,
    now: Timestamp,
) -> Result<v1::HostsResponse, DiskError> {
    let mut hosts = Vec::with_capacity(found.rows.len());
    for ((key, row), workbench) in found.rows.iter().zip(workbench) {
        hosts.push(host_status(&Facts {
            now,
            name: &row.name,
            holding: sources.holding(owners, key.group)?,
            row: Some(row),
            workbench: workbench.as_ref(),
            robots: &[],
            lessor: None,
            crawl,
            settings: &sources.settings,
            lists: &sources.lists,
        }));
    }
    Ok(v1::HostsResponse { hosts, truncated: found.truncated, now: now.0 })
}
