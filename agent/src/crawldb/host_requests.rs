//! Requests of people to fetch all known pages of a host again: a scan of the outcomes of its group in
//! bounded steps, one request after another. Pages that were fetched after the request are left out, so a
//! scan that a restart interrupts begins again.

use crate::messages::HostRequest;
use crate::storage::values::{Seen, UrlOutcome};
use crate::storage::{Batch, Database, DiskError, Family, Row, RowReader, RowWriter, keys};
use crivello_common::hash::{GroupHash, HostHash, HostKey, UrlKey};
use crivello_common::time::Timestamp;

/// Key in `meta` of the requests.
const META_HOST_REQUESTS: &[u8] = b"host-requests";
/// Maximum number of requests that wait. More are ignored, and that is logged.
const REQUESTS_MAX: usize = 1_000;
/// Maximum number of rows per step; small in tests, so that a scan takes several.
const ROWS_AT_ONCE: usize = if cfg!(test) { 5 } else { 1_024 };
/// Version of the value in `meta`.
const VERSION: u8 = 1;

/// The requests that wait, and the progress of the first one.
#[derive(Debug, Default)]
pub struct HostRequests {
    requests: Vec<HostRequest>,
    /// Key in `seen` at which the scan for the first request continues.
    at: Option<Vec<u8>>,
    /// True if `meta` has others.
    is_changed: bool,
    /// True if a request was ignored since there was room.
    was_full: bool,
}

impl HostRequests {
    /// Reads the requests.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails or the requests are damaged.
    pub fn read(disk: &Database) -> Result<Self, DiskError> {
        let Some(value) = disk.get(Family::Meta, META_HOST_REQUESTS)? else {
            return Ok(Self::default());
        };
        let damaged = DiskError::Row { family: "meta", what: "the host requests are malformed" };
        let requests = decode(&value).ok_or(damaged)?;
        Ok(Self { requests, ..Self::default() })
    }

    /// Adds a request, or renews one for the same host that waits. The one whose scan has begun goes on,
    /// so that requests that come again and again do not keep others waiting.
    pub fn add(&mut self, request: &HostRequest) {
        let begun = usize::from(self.at.is_some());
        let waiting = self.requests.iter().skip(begun);
        if let Some(i) = waiting.clone().position(|known| known.host == request.host) {
            let known = &mut self.requests[begun + i];
            known.at = known.at.max(request.at);
        } else if waiting.len() < REQUESTS_MAX {
            self.requests.push(request.clone());
        } else {
            if !std::mem::replace(&mut self.was_full, true) {
                tracing::warn!(
                    "requests to fetch hosts again are ignored while {REQUESTS_MAX} wait"
                );
            }
            return;
        }
        self.is_changed = true;
    }

    /// Removes the requests for hosts that are forgotten.
    pub fn forget(&mut self, is_forgotten: impl Fn(&str) -> bool) {
        let n_requests = self.requests.len();
        self.requests.retain(|request| !is_forgotten(&request.name));
        self.is_changed |= self.requests.len() < n_requests;
    }

    /// Returns true if a request waits.
    pub const fn is_running(&self) -> bool {
        !self.requests.is_empty()
    }

    /// Scans some rows for the first request. Returns the finished URLs whose due time is to be moved.
    pub fn step(&mut self, disk: &Database) -> Result<Vec<(UrlKey, UrlOutcome)>, DiskError> {
        let Some(request) = self.requests.first() else { return Ok(Vec::new()) };
        let group = request.host.group;
        let from = self.at.take().unwrap_or_else(|| keys::group(group).to_vec());
        let (mut found, mut n_rows, at) = (Vec::new(), 0, &mut self.at);
        disk.walk(Family::Seen, &from, &end_of(group), |key, value| {
            if n_rows == ROWS_AT_ONCE {
                *at = Some(key.to_vec());
                return Ok(false);
            }
            n_rows += 1;
            if let Seen::Done(outcome) = Seen::decode(value)?
                && asks_for(request, &outcome)
            {
                found.push((keys::read_seen(key)?, outcome));
            }
            Ok(true)
        })?;
        if self.at.is_none() {
            self.requests.remove(0);
            (self.is_changed, self.was_full) = (true, false);
        }
        Ok(found)
    }

    /// Adds the requests to a batch, if they have changed.
    pub fn write(&mut self, batch: &mut Batch) {
        if std::mem::take(&mut self.is_changed) {
            batch.put(Family::Meta, META_HOST_REQUESTS, &encode(&self.requests));
        }
    }
}

/// Returns true if a finished URL is on the host, and was not fetched since the request.
fn asks_for(request: &HostRequest, outcome: &UrlOutcome) -> bool {
    outcome.page().is_some_and(|page| {
        let history = page.url.revisit.as_ref().and_then(|revisit| revisit.history);
        let fetched = history.map_or(0.0, |history| history.last_fetch());
        page.name == request.name && Timestamp::from_secs(fetched as u64) < request.at
    })
}

/// Returns the bound above all keys of a group.
fn end_of(group: GroupHash) -> Vec<u8> {
    let mut end = group.to_bytes().to_vec();
    end.extend([0xff; 9]);
    end
}

fn encode(requests: &[HostRequest]) -> Vec<u8> {
    let mut w = RowWriter::versioned(VERSION);
    for HostRequest { host, name, at } in requests {
        w.rest(&host.group.to_bytes()).rest(&host.host.to_bytes()).number(at.0);
        w.bytes(name.as_bytes());
    }
    w.finish()
}

fn decode(value: &[u8]) -> Option<Vec<HostRequest>> {
    let mut r = RowReader(value);
    if r.byte()? != VERSION {
        return None;
    }
    let mut requests = Vec::new();
    while !r.0.is_empty() {
        let (group, host) = (GroupHash::from_bytes(r.array()?), HostHash::from_bytes(r.array()?));
        let (at, name) = (Timestamp(r.number()?), r.text()?.into());
        requests.push(HostRequest { host: HostKey { group, host }, name, at });
    }
    Some(requests)
}
