//! The access log: every request, with the two moments that politeness is measured by.
//!
//! `start` is when the whole request head had been read: not before the client sent it. `end` is
//! the moment just before the last bytes were handed to the socket: not after the client received
//! them. So the gap from one request's end to the next one's start is never shorter here than it
//! was for the client, and a gap that is too short here was too short. A request that was broken
//! off by either side is not `complete`, and its `end` only says when the server noticed.

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

/// How often new entries go to the file.
const FLUSH_INTERVAL: Duration = Duration::from_millis(20);

/// One request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// When its head had been read, in microseconds since 1970.
    pub start: u64,
    /// When the last of the response went to the socket, or when the break was noticed.
    pub end: u64,
    /// Whether the connection was TLS.
    pub tls: bool,
    /// The host asked for, lower case, without port.
    pub host: String,
    /// The port contacted.
    pub port: u16,
    /// The address contacted.
    pub ip: Option<Ipv4Addr>,
    /// Path and query.
    pub path: String,
    /// The status answered; 0 for none.
    pub status: u16,
    /// Whether all of the response that was to be sent was handed to the socket.
    pub complete: bool,
    /// Bytes handed to the socket, head included.
    pub bytes: u64,
    /// The visitor's name.
    pub user_agent: String,
    /// Whether it came by HTTP/2.
    #[serde(default)]
    pub http2: bool,
    /// The connection's number.
    pub connection: u64,
    /// Whether that began with a TLS session of an earlier connection.
    #[serde(default)]
    pub resumed: bool,
    /// The visitor's process, if it is one of those that are told apart.
    #[serde(default)]
    pub process: Option<u32>,
    /// In how many milliseconds the visitor was asked to come back.
    pub retry_after_ms: Option<u64>,
}

impl Entry {
    /// The URL asked for, in normal form.
    #[must_use]
    pub fn url(&self) -> String {
        let (scheme, default) = if self.tls { ("https", 443) } else { ("http", 80) };
        if self.port == default {
            format!("{scheme}://{}{}", self.host, self.path)
        } else {
            format!("{scheme}://{}:{}{}", self.host, self.port, self.path)
        }
    }

    /// Whether it asked the visitor to slow down.
    #[must_use]
    pub const fn is_refusal(&self) -> bool {
        matches!(self.status, 429 | 503)
    }
}

/// The log of one web.
#[derive(Debug)]
pub struct Log {
    clock: Clock,
    entries: Arc<Mutex<Vec<Entry>>>,
    /// Stops, and writes what is left, when dropped.
    _writer: Option<Writer>,
}

#[derive(Debug)]
struct Writer {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Log {
    /// A log in memory, and in a file as JSON lines when one is named.
    ///
    /// # Errors
    /// When the file cannot be opened for appending.
    pub fn new(file: Option<&Path>) -> io::Result<Self> {
        let entries = Arc::new(Mutex::new(Vec::new()));
        let writer = file.map(|path| Writer::start(path, entries.clone())).transpose()?;
        Ok(Self { clock: Clock::start(), entries, _writer: writer })
    }

    /// The present.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// All requests that are over, in the order in which they ended.
    #[must_use]
    pub fn entries(&self) -> Vec<Entry> {
        self.entries.lock().clone()
    }

    /// The same, and forgets them: for a crawl that has more of them than there is memory for.
    ///
    /// # Panics
    /// When they go to a file, too: then they are still needed.
    #[must_use]
    pub fn take(&self) -> Vec<Entry> {
        assert!(self._writer.is_none(), "a log that goes to a file is read from there");
        std::mem::take(&mut self.entries.lock())
    }

    /// How many requests are over.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.lock().len()
    }

    /// Whether none is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Begins a request, which is logged when it ends, or as broken off when the handle is dropped.
    #[must_use]
    pub fn begin(self: &Arc<Self>, mut entry: Entry) -> InFlight {
        entry.start = self.now().0;
        InFlight { log: self.clone(), entry }
    }

    /// The entries of a log file; a last line that is not whole is left out.
    ///
    /// # Errors
    /// When the file cannot be read, or a line that is whole is no entry.
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
        let told = stop.clone();
        let thread =
            std::thread::Builder::new().name("simweb-log".to_owned()).spawn(move || {
                if let Err(error) = write_until(BufWriter::new(file), &entries, &told) {
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

/// Writes what is left.
impl Drop for Writer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

/// A request that is not over.
#[derive(Debug)]
pub struct InFlight {
    log: Arc<Log>,
    entry: Entry,
}

impl InFlight {
    /// What is answered.
    pub fn answered(&mut self, status: u16, retry_after_ms: Option<u64>) {
        self.entry.status = status;
        self.entry.retry_after_ms = retry_after_ms;
    }

    /// So many bytes are about to be handed to the socket: what was handed over so far ended no
    /// later than now.
    pub fn sending(&mut self) {
        self.entry.end = self.log.now().0;
    }

    /// So many bytes were handed over.
    pub fn sent(&mut self, bytes: usize) {
        self.entry.bytes += bytes as u64;
    }

    /// All of the response was handed over.
    pub fn complete(mut self) {
        self.entry.complete = true;
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        if !self.entry.complete {
            self.entry.end = self.log.now().0;
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
            let mut flight = log.begin(entry);
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
}
