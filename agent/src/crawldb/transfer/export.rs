//! All facts of a group, a chunk at a time.

use super::super::CrawlDb;
use super::super::changes::{elsewhere, of_host};
use super::super::group_jobs::end_of;
use crate::messages::Fact;
use crate::storage::values::{HostRow, RobotsRow, Seen, decode_queued};
use crate::storage::{DiskError, Family, keys};
use crivello_common::hash::{GroupHash, HostKey, UrlKey};
use std::sync::Arc;

/// Hosts first, so that what follows finds them; what is done last, so that a URL that is fetched
/// while the chunks go out is told of after it was told of as queued.
const STAGES: [Family; 4] = [Family::Hosts, Family::Robots, Family::Frontier, Family::Seen];

/// How far an export has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportCursor {
    stage: usize,
    /// The last key that was told of; empty for none of this stage.
    last: Vec<u8>,
}

impl CrawlDb {
    /// The next facts of `group`, about `bytes_max` by [`Fact::weight`] but at least one, and where
    /// to go on; `None` when these were the last. They are those of the last commit: what changes
    /// while an export goes on is told of by whoever changes it.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn export(
        &self,
        group: GroupHash,
        mut cursor: ExportCursor,
        bytes_max: usize,
    ) -> Result<(Vec<Fact>, Option<ExportCursor>), DiskError> {
        let (mut facts, mut bytes) = (Vec::new(), 0);
        while let Some(&family) = STAGES.get(cursor.stage) {
            let mut from = cursor.last.clone();
            if from.is_empty() {
                from.extend(group.to_bytes());
            } else {
                from.push(0);
            }
            let mut names = Names { crawldb: self, last: None };
            let mut full = false;
            self.disk.walk(family, &from, &end_of(group), |key, value| {
                full = bytes >= bytes_max && !facts.is_empty();
                if !full {
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
}

/// The names of hosts, whose rows follow each other.
struct Names<'a> {
    crawldb: &'a CrawlDb,
    last: Option<(HostKey, Arc<str>)>,
}

impl Names<'_> {
    fn of(&mut self, host: HostKey) -> Result<Arc<str>, DiskError> {
        if let Some((last, name)) = &self.last
            && *last == host
        {
            return Ok(name.clone());
        }
        let value = self.crawldb.disk.get(Family::Hosts, &keys::host(host))?;
        let what = "a host with rows has none of its own";
        let value = value.ok_or(DiskError::Row { family: "hosts", what })?;
        let name = HostRow::decode(&value)?.name;
        self.last = Some((host, name.clone()));
        Ok(name)
    }
}

/// The fact in a row; `None` where another row says it.
fn read(
    family: Family,
    key: &[u8],
    value: &[u8],
    names: &mut Names<'_>,
) -> Result<Option<Fact>, DiskError> {
    let malformed = || DiskError::Row { family: "frontier", what: "its key is malformed" };
    let host = keys::read_host(key).ok_or_else(malformed)?;
    Ok(match family {
        Family::Hosts if host.host.0 == 0 => None, // the group's own
        Family::Hosts => Some(of_host(host, HostRow::decode(value)?)),
        Family::Robots => {
            let origin = keys::read_origin(key).ok_or_else(malformed)?;
            let (name, record) = (names.of(host)?, RobotsRow::decode(value)?);
            Some(Fact::Robots { host, name, origin, record })
        }
        Family::Frontier => {
            let queue_key = keys::read_queue_key(key).ok_or_else(malformed)?;
            let (name, url) = (names.of(host)?, decode_queued(queue_key, value)?);
            Some(Fact::Queued { host, name, url })
        }
        _ => match Seen::decode(value)? {
            Seen::Queued(_) => None,
            Seen::Done(outcome) => {
                let hash = keys::read_url_hash(key).ok_or_else(malformed)?;
                let url = UrlKey { group: host.group, url: hash };
                Some(Fact::Done { url, outcome: elsewhere(outcome) })
            }
        },
    })
}
