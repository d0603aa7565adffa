//! Progress lines of commands that take long.

use crate::screen;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Pause between two progress lines.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);

/// Shows the line that `line` returns while something runs.
pub fn with_progress<T>(line: impl Fn() -> String + Sync, run: impl FnOnce() -> T) -> T {
    let is_done = AtomicBool::new(false);
    let result = std::thread::scope(|scope| {
        let show = scope.spawn(|| {
            while !is_done.load(Relaxed) {
                screen::show_line(&line());
                std::thread::park_timeout(PROGRESS_INTERVAL);
            }
        });
        // The thread that shows progress must end, also if something panics.
        let result = catch_unwind(AssertUnwindSafe(run));
        is_done.store(true, Relaxed);
        show.thread().unpark();
        result
    });
    screen::restore();
    result.unwrap_or_else(|panic| resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn a_panic_ends_the_line() {
        let (sender, ended) = mpsc::sync_channel(1);
        std::thread::spawn(move || {
            let run = || with_progress(|| "line".to_owned(), || panic!("a panic of the test"));
            sender.send(catch_unwind(run).is_err())
        });
        assert_eq!(ended.recv_timeout(Duration::from_secs(30)), Ok(true));
    }
}
