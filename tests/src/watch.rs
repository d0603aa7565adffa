//! A crawl that runs, looked at from outside: what the system says of its process, and what it says
//! of itself.

use crate::metrics::{Page, get, parse};
use crivello_common::time::{Clock, Timestamp};
use std::net::SocketAddr;
use std::time::Duration;

/// Clock ticks a second: the same on every Linux.
const TICKS: u32 = 100;

/// The status of an agent that has not begun.
const NOT_YET: u16 = 503;
const ASK_EVERY: Duration = Duration::from_millis(10);

/// Who is watched, and where it tells its numbers.
#[derive(Clone, Copy, Debug)]
pub struct Watched {
    pid: u32,
    numbers: SocketAddr,
    clock: Clock,
}

/// What was seen in one moment.
#[derive(Clone, Debug)]
pub struct Look {
    /// When.
    pub at: Timestamp,
    /// The crawler's resident memory, in bytes.
    pub resident: u64,
    /// Its open files, sockets among them.
    pub files: usize,
    /// Those of them that are sockets.
    pub sockets: usize,
    /// Its threads.
    pub threads: u64,
    /// The numbers that it tells.
    pub numbers: Page,
    /// CPU time of the crawler, of this process (which is the web), and of the whole machine.
    cpu: [Duration; 3],
}

/// What passed between two looks.
#[derive(Clone, Copy, Debug)]
pub struct Stretch {
    /// Seconds.
    pub secs: f64,
    /// Pages.
    pub pages: f64,
    /// Answers to requests for robots.txt.
    pub robots: f64,
    /// Cores that the crawler used.
    pub crawler: f64,
    /// Cores that the web used: this process.
    pub web: f64,
    /// Cores that were busy with anything at all.
    pub machine: f64,
    /// Seconds that results waited for a parser, and then pages for their commit, on average.
    pub waited: f64,
}

impl Watched {
    /// The process of this id, which said where its numbers are, as soon as it has any.
    ///
    /// # Panics
    /// When nobody listens there.
    #[must_use]
    pub fn new(pid: u32, numbers: SocketAddr) -> Self {
        while get(numbers, "/metrics").0 == NOT_YET {
            std::thread::sleep(ASK_EVERY);
        }
        Self { pid, numbers, clock: Clock::start() }
    }

    /// Looks.
    ///
    /// # Panics
    /// When the process has ended, or what it tells cannot be read.
    #[must_use]
    pub fn look(&self) -> Look {
        let of = |file: &str| {
            let path = format!("/proc/{}/{file}", self.pid);
            std::fs::read_to_string(path).expect("the crawler runs")
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

    /// Looks again and again, `every` so often, until `is_over` says so.
    pub fn until(&self, every: Duration, mut is_over: impl FnMut(&Look) -> bool) -> Look {
        loop {
            let look = self.look();
            if is_over(&look) {
                return look;
            }
            std::thread::sleep(every);
        }
    }

    /// What passes in this time.
    #[must_use]
    pub fn over(&self, time: Duration) -> Stretch {
        let before = self.look();
        std::thread::sleep(time);
        self.look().since(&before)
    }
}

impl Look {
    /// The sum of all numbers of a name.
    #[must_use]
    pub fn number(&self, name: &str) -> f64 {
        self.numbers.sum(name, &[])
    }

    /// Resident memory without what RocksDB's cache and buffers have: these fill up as time goes by,
    /// to their bounds.
    #[must_use]
    pub fn resident_beside_rocksdb(&self) -> u64 {
        let owned = |owner| self.numbers.sum("crivello_memory_bytes", &[("owner", owner)]);
        self.resident.saturating_sub((owned("block-cache") + owned("memtables")) as u64)
    }

    /// What passed since an earlier look.
    #[must_use]
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
    /// Pages a second.
    #[must_use]
    pub fn pages_a_second(&self) -> f64 {
        self.pages / self.secs
    }

    /// Of the crawler, in microseconds a page.
    #[must_use]
    pub fn cpu_a_page(&self) -> f64 {
        self.crawler * self.secs * 1e6 / self.pages.max(1.0)
    }
}

/// Where a node tells its numbers, as soon as its log says so.
///
/// # Panics
/// When what it says is no address.
#[must_use]
pub fn metrics_address(said: &str) -> Option<SocketAddr> {
    let (_, rest) = said.split_once("metrics at http://")?;
    let (address, _) = rest.split_once('/')?;
    Some(address.parse().unwrap_or_else(|e| panic!("{address}: {e}")))
}

fn own(file: &str) -> String {
    std::fs::read_to_string(format!("/proc/{file}")).expect("Linux")
}

/// How many files a process has open, and how many of them are sockets.
fn open_files(pid: u32) -> (usize, usize) {
    let files = std::fs::read_dir(format!("/proc/{pid}/fd")).expect("the crawler runs");
    let targets = files.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
    let is_socket = targets.map(|target| target.to_string_lossy().starts_with("socket:"));
    is_socket.fold((0, 0), |(n, sockets), is| (n + 1, sockets + usize::from(is)))
}

/// User and system time: the 14th and 15th field, and the 2nd may have blanks in it.
fn of_process(stat: &str) -> Duration {
    let (_, fields) = stat.rsplit_once(") ").expect("a name in brackets");
    ticks(fields.split(' ').skip(11).take(2))
}

/// All of the first line but idle time, and the time of guests, which is in that of users.
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
