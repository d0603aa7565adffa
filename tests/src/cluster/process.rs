//! One process of a cluster: started with a log of its own, told to stop, killed, frozen; gone when
//! dropped.

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

/// What a process says before its address.
const LISTENING: &str = "listening on ";
/// Lines of a log that are shown.
const LOG_TAIL_LINES: usize = 15;

/// A running process and its log.
#[derive(Debug)]
pub struct Process {
    running: Running,
    pid: Pid,
    log: PathBuf,
    /// Seen while it ran.
    memory_max: u64,
}

/// How a process ended.
#[derive(Clone, Copy, Debug)]
pub struct End {
    /// As the system tells it.
    pub status: ExitStatus,
    /// What the process used.
    pub usage: Usage,
}

impl Process {
    /// Starts `command`, with all that it says going to `log`, to end within `deadline`.
    ///
    /// # Panics
    /// When it cannot be started.
    #[must_use]
    pub fn start(command: &mut Command, log: PathBuf, deadline: Duration) -> Self {
        let out = File::create(&log).expect("a log can be made");
        let err = out.try_clone().expect("a file can be shared");
        let child = command.stdin(Stdio::null()).stdout(out).stderr(err).spawn();
        let child = child.unwrap_or_else(|e| panic!("{command:?}: {e}"));
        let pid = Pid::from_child(&child);
        Self { running: Running::new(child, deadline), pid, log, memory_max: 0 }
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.running.id()
    }

    /// What it said so far.
    #[must_use]
    pub fn said(&self) -> String {
        read_log(&self.log)
    }

    /// The address at which it said that it listens, as soon as it has said so.
    #[must_use]
    pub fn listening_address(&self) -> Option<SocketAddr> {
        let said = self.said();
        let (_, rest) = said.split_once(LISTENING)?;
        let (address, _) = rest.split_once(|c: char| c.is_whitespace() || c == ';' || c == ',')?;
        let address = address.rsplit("://").next()?;
        Some(address.parse().unwrap_or_else(|e| panic!("{address:?} is no address: {e}")))
    }

    /// Whether it has ended; as long as it has not, its memory is looked at.
    ///
    /// # Panics
    /// When it cannot be waited for.
    pub fn has_ended(&mut self) -> bool {
        self.memory_max = self.memory_max.max(memory_peak(self.pid.as_raw_nonzero().get()));
        // It stays there to be waited for, with what it used.
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(self.pid), look).expect("our own child can be waited for").is_some()
    }

    /// Sends a signal.
    ///
    /// # Panics
    /// When it has been waited for.
    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid, signal).expect("our own child can be signaled");
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// When it is overdue.
    #[must_use]
    pub fn wait(self) -> End {
        let (status, mut usage, overdue) =
            self.running.wait_measured().expect("it can be waited for");
        usage.memory_max = usage.memory_max.max(self.memory_max);
        assert!(!overdue, "it was overdue: {}", log_tail(&self.log));
        End { status, usage }
    }

    /// Kills it, as `kill -9` does.
    #[must_use]
    pub fn kill(self) -> End {
        self.signal(Signal::KILL);
        let (status, usage, _) = self.running.wait_measured().expect("it can be waited for");
        End { status, usage }
    }

    /// From now on it runs for `on` and is stopped for `off`, again and again, until what is
    /// returned is dropped. It must not be waited for before.
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

/// See [`Process::stutter`].
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

/// The text of a log; bytes that are no text are replaced.
pub fn read_log(log: &Path) -> String {
    std::fs::read(log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

/// The name of a log and its last lines.
pub fn log_tail(log: &Path) -> String {
    let said = read_log(log);
    let lines: Vec<&str> = said.lines().collect();
    let last = lines[lines.len().saturating_sub(LOG_TAIL_LINES)..].join("\n    ");
    let name = log.file_stem().unwrap_or_default().to_string_lossy();
    format!("{name}, {} lines, the last of them:\n    {last}", lines.len())
}
