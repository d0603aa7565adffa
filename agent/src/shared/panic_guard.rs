//! A panic in one of our own threads is a bug, and must not make the crawl wait for ever for what
//! that thread was to do: the run ends, and says so.

use crate::report::Ended;
use crate::shared::run::Shared;
use std::io;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle, panicking};

/// Ends the run when it is dropped by a panic.
pub struct Watch {
    shared: Arc<Shared>,
    name: String,
}

impl Watch {
    /// Over a thread or a task of this name.
    #[must_use]
    pub fn over(shared: &Arc<Shared>, name: &str) -> Self {
        Self { shared: shared.clone(), name: name.to_owned() }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if panicking() {
            let why = format!("its {} panicked: this is a bug", self.name);
            self.shared.end(Ended::Failed, Some(why));
        }
    }
}

/// Starts a thread under a watch.
///
/// # Errors
/// When the system gives none.
pub fn spawn(
    shared: &Arc<Shared>,
    name: &str,
    f: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    let watch = Watch::over(shared, name);
    Builder::new().name(name.to_owned()).spawn(move || {
        let _watch = watch;
        f();
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crawldb::Totals;
    use crivello_common::config::Settings;
    use crivello_common::time::Clock;
    use std::time::Duration;

    #[test]
    fn a_panic_ends_the_run_and_an_orderly_end_does_not() {
        let shared = Shared::new(Settings::default(), Clock::start(), Totals::default(), None);
        let shared = Arc::new(shared);
        spawn(&shared, "parser", || {}).unwrap().join().unwrap();
        assert!(!shared.is_over());
        assert!(spawn(&shared, "scheduler", || panic!("a bug")).unwrap().join().is_err());
        assert!(shared.is_over() && shared.is_stopping());
        let end = shared.wait(Duration::ZERO).unwrap();
        assert_eq!(end.how, Ended::Failed);
        assert!(end.failure.unwrap().contains("scheduler"));
    }
}
