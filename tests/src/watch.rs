//! A running crawl observed from outside: the system's accounting of its process, and its metrics.

use crate::metrics::{Page, get, parse};
use crivello_common::time::{Clock, Timestamp};
use std::net::SocketAddr;
use std::time::Duration;

/// Clock ticks per second: the same on every Linux.
const TICKS: u32 = 100;

/// HTTP status of an agent that has not started crawling.
const NOT_YET: u16 = 503;
const ASK_EVERY: Duration = Duration::from_millis(10);

/// A watched process and the address of its metrics.
#[derive(Clone, Copy, Debug)]
pub struct Watched {
    pid: u32,
    numbers: SocketAddr,
    clock: Clock,
}

/// A sample of a crawl at one time.
#[derive(Clone, Debug)]
pub struct Look {
    /// Time of the sample.
    pub at: Timestamp,
    /// Resident memory of the crawler, in bytes.
    pub resident: u64,
    /// Number of its open files, including sockets.
    pub files: usize,
    /// Number of its open sockets.
    pub sockets: usize,
    /// Number of its threads.
    pub threads: u64,
    /// Its metrics.
    pub numbers: Page,
    /// CPU time of the crawler, of this process (which is the web), and of the whole machine.
    cpu: [Duration; 3],
}

/// The difference between two samples.
#[derive(Clone, Copy, Debug)]
pub struct Stretch {
    /// Duration in seconds.
    pub secs: f64,
    /// Number of fetched pages.
    pub pages: f64,
    /// Number of answers to requests for robots.txt.
    pub robots: f64,
    /// Cores that the crawler used, on average.
    pub crawler: f64,
    /// Cores that the web used, which is this process.
    pub web: f64,
    /// Cores that were busy with anything.
    pub machine: f64,
    /// Mean time that results waited for a parser plus that pages waited for their commit, in
    /// seconds.
    pub waited: f64,
}

impl Watched {
    /// Watches a process with metrics at this address, and waits until they are available.
    ///
    /// # Panics
    /// Panics if nothing listens there.
    #[must_use]
    pub fn new(pid: u32, numbers: SocketAddr) -> Self {
        while get(numbers, "/metrics").0 == NOT_YET {
            std::thread::sleep(ASK_EVERY);
        }
        Self { pid, numbers, clock: Clock::start() }
    }

    /// Takes a sample.
    ///
    /// # Panics
    /// Panics if the process has ended, or if its metrics cannot be parsed.
    pub fn look(&self) -> Look {
        let of = |file: &str| {
            let path = format!("/proc/{}/{file}", self.pid);
            std::fs::read_to_string(path).expect("the crawler is running")
        };
        let status = of("status");
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let number = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
            number.unwrap_or_else(|| panic!("no {name} in {status}"))
        };
        let (files, sockets) = open_files(self.pid);
        let (code, text) = get(self.numbers, "/metrics");
        assert_eq!(code, 200, "{text}");
        Look {
            at: self.clock.now(),
            resident: field("VmRSS:") << 10,
            files,
            sockets,
            threads: field("Threads:"),
            numbers: parse(&text).unwrap_or_else(|why| panic!("{why}\n{text}")),
            cpu: [of_process(&of("stat")), of_process(&own("self/stat")), of_all(&own("stat"))],
        }
    }

    /// Takes samples at this interval until `is_over` returns true.
    pub fn until(&self, every: Duration, mut is_over: impl FnMut(&Look) -> bool) -> Look {
        loop {
            let look = self.look();
            if is_over(&look) {
                return look;
            }
            std::thread::sleep(every);
        }
    }

    /// Measures for this time.
    pub fn over(&self, time: Duration) -> Stretch {
        let before = self.look();
        std::thread::sleep(time);
        self.look().since(&before)
    }
}

impl Look {
    /// Returns the sum of all samples of a metric.
    pub fn number(&self, name: &str) -> f64 {
        self.numbers.sum(name, &[])
    }

    /// Returns resident memory without RocksDB's cache and buffers, which grow to their limits over
    /// time.
    pub fn resident_beside_rocksdb(&self) -> u64 {
        let owned = |owner| self.numbers.sum("crivello_memory_bytes", &[("owner", owner)]);
        self.resident.saturating_sub((owned("block-cache") + owned("memtables")) as u64)
    }

    /// Returns the difference from an earlier sample.
    pub fn since(&self, earlier: &Self) -> Stretch {
        let secs = self.at.since(earlier.at).as_secs_f64();
        let more = |name: &str| self.number(name) - earlier.number(name);
        let cores = |i: usize| self.cpu[i].saturating_sub(earlier.cpu[i]).as_secs_f64() / secs;
        let waits = |queue: &str| {
            let more = |what: &str| {
                let name = format!("crivello_queue_wait_seconds_{what}");
                let sum = |look: &Self| look.numbers.sum(&name, &[("queue", queue)]);
                sum(self) - sum(earlier)
            };
            more("sum") / more("count").max(1.0)
        };
        Stretch {
            secs,
            pages: more("crivello_pages_fetched_total"),
            robots: more("crivello_robots_fetched_total"),
            crawler: cores(0),
            web: cores(1),
            machine: cores(2),
            waited: waits("parser") + waits("commit"),
        }
    }
}

impl Stretch {
    /// Returns the pages per second.
    pub fn pages_a_second(&self) -> f64 {
        self.pages / self.secs
    }

    /// Returns the crawler's CPU time per page, in microseconds.
    pub fn cpu_a_page(&self) -> f64 {
        self.crawler * self.secs * 1e6 / self.pages.max(1.0)
    }
}

/// Returns the address of a node's metrics, if the log already has it.
///
/// # Panics
/// Panics if the logged address is invalid.
#[must_use]
pub fn metrics_address(output: &str) -> Option<SocketAddr> {
    let (_, rest) = output.split_once("metrics at http://")?;
    let (address, _) = rest.split_once('/')?;
    Some(address.parse().unwrap_or_else(|e| panic!("{address}: {e}")))
}

fn own(file: &str) -> String {
    std::fs::read_to_string(format!("/proc/{file}")).expect("Linux")
}

/// Returns the number of open files of a process, and how many of them are sockets.
fn open_files(pid: u32) -> (usize, usize) {
    let files = std::fs::read_dir(format!("/proc/{pid}/fd")).expect("the crawler is running");
    let targets = files.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
    let is_socket = targets.map(|target| target.to_string_lossy().starts_with("socket:"));
    is_socket.fold((0, 0), |(n, sockets), is| (n + 1, sockets + usize::from(is)))
}

/// Returns user and system time: fields 14 and 15. Field 2 may contain spaces.
fn of_process(stat: &str) -> Duration {
    let (_, fields) = stat.rsplit_once(") ").expect("a process name in parentheses");
    ticks(fields.split(' ').skip(11).take(2))
}

/// Returns the sum of the first line without idle time, and without guest time, which is part of
/// user time.
fn of_all(stat: &str) -> Duration {
    let line = stat.lines().next().unwrap_or_default();
    let fields: Vec<&str> = line.split_whitespace().skip(1).take(8).collect();
    ticks(fields.iter().enumerate().filter(|(i, _)| !matches!(i, 3 | 4)).map(|(_, field)| *field))
}

fn ticks<'a>(fields: impl Iterator<Item = &'a str>) -> Duration {
    let ticks: u64 = fields.map(|field| field.parse::<u64>().expect("a number")).sum();
    Duration::from_secs(ticks) / TICKS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_is_read() {
        let stat = "7 (a name) S 1 7 7 0 -1 4194560 1 0 0 0 250 50 0 0 20 0 1 0 5";
        assert_eq!(of_process(stat), Duration::from_secs(3));
        let stat = "cpu  100 0 200 9000 9000 10 20 70 50 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n";
        assert_eq!(of_all(stat), Duration::from_secs(4));
        let at = metrics_address("a line\nmetrics at http://127.0.0.1:9/metrics");
        assert_eq!(at, Some(([127, 0, 0, 1], 9).into()));
        assert_eq!(metrics_address("a line"), None);
    }
}
