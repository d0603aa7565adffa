//! A process that ends with its scenario, by itself or stopped at its deadline. A crawl that hangs
//! becomes a failure that names it, and no process outlives its test.

use crate::measure::{Usage, wait_measured};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};
use std::io;
use std::ops::{Deref, DerefMut};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

/// Default time limit of a process.
pub const DEADLINE: Duration = Duration::from_secs(120);
/// Time that a process has to stop and report before it is killed.
const GRACE: Duration = Duration::from_secs(10);

/// A process with a deadline. Dropping it kills the process.
#[derive(Debug)]
pub struct Running {
    /// `None` after it was waited for.
    child: Option<Child>,
    watch: Watch,
}

impl Running {
    /// Sets the deadline of a process, from now on.
    ///
    /// # Panics
    /// Panics if the process cannot be watched.
    #[must_use]
    pub fn new(child: Child, deadline: Duration) -> Self {
        let watch = Watch::over(&child, deadline);
        Self { child: Some(child), watch }
    }

    /// Sends SIGINT, like Ctrl-C.
    ///
    /// # Panics
    /// Panics if the process has been waited for.
    pub fn stop(&self) {
        kill_process(Pid::from_child(self), Signal::INT).expect("a signal to the child");
    }

    /// Waits for the end. Returns the exit status, the usage, and whether the deadline was
    /// exceeded.
    ///
    /// # Errors
    /// Fails if the process cannot be waited for.
    pub fn wait_measured(mut self) -> io::Result<(ExitStatus, Usage, bool)> {
        let child = self.child.take().ok_or(io::ErrorKind::NotFound)?;
        let (status, usage) = wait_measured(child)?;
        Ok((status, usage, self.watch.was_overdue()))
    }
}

impl Deref for Running {
    type Target = Child;

    fn deref(&self) -> &Child {
        self.child.as_ref().expect("the child was not waited for")
    }
}

impl DerefMut for Running {
    fn deref_mut(&mut self) -> &mut Child {
        self.child.as_mut().expect("the child was not waited for")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Runs a program to its end, without input, and returns its output.
///
/// # Panics
/// Panics if it cannot be run, or exceeds [`DEADLINE`].
#[must_use]
pub fn output(command: &mut Command) -> Output {
    output_within(command, DEADLINE)
}

/// Runs a program like [`output`], with another deadline.
///
/// # Panics
/// Panics if it cannot be run, or exceeds the deadline.
#[must_use]
pub fn output_within(command: &mut Command, deadline: Duration) -> Output {
    output_of(command, Stdio::null(), deadline)
}

/// Runs a program like [`output_within`], with this standard input.
///
/// # Panics
/// Panics if it cannot be run, or exceeds the deadline.
#[must_use]
pub fn output_of(command: &mut Command, stdin: Stdio, deadline: Duration) -> Output {
    command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("the program starts");
    let watch = Watch::over(&child, deadline);
    let output = child.wait_with_output().expect("the exit status of the program");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!watch.was_overdue(), "{command:?} had not ended after {deadline:?}: {stderr}");
    output
}

/// A thread that stops a process at its deadline. It ends when this is dropped.
#[derive(Debug)]
struct Watch {
    overdue: Arc<AtomicBool>,
    _until: SyncSender<()>,
}

impl Watch {
    fn over(child: &Child, deadline: Duration) -> Self {
        // Uses a pidfd, because the pid may be reused after the process has been waited for.
        let process = pidfd_open(Pid::from_child(child), PidfdFlags::empty());
        let process = process.expect("open the child's process");
        let (until, ended) = sync_channel(0);
        let overdue = Arc::<AtomicBool>::default();
        let late = overdue.clone();
        std::thread::spawn(move || stop_after(deadline, &process, &ended, &late));
        Self { overdue, _until: until }
    }

    fn was_overdue(&self) -> bool {
        self.overdue.load(Ordering::Acquire)
    }
}

fn stop_after(deadline: Duration, process: &OwnedFd, ended: &Receiver<()>, late: &AtomicBool) {
    for (time, signal) in [(deadline, Signal::INT), (GRACE, Signal::KILL)] {
        if ended.recv_timeout(time) != Err(RecvTimeoutError::Timeout) {
            return;
        }
        // The signal fails if the process has just ended in time.
        late.fetch_or(pidfd_send_signal(process, signal).is_ok(), Ordering::Release);
    }
}
