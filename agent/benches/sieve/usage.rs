//! CPU time of this process, as the system reports it.

use rustix::time::{ClockId, clock_gettime};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Nanoseconds of CPU that threads of the stream had used when they ended.
static STREAM: AtomicU64 = AtomicU64::new(0);

/// Measures CPU time, less that of the threads that make the stream, and wall time.
pub struct Stopwatch {
    cpu: Duration,
    wall: Instant,
}

impl Stopwatch {
    pub fn start() -> Self {
        #[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
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
    STREAM.fetch_add(nanoseconds(ClockId::ThreadCPUTime), Ordering::Relaxed);
}

fn ours() -> Duration {
    let all = nanoseconds(ClockId::ProcessCPUTime);
    Duration::from_nanos(all.saturating_sub(STREAM.load(Ordering::Relaxed)))
}

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
