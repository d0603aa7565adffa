//! Access log: every request, with the times by which politeness is measured.
//!
//! `start` is when the whole request head had been read, which is not before the client sent it.
//! `end` is just before the last bytes were written to the socket, which is not after the client
//! received them. So the gap between one request's end and the next one's start is never shorter
//! here than at the client, and a gap that is too short here was too short. A request that either
//! side aborted is not `complete`, and its `end` is only when the server noticed; the next gap is
//! counted from `arrived`, when the kernel had its head, which is when the client had just sent it. Over
//! HTTP/2 that is not known, and neither is whether the client broke a request off just before its
//! response was written.

use crate::world::origin;
use crivello_common::time::{Clock, Timestamp};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Interval between two writes of new entries to the file.
const FLUSH_INTERVAL: Duration = Duration::from_millis(20);

/// One request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Time at which its head had been read, in microseconds since 1970.
    pub start: u64,
    /// Time at which its head had arrived at this machine, in microseconds since 1970, exact to some
    /// milliseconds; `start` where that is not known (HTTP/2).
    #[serde(default)]
    pub arrived: u64,
    /// Time at which the last of the response was written to the socket, or the client left, in
    /// microseconds since 1970. A server that is busy notices that later; then it is exact to some
    /// milliseconds.
    pub end: u64,
    /// True if the connection used TLS.
    pub tls: bool,
    /// The requested host, lower case, without port.
    pub host: String,
    /// The contacted port.
    pub port: u16,
    /// The contacted address.
    pub ip: Option<Ipv4Addr>,
    /// Path and query.
    pub path: String,
    /// Status of the answer; 0 for none.
    pub status: u16,
    /// True if the whole response was written to the socket.
    pub complete: bool,
    /// Bytes written to the socket, head included.
    pub bytes: u64,
    /// The visitor's user agent.
    pub user_agent: String,
    /// True if it used HTTP/2.
    #[serde(default)]
    pub http2: bool,
    /// Number of the connection.
    pub connection: u64,
    /// True if the connection resumed a TLS session of an earlier one.
    #[serde(default)]
    pub resumed: bool,
    /// The visitor's process, if it is one that the log identifies.
    #[serde(default)]
    pub process: Option<u32>,
    /// Wait that the visitor was asked for, in milliseconds.
    pub retry_after_ms: Option<u64>,
    /// Number of the version, at `start`, of a page that changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// True if the request had conditions.
    #[serde(default, skip_serializing_if = "is_false")]
    pub conditional: bool,
    /// Names and values of the headers of its signature (RFC 9421), as they were received.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signature: Vec<(String, String)>,
}

/// Returns whether a field is left out of the file.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_false(field: &bool) -> bool {
    !*field
}

impl Entry {
    /// Returns the requested URL in normal form.
    pub fn url(&self) -> String {
        format!("{}{}", origin(self.tls, &self.host, self.port), self.path)
    }

    /// Returns whether the answer asked the visitor to slow down.
    pub const fn is_refusal(&self) -> bool {
        matches!(self.status, 429 | 503)
    }

    /// Returns whether the answer was that the page has not changed.
    pub const fn is_not_modified(&self) -> bool {
        self.status == 304
    }
}

/// The log of one web.
#[derive(Debug)]
pub struct Log {
    clock: Clock,
    entries: Arc<Mutex<Vec<Entry>>>,
    /// Stops and writes the remaining entries when dropped.
    _writer: Option<Writer>,
}

#[derive(Debug)]
struct Writer {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Log {
    /// Creates a log in memory and, if `file` is given, also in a file as JSON lines.
    ///
    /// # Errors
    /// Fails if the file cannot be opened for appending.
    pub fn new(file: Option<&Path>) -> io::Result<Self> {
        let entries = Arc::new(Mutex::new(Vec::new()));
        let writer = file.map(|path| Writer::start(path, entries.clone())).transpose()?;
        Ok(Self { clock: Clock::start(), entries, _writer: writer })
    }

    /// Returns the current time.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Returns all ended requests, in the order in which they ended.
    pub fn entries(&self) -> Vec<Entry> {
        self.entries.lock().clone()
    }

    /// Returns and removes all ended requests: for a crawl with more of them than fit in memory.
    ///
    /// # Panics
    /// Panics if the log also goes to a file, because then the entries are still needed.
    #[must_use]
    pub fn take(&self) -> Vec<Entry> {
        assert!(self._writer.is_none(), "this log is in a file: read the file");
        std::mem::take(&mut self.entries.lock())
    }

    /// Returns the number of ended requests.
    pub fn len(&self) -> usize {
        self.entries.lock().len()
    }

    /// Returns whether no request has ended.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Begins a request, whose head arrived that long ago. It is logged when it ends, or as
    /// incomplete when the handle is dropped.
    #[must_use]
    pub fn begin(self: &Arc<Self>, mut entry: Entry, since_arrival: Duration) -> InFlight {
        let now = self.now();
        (entry.start, entry.arrived) = (now.0, (now - since_arrival).0);
        InFlight { log: self.clone(), entry, left: None }
    }

    /// Reads the entries of a log file, except an incomplete last line.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or if a complete line is not an entry.
    pub fn read(path: &Path) -> io::Result<Vec<Entry>> {
        let mut reader = BufReader::new(File::open(path)?);
        let mut entries = Vec::new();
        let mut line = String::new();
        while reader.read_line(&mut line)? > 0 && line.ends_with('\n') {
            entries.push(serde_json::from_str(&line)?);
            line.clear();
        }
        Ok(entries)
    }
}

impl Writer {
    fn start(path: &Path, entries: Arc<Mutex<Vec<Entry>>>) -> io::Result<Self> {
        let file = File::options().create(true).append(true).open(path)?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread =
            std::thread::Builder::new().name("simweb-log".to_owned()).spawn(move || {
                if let Err(error) = write_until(BufWriter::new(file), &entries, &stopped) {
                    tracing::error!(%error, "the access log cannot be written");
                }
            })?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

fn write_until(
    mut file: impl Write,
    entries: &Mutex<Vec<Entry>>,
    stop: &AtomicBool,
) -> io::Result<()> {
    let mut n_written = 0;
    loop {
        let last = stop.load(Ordering::Acquire);
        let new: Vec<Entry> = entries.lock().get(n_written..).unwrap_or_default().to_vec();
        n_written += new.len();
        for entry in &new {
            serde_json::to_writer(&mut file, entry)?;
            file.write_all(b"\n")?;
        }
        file.flush()?;
        if last {
            return Ok(());
        }
        std::thread::park_timeout(FLUSH_INTERVAL);
    }
}

/// Writes the remaining entries.
impl Drop for Writer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

/// A request that has not ended.
#[derive(Debug)]
pub struct InFlight {
    log: Arc<Log>,
    entry: Entry,
    /// Time at which the client left, if the server noticed that later.
    left: Option<u64>,
}

impl InFlight {
    /// Returns the time at which the request began.
    pub const fn start(&self) -> Timestamp {
        Timestamp(self.entry.start)
    }

    /// Records the status, the requested wait and the version of the page.
    pub fn answered(&mut self, status: u16, retry_after_ms: Option<u64>, version: Option<u64>) {
        self.entry.status = status;
        self.entry.retry_after_ms = retry_after_ms;
        self.entry.version = version;
    }

    /// Records the time before bytes are written to the socket: whatever was written before ended
    /// no later than now.
    pub fn sending(&mut self) {
        self.entry.end = self.log.now().0;
    }

    /// Counts bytes that were written.
    pub fn sent(&mut self, bytes: usize) {
        self.entry.bytes += bytes as u64;
    }

    /// Records that the client left some time ago.
    pub fn left(&mut self, ago: Duration) {
        self.left = Some((self.log.now() - ago).0.max(self.entry.start));
    }

    /// Marks the response as completely written.
    pub fn complete(mut self) {
        self.entry.complete = true;
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        if !self.entry.complete {
            self.entry.end = self.left.unwrap_or_else(|| self.log.now().0);
        }
        self.log.entries.lock().push(std::mem::take(&mut self.entry));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_holds_what_memory_holds() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let log = Arc::new(Log::new(Some(&path)).unwrap());
        for i in 0..100 {
            let entry = Entry { path: format!("/{i}"), host: "h".to_owned(), ..Entry::default() };
            let mut flight = log.begin(entry, Duration::ZERO);
            flight.sending();
            if i % 2 == 0 {
                flight.complete();
            }
        }
        let entries = log.entries();
        assert_eq!(entries.iter().filter(|e| e.complete).count(), 50);
        assert!(entries.iter().all(|e| e.start <= e.end));
        drop(log);
        assert_eq!(Log::read(&path).unwrap(), entries);
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 5]).unwrap();
        assert_eq!(Log::read(&path).unwrap(), entries[..99]);
    }

    #[test]
    fn fields_of_webs_that_change_are_left_out_of_others() {
        let line = r#"{"start":1,"arrived":1,"end":2,"tls":false,"host":"h","port":80,"ip":null,"path":"/","#;
        let rest = r#""status":200,"complete":true,"bytes":9,"user_agent":"a","http2":false,"#;
        let end = r#""connection":3,"resumed":false,"process":null,"retry_after_ms":null}"#;
        let line = format!("{line}{rest}{end}");
        let entry: Entry = serde_json::from_str(&line).unwrap();
        assert_eq!((entry.version, entry.conditional), (None, false));
        assert_eq!(serde_json::to_string(&entry).unwrap(), line);
        let changed = Entry {
            version: Some(7),
            conditional: true,
            signature: vec![("signature".to_owned(), "sig1=:aa:".to_owned())],
            ..entry
        };
        let line = serde_json::to_string(&changed).unwrap();
        let end = r#","version":7,"conditional":true,"signature":[["signature","sig1=:aa:"]]}"#;
        assert!(line.ends_with(end), "{line}");
        assert_eq!(serde_json::from_str::<Entry>(&line).unwrap(), changed);
    }
}
