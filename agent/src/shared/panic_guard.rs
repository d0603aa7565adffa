//! A guard that ends the run if one of its own threads panics.
//!
//! Such a panic is a bug, and the crawl must not wait forever for that thread's work.

use super::lifecycle::Lifecycle;
use crate::report::Ended;
use std::io;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle, panicking};

/// Guard that ends the run if it is dropped by a panic.
pub struct PanicGuard {
    lifecycle: Arc<Lifecycle>,
    name: String,
}

impl PanicGuard {
    /// Creates a guard of the thread or task called `name`.
    #[must_use]
    pub fn new(lifecycle: &Arc<Lifecycle>, name: &str) -> Self {
        Self { lifecycle: lifecycle.clone(), name: name.to_owned() }
    }
}

impl Drop for PanicGuard {
    fn drop(&mut self) {
        if panicking() {
            let why = format!("its {} panicked: this is a bug", self.name);
            self.lifecycle.end(Ended::Failed, Some(why));
        }
    }
}

/// Starts a thread under a guard.
///
/// # Errors
/// If the system cannot start a thread.
pub fn spawn(
    lifecycle: &Arc<Lifecycle>,
    name: &str,
    f: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    let guard = PanicGuard::new(lifecycle, name);
    Builder::new().name(name.to_owned()).spawn(move || {
        let _guard = guard;
        f();
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_common::time::Timestamp;
    use std::time::Duration;

    #[test]
    fn a_panic_ends_the_run_and_a_normal_end_does_not() {
        let run = Arc::new(Lifecycle::new(Timestamp::ZERO, None, Duration::ZERO));
        spawn(&run, "parser", || {}).unwrap().join().unwrap();
        assert!(!run.is_over());
        assert!(spawn(&run, "scheduler", || panic!("simulated bug")).unwrap().join().is_err());
        assert!(run.is_over() && run.is_stopping());
        let end = run.wait(Duration::ZERO).unwrap();
        assert_eq!(end.how, Ended::Failed);
        assert!(end.failure.unwrap().contains("scheduler"));
    }
}
