//! Hosts and URLs on disk. Read only. Callers may have to wait for the disk.

use crate::limits::AHEAD_MAX;
use crate::messages::{QueueKey, QueueKind, Queued, RobotsRecord};
use crate::storage::group_row::GroupRow;
use crate::storage::values::{HostRow, Seen, decode_queued};
use crate::storage::{Database, DiskError, Family, GroupState, Row, keys};
use crivello_common::hash::{GroupHash, HostKey, UrlHash, UrlKey};
use crivello_common::url::Origin;

/// Returns the row of a host.
pub fn host(disk: &Database, key: HostKey) -> Result<Option<HostRow>, DiskError> {
    disk.row(&keys::host(key))
}

/// Returns what the hosts of a group take of the limits of its domain.
pub fn group_row(disk: &Database, group: GroupHash) -> Result<GroupRow, DiskError> {
    Ok(disk.row(&keys::group(group))?.unwrap_or_default())
}

/// Returns the state of a group.
pub fn group(disk: &Database, group: GroupHash) -> Result<Option<GroupState>, DiskError> {
    disk.row(&group.to_bytes())
}

/// Returns the known robots.txt of the origins of a host.
pub fn robots(disk: &Database, key: HostKey) -> Result<Vec<(Origin, RobotsRecord)>, DiskError> {
    let (from, mut end) = (keys::host(key), keys::host(key).to_vec());
    // This is greater than the key of any origin.
    end.extend([0xff; 4]);
    let mut robots = Vec::new();
    disk.walk(Family::Robots, &from, &end, |key, value| {
        let (_, origin) = keys::read_robots(key)?;
        robots.push((origin, RobotsRecord::decode(value)?));
        Ok(true)
    })?;
    Ok(robots)
}

/// Returns the `seen` row of a URL.
pub fn seen(disk: &Database, key: UrlKey) -> Result<Option<Seen>, DiskError> {
    disk.row(&keys::seen(key))
}

/// Returns the row of a queued URL, and the number of URLs before it in its queue, unless there are
/// [`AHEAD_MAX`] or more. `at` is its place in the queue, if that is known.
pub fn queued(
    disk: &Database,
    host: HostKey,
    at: Option<QueueKey>,
    hash: UrlHash,
) -> Result<(Option<Queued>, Option<u64>), DiskError> {
    let (mut n_before, mut row) = (0, None);
    for queue in [QueueKind::New, QueueKind::Again, QueueKind::Pending] {
        if row.is_some() || at.is_some_and(|at| at.queue != queue) {
            continue;
        }
        n_before = 0;
        let from = keys::frontier(host, queue.start());
        let end = keys::frontier(host, at.unwrap_or(queue.end()));
        disk.walk(Family::Frontier, &from, &end, |key, value| {
            // A crawl without a cluster does not record the place: only the row has it.
            if let (None, Ok((_, queue_key))) = (at, keys::read_frontier(key)) {
                let url = decode_queued(queue_key, value)?;
                if url.hash == hash {
                    row = Some(url);
                    return Ok(false);
                }
            }
            n_before += 1;
            Ok(n_before < AHEAD_MAX)
        })?;
    }
    if let Some(queue_key) = at {
        let value = disk.get(Family::Frontier, &keys::frontier(host, queue_key))?;
        row = value.map(|value| decode_queued(queue_key, &value)).transpose()?;
    }
    let is_counted = row.is_some() && n_before < AHEAD_MAX;
    Ok((row, is_counted.then_some(n_before as u64)))
}

/// Calls `f` for every host, for at most `max` rows. Returns true if these were all.
pub fn hosts(
    disk: &Database,
    max: usize,
    mut f: impl FnMut(HostKey, HostRow),
) -> Result<bool, DiskError> {
    let mut n_rows = 0;
    disk.walk(Family::Hosts, &[], &[0xff; keys::PAIR + 1], |key, value| {
        n_rows += 1;
        if let Some(host) = keys::read_hosts(key)? {
            f(host, HostRow::decode(value)?);
        }
        Ok(n_rows < max)
    })?;
    Ok(n_rows < max)
}
