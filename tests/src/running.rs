//! A process that ends with its scenario: by itself, or stopped when it is overdue, so that a crawl
//! that hangs is a failure that says what hung, and nothing is left running behind a test.

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

/// How long a process may run when nothing else is said.
pub const DEADLINE: Duration = Duration::from_secs(120);
/// How long it may take to stop and to say how things stand, before it is killed.
const GRACE: Duration = Duration::from_secs(10);

/// A process under watch; killed when dropped.
#[derive(Debug)]
pub struct Running {
    /// `None` once it was waited for.
    child: Option<Child>,
    watch: Watch,
}

impl Running {
    /// Puts a process under watch for so long from now on.
    ///
    /// # Panics
    /// When it cannot be watched.
    #[must_use]
    pub fn new(child: Child, deadline: Duration) -> Self {
        let watch = Watch::over(&child, deadline);
        Self { child: Some(child), watch }
    }

    /// Asks it to stop, as Ctrl-C does.
    ///
    /// # Panics
    /// When it has ended, and was waited for.
    pub fn stop(&self) {
        kill_process(Pid::from_child(self), Signal::INT).expect("our own child can be signaled");
    }

    /// Waits for its end: how that was, what it used, and whether it was overdue.
    ///
    /// # Errors
    /// When it cannot be waited for.
    pub fn wait_measured(mut self) -> io::Result<(ExitStatus, Usage, bool)> {
        let child = self.child.take().ok_or(io::ErrorKind::NotFound)?;
        let (status, usage) = wait_measured(child)?;
        Ok((status, usage, self.watch.was_overdue()))
    }
}

impl Deref for Running {
    type Target = Child;

    fn deref(&self) -> &Child {
        self.child.as_ref().expect("it is there until it is waited for")
    }
}

impl DerefMut for Running {
    fn deref_mut(&mut self) -> &mut Child {
        self.child.as_mut().expect("it is there until it is waited for")
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

/// Runs a program to its end, without input, and says what it said.
///
/// # Panics
/// When it cannot be run, or is overdue.
#[must_use]
pub fn output(command: &mut Command) -> Output {
    output_within(command, DEADLINE)
}

/// The same, with another deadline.
///
/// # Panics
/// When it cannot be run, or is overdue.
#[must_use]
pub fn output_within(command: &mut Command, deadline: Duration) -> Output {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("the program runs");
    let watch = Watch::over(&child, deadline);
    let output = child.wait_with_output().expect("the program can be waited for");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!watch.was_overdue(), "{command:?} had not ended after {deadline:?}: {said}");
    output
}

/// A thread that stops a process when it is overdue. It leaves when this is dropped.
#[derive(Debug)]
struct Watch {
    overdue: Arc<AtomicBool>,
    _until: SyncSender<()>,
}

impl Watch {
    fn over(child: &Child, deadline: Duration) -> Self {
        // Not by its number, which another process has once this one was waited for.
        let process = pidfd_open(Pid::from_child(child), PidfdFlags::empty());
        let process = process.expect("our own child can be watched");
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
        // It may have ended in this moment, in good time.
        late.fetch_or(pidfd_send_signal(process, signal).is_ok(), Ordering::Release);
    }
}
