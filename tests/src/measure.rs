//! The cost of a process, by the system's accounting.

use std::io;
use std::process::{Child, ExitStatus};
use std::time::Duration;

/// Usage of a process that has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU time in user mode.
    pub user: Duration,
    /// CPU time in the kernel.
    pub system: Duration,
    /// Peak resident memory, in bytes.
    pub memory_max: u64,
}

impl Usage {
    /// Returns the total CPU time.
    pub fn cpu(&self) -> Duration {
        self.user + self.system
    }
}

/// Interval between two checks of a running process.
const LOOK_INTERVAL: Duration = Duration::from_millis(10);

/// Waits for a child and returns its usage.
///
/// Peak memory is read from `/proc` while the child runs, because its `rusage` includes the memory
/// of this process at the time of the fork.
///
/// # Errors
/// Fails if the child cannot be waited for.
#[expect(clippy::needless_pass_by_value, reason = "a child can be waited for only once")]
pub fn wait_measured(child: Child) -> io::Result<(ExitStatus, Usage)> {
    use std::os::unix::process::ExitStatusExt;
    let pid = libc::pid_t::try_from(child.id()).map_err(io::Error::other)?;
    let mut status = 0;
    let mut memory_max = 0;
    // SAFETY: an all-zero `rusage` is a valid value of that plain C struct.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers are to live local variables; `child` is not waited for elsewhere.
        match unsafe { libc::wait4(pid, &raw mut status, libc::WNOHANG, &raw mut usage) } {
            0 => memory_max = memory_max.max(memory_peak(pid)),
            -1 => return Err(io::Error::last_os_error()),
            _ => break,
        }
        std::thread::sleep(LOOK_INTERVAL);
    }
    let time = |t: libc::timeval| {
        Duration::from_secs(t.tv_sec.try_into().unwrap_or(0))
            + Duration::from_micros(t.tv_usec.try_into().unwrap_or(0))
    };
    let usage = Usage { user: time(usage.ru_utime), system: time(usage.ru_stime), memory_max };
    Ok((ExitStatus::from_raw(status), usage))
}

/// Returns the peak resident memory of a running process, in bytes; 0 once it has ended.
pub(crate) fn memory_peak(pid: libc::pid_t) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
