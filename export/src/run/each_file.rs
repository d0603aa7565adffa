//! Threads that take one file after another.

use super::job::ExportProgress;
use parking_lot::Mutex;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Calls `work` for each file, in `threads` threads, until `stopped`. Each thread has a value of its own, which
/// `begin` makes.
///
/// # Errors
/// The first error of a file, with its path. Its thread ends; the others go on.
pub fn each_file<T>(
    files: &[PathBuf],
    threads: usize,
    progress: &ExportProgress,
    stopped: &(dyn Fn() -> bool + Sync),
    begin: impl Fn() -> T + Sync,
    work: impl Fn(&mut T, &Path) -> io::Result<()> + Sync,
) -> io::Result<()> {
    let (next, first_error) = (AtomicUsize::new(0), Mutex::new(Ok(())));
    let run = || {
        let mut own = begin();
        while !stopped()
            && let Some(path) = files.get(next.fetch_add(1, Relaxed))
        {
            if let Err(error) = work(&mut own, path) {
                let text = format!("{}: {error}", path.display());
                let mut first = first_error.lock();
                if first.is_ok() {
                    *first = Err(io::Error::new(error.kind(), text));
                }
                break;
            }
            progress.files.fetch_add(1, Relaxed);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, files.len().max(1)) {
            scope.spawn(run);
        }
    });
    first_error.into_inner()
}
