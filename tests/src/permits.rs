//! One pool of permits for all tests of a binary, so that clusters that mostly sleep run side by
//! side, and a test that needs the whole machine has it.
//!
//! Each builder of a web holds permits during its lifetime. A test with more or less load than the
//! builder assumes takes its own permits first; later permits of the same thread are included in
//! these.

use std::cell::Cell;
use std::sync::{Condvar, Mutex, PoisonError};

/// Number of permits in the pool.
const POOL: usize = 8;

/// Share of the machine that a test needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Mostly sleeps: delays, leases, timeouts.
    Light,
    /// About one core.
    Half,
    /// All cores, or a quiet machine: it measures, or fills a disk.
    All,
}

impl Load {
    const fn permits(self) -> usize {
        match self {
            Self::Light => 2,
            Self::Half => POOL / 2,
            Self::All => POOL,
        }
    }
}

/// Permits that are held until this is dropped.
#[derive(Debug)]
#[must_use = "permits are given back when this is dropped"]
pub struct Permits(usize);

#[expect(clippy::mutex_atomic, reason = "the condition variable needs this mutex")]
static FREE: Mutex<usize> = Mutex::new(POOL);
static RETURNED: Condvar = Condvar::new();

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
        let free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        let enough = |free: &mut usize| *free < load.permits();
        let mut free = RETURNED.wait_while(free, enough).unwrap_or_else(PoisonError::into_inner);
        *free -= load.permits();
        Self(load.permits())
    }
}

impl Drop for Permits {
    fn drop(&mut self) {
        if self.0 > 0 {
            HOLDS.set(false);
            *FREE.lock().unwrap_or_else(PoisonError::into_inner) += self.0;
            RETURNED.notify_all();
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
                for load in [Load::Light, Load::Half, Load::All] {
                    scope.spawn(move || run(load));
                }
            }
        });
        assert_eq!(*FREE.lock().unwrap(), POOL);
    }
}
