//! CPU time of this process, as `/proc` tells it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Ticks that threads of the stream had used when they ended.
static STREAM: AtomicU64 = AtomicU64::new(0);

/// Clock ticks a second: the same on every Linux.
const TICKS: u32 = 100;

/// Measures CPU time, less that of the threads that make the stream, and wall time.
pub struct Stopwatch {
    cpu: Duration,
    wall: Instant,
}

impl Stopwatch {
    pub fn start() -> Self {
        #[expect(clippy::disallowed_methods, reason = "a bench reads the clock")]
        let wall = Instant::now();
        Self { cpu: ours(), wall }
    }

    /// CPU and wall time since the start.
    pub fn read(&self) -> (Duration, Duration) {
        (ours().saturating_sub(self.cpu), self.wall.elapsed())
    }
}

/// To be called by a thread of the stream as its last deed.
pub fn leave_out_this_thread() {
    STREAM.fetch_add(ticks("/proc/thread-self/stat"), Ordering::Relaxed);
}

fn ours() -> Duration {
    let ticks = ticks("/proc/self/stat").saturating_sub(STREAM.load(Ordering::Relaxed));
    Duration::from_secs(ticks) / TICKS
}

/// User and system time: the 14th and 15th field, and the 2nd may have blanks in it.
fn ticks(path: &str) -> u64 {
    let stat = std::fs::read_to_string(path).expect("Linux");
    let (_, fields) = stat.rsplit_once(") ").expect("a name in brackets");
    fields.split(' ').skip(11).take(2).map(|field| field.parse::<u64>().expect("a number")).sum()
}
