//! One pool of permits for all tests of a binary, so that crawls that mostly sleep run side by
//! side, and a test that needs the whole machine has it.
//!
//! Each builder of a web holds permits during its lifetime. A test with more or less load than the
//! builder assumes takes its own permits first; later permits of the same thread are included in
//! these. Permits are given in the order in which they were asked for, so a test that needs all of
//! them does not wait for the end of all others.

use std::cell::Cell;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Number of permits in the pool.
const POOL: usize = 40;

/// Share of the machine that a test needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// A crawl by one process that mostly sleeps: delays, timeouts.
    Light,
    /// A cluster that mostly sleeps: delays, leases.
    Medium,
    /// About one core.
    Half,
    /// All cores, or a quiet machine: it measures, or fills a disk. Unit tests may run, with the lowest priority.
    All,
}

impl Load {
    const fn permits(self) -> usize {
        match self {
            Self::Light => POOL / 8,
            Self::Medium => POOL / 4,
            Self::Half => POOL / 2,
            Self::All => POOL,
        }
    }
}

/// Permits that are held until this is dropped.
#[derive(Debug)]
#[must_use = "permits are given back when this is dropped"]
pub struct Permits(usize);

/// The pool, and the threads that wait for permits.
struct Pool {
    free: usize,
    /// Number of the next thread that asks.
    next: u64,
    /// Number of the thread whose turn it is.
    turn: u64,
}

static PERMITS: Mutex<Pool> = Mutex::new(Pool { free: POOL, next: 0, turn: 0 });
static CHANGED: Condvar = Condvar::new();

fn pool() -> MutexGuard<'static, Pool> {
    PERMITS.lock().unwrap_or_else(PoisonError::into_inner)
}

thread_local! {
    /// True if this thread holds permits.
    static HOLDS: Cell<bool> = const { Cell::new(false) };
}

impl Permits {
    /// Waits for the permits of a test with this load. Takes none if this thread holds some
    /// already.
    pub fn take(load: Load) -> Self {
        if HOLDS.replace(true) {
            return Self(0);
        }
        let n = load.permits();
        let mut asked = pool();
        let number = asked.next;
        asked.next += 1;
        let has_to_wait = |pool: &mut Pool| pool.turn != number || pool.free < n;
        let mut given =
            CHANGED.wait_while(asked, has_to_wait).unwrap_or_else(PoisonError::into_inner);
        given.free -= n;
        given.turn += 1;
        CHANGED.notify_all();
        Self(n)
    }
}

impl Drop for Permits {
    fn drop(&mut self) {
        if self.0 > 0 {
            HOLDS.set(false);
            pool().free += self.0;
            CHANGED.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::SeqCst;
    use std::thread;
    use std::time::Duration;

    #[test]
    fn no_more_runs_at_once_than_there_are_permits() {
        static RUNNING: AtomicUsize = AtomicUsize::new(0);
        let run = |load: Load| {
            let _permits = Permits::take(load);
            let _included = Permits::take(Load::All);
            let before = RUNNING.fetch_add(load.permits(), SeqCst);
            assert!(before + load.permits() <= POOL, "{before} permits are in use before {load:?}");
            thread::sleep(Duration::from_millis(2));
            RUNNING.fetch_sub(load.permits(), SeqCst);
        };
        thread::scope(|scope| {
            for _ in 0..20 {
                for load in [Load::Light, Load::Medium, Load::Half, Load::All] {
                    scope.spawn(move || run(load));
                }
            }
        });
        assert_eq!(pool().free, POOL);
    }
}
