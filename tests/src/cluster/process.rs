//! One process of a cluster, with its own log. It can be signaled, killed and suspended, and
//! dropping it ends it.

use crate::measure::{Usage, memory_peak};
use crate::running::Running;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Text that a process prints before its address.
const LISTENING: &str = "listening on ";
/// Number of log lines that are shown.
const LOG_TAIL_LINES: usize = 15;

/// A running process and its log.
#[derive(Debug)]
pub struct Process {
    running: Running,
    pid: Pid,
    log: PathBuf,
    /// Peak memory so far, in bytes.
    memory_max: u64,
}

/// The end of a process.
#[derive(Clone, Copy, Debug)]
pub struct End {
    /// Exit status.
    pub status: ExitStatus,
    /// Usage of the process.
    pub usage: Usage,
}

impl Process {
    /// Starts `command` with all its output in `log`. It must end within `deadline`.
    ///
    /// # Panics
    /// Panics if it cannot be started.
    #[must_use]
    pub fn start(command: &mut Command, log: PathBuf, deadline: Duration) -> Self {
        let out = File::create(&log).expect("create the log");
        let err = out.try_clone().expect("share the log");
        let child = command.stdin(Stdio::null()).stdout(out).stderr(err).spawn();
        let child = child.unwrap_or_else(|e| panic!("{command:?}: {e}"));
        let pid = Pid::from_child(&child);
        Self { running: Running::new(child, deadline), pid, log, memory_max: 0 }
    }

    /// Returns the id of the process.
    pub fn id(&self) -> u32 {
        self.running.id()
    }

    /// Returns its output so far.
    pub fn log(&self) -> String {
        read_log(&self.log)
    }

    /// Returns the address on which it listens, once it has printed it; the last one if it printed several.
    pub fn listening_address(&self) -> Option<SocketAddr> {
        let output = self.log();
        let (_, rest) = output.rsplit_once(LISTENING)?;
        let (address, _) = rest.split_once(|c: char| c.is_whitespace() || c == ';' || c == ',')?;
        let address = address.rsplit("://").next()?;
        Some(address.parse().unwrap_or_else(|e| panic!("{address:?} is not an address: {e}")))
    }

    /// Returns whether it has ended. While it runs, each call samples its memory.
    ///
    /// # Panics
    /// Panics if it cannot be waited for.
    pub fn has_ended(&mut self) -> bool {
        self.memory_max = self.memory_max.max(memory_peak(self.pid.as_raw_nonzero().get()));
        // The process remains a zombie, so that its usage can be read later.
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(self.pid), look).expect("the exit status of the child").is_some()
    }

    /// Sends a signal.
    ///
    /// # Panics
    /// Panics if the process has been waited for.
    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid, signal).expect("a signal to the child");
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// Panics if it exceeds its deadline.
    #[must_use]
    pub fn wait(self) -> End {
        let (status, mut usage, overdue) =
            self.running.wait_measured().expect("the exit status of the child");
        usage.memory_max = usage.memory_max.max(self.memory_max);
        assert!(!overdue, "the process did not end in time: {}", log_tail(&self.log));
        End { status, usage }
    }

    /// Kills it like `kill -9`.
    pub fn kill(self) -> End {
        self.signal(Signal::KILL);
        let (status, usage, _) =
            self.running.wait_measured().expect("the exit status of the child");
        End { status, usage }
    }

    /// Suspends the process for `off` and resumes it for `on`, repeatedly, until the returned value
    /// is dropped. Drop that before waiting for the process.
    #[must_use]
    pub fn stutter(&self, on: Duration, off: Duration) -> Stutter {
        let pid = self.pid;
        let over = Arc::<AtomicBool>::default();
        let told = over.clone();
        let thread = std::thread::spawn(move || {
            while !told.load(Ordering::Acquire) {
                for (signal, time) in [(Signal::STOP, off), (Signal::CONT, on)] {
                    let _ = kill_process(pid, signal);
                    std::thread::sleep(time);
                }
            }
        });
        Stutter { over, thread: Some(thread) }
    }
}

/// Repeated suspension of a process, by [`Process::stutter`].
#[derive(Debug)]
pub struct Stutter {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Stutter {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Returns the text of a log; invalid UTF-8 is replaced.
pub fn read_log(log: &Path) -> String {
    std::fs::read(log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

/// Returns the name of a log and its last lines.
pub fn log_tail(log: &Path) -> String {
    let output = read_log(log);
    let lines: Vec<&str> = output.lines().collect();
    let last = lines[lines.len().saturating_sub(LOG_TAIL_LINES)..].join("\n    ");
    let name = log.file_stem().unwrap_or_default().to_string_lossy();
    format!("{name}, {} lines, the last of them:\n    {last}", lines.len())
}
