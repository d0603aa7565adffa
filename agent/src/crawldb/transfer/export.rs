//! Export of all facts of a group, a chunk at a time.

use super::super::changes::{elsewhere, of_host, queued_elsewhere};
use crate::messages::{ExportCursor, Fact, RobotsRecord};
use crate::storage::values::{HostRow, Seen, decode_queued};
use crate::storage::{Database, DiskError, Family, Row, keys};
use crivello_common::hash::{GroupHash, HostKey};
use std::sync::Arc;

/// The order of an export. Hosts come first, so that later facts find them. Outcomes come last, so
/// that a URL that is fetched during the export is sent as done after it was sent as queued.
const STAGES: [Family; 4] = [Family::Hosts, Family::Robots, Family::Frontier, Family::Seen];

/// Number of rows that are read for one chunk.
const ROWS_MAX: usize = 16_384;

/// Returns the next facts of `group` from `cursor` on, as
/// [`ReplicaStore::export`](crate::messages::ReplicaStore::export).
pub fn next_facts(
    disk: &Database,
    group: GroupHash,
    mut cursor: ExportCursor,
    bytes_max: usize,
) -> Result<(Vec<Fact>, Option<ExportCursor>), DiskError> {
    let (mut facts, mut bytes, mut n_rows) = (Vec::new(), 0, 0);
    while let Some(&family) = STAGES.get(cursor.stage) {
        let mut from = cursor.last.clone();
        if from.is_empty() {
            from.extend(group.to_bytes());
        } else {
            from.push(0);
        }
        let mut names = Names { disk, last: None };
        let mut full = false;
        disk.walk(family, &from, &keys::end_of_group(group), |key, value| {
            full = bytes >= bytes_max && !facts.is_empty() || n_rows == ROWS_MAX;
            if !full {
                n_rows += 1;
                cursor.last.clear();
                cursor.last.extend(key);
                if let Some(fact) = read(family, key, value, &mut names)? {
                    bytes += fact.weight();
                    facts.push(fact);
                }
            }
            Ok(!full)
        })?;
        if full {
            return Ok((facts, Some(cursor)));
        }
        cursor = ExportCursor { stage: cursor.stage + 1, last: Vec::new() };
    }
    Ok((facts, None))
}

/// Names of hosts, with the last one cached: the rows of a host are adjacent.
struct Names<'a> {
    disk: &'a Database,
    last: Option<(HostKey, Arc<str>)>,
}

impl Names<'_> {
    fn of(&mut self, host: HostKey) -> Result<Arc<str>, DiskError> {
        if let Some((last, name)) = &self.last
            && *last == host
        {
            return Ok(name.clone());
        }
        let what = "a host with other rows has no row in `hosts`";
        let row = self.disk.row::<HostRow>(&keys::host(host))?;
        let name = row.ok_or(DiskError::Row { family: "hosts", what })?.name;
        self.last = Some((host, name.clone()));
        Ok(name)
    }
}

/// Returns the fact in a row; `None` if it follows from other rows.
fn read(
    family: Family,
    key: &[u8],
    value: &[u8],
    names: &mut Names<'_>,
) -> Result<Option<Fact>, DiskError> {
    Ok(match family {
        Family::Hosts => match keys::read_hosts(key)? {
            Some(host) => Some(of_host(host, HostRow::decode(value)?)),
            None => None,
        },
        Family::Robots => {
            let (host, origin) = keys::read_robots(key)?;
            let (name, record) = (names.of(host)?, RobotsRecord::decode(value)?);
            Some(Fact::Robots { host, name, origin, record })
        }
        Family::Frontier => {
            let (host, queue_key) = keys::read_frontier(key)?;
            let (name, url) = (names.of(host)?, queued_elsewhere(decode_queued(queue_key, value)?));
            Some(Fact::Queued { host, name, url })
        }
        _ => match Seen::decode(value)? {
            Seen::Queued(_) => None,
            Seen::Done(outcome) => {
                Some(Fact::Done { url: keys::read_seen(key)?, outcome: elsewhere(outcome) })
            }
        },
    })
}
