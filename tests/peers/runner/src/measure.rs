//! The cost of a process, by the system's accounting.

use anyhow::{Context, Result};
use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeVal;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

/// Interval between two checks of a running process.
const LOOK_INTERVAL: Duration = Duration::from_millis(10);
/// Time after which a crawler is killed.
const RUN_MAX: Duration = Duration::from_secs(20 * 60);

/// Usage of a process that has ended.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// Time from start to end.
    pub wall: Duration,
    /// CPU time in user mode, including children that the process waited for.
    pub user: Duration,
    /// CPU time in the kernel, including children that the process waited for.
    pub system: Duration,
    /// Peak resident memory, in bytes.
    pub memory_max: u64,
    /// Exit status.
    pub status: ExitStatus,
}

impl Cost {
    /// Returns the total CPU time.
    pub fn cpu(&self) -> Duration {
        self.user + self.system
    }
}

/// Runs a command to its end. No other child of this process may be waited for at the same time,
/// because the cost is the difference between two accounts of all children.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
pub fn run(mut command: Command) -> Result<Cost> {
    let before = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let start = Instant::now();
    let mut child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
    let mut memory_max = 0;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        memory_max = memory_max.max(memory_peak(child.id()));
        if start.elapsed() > RUN_MAX {
            child.kill()?;
        }
        std::thread::sleep(LOOK_INTERVAL);
    };
    let wall = start.elapsed();
    let after = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let spent = |time: fn(&Usage) -> TimeVal| duration(time(&after)) - duration(time(&before));
    let (user, system) = (spent(Usage::user_time), spent(Usage::system_time));
    Ok(Cost { wall, user, system, memory_max, status })
}

fn duration(time: TimeVal) -> Duration {
    Duration::from_secs(time.tv_sec().unsigned_abs())
        + Duration::from_micros(time.tv_usec().unsigned_abs())
}

/// Returns the peak resident memory of a running process, in bytes; 0 once it has ended.
fn memory_peak(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_of_a_child_and_of_its_children_is_counted() {
        let busy = "i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done";
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("sh -c '{busy}'; true"));
        let cost = run(command).expect("sh runs");
        assert!(cost.status.success());
        assert!(cost.cpu() > Duration::from_millis(20), "{cost:?}");
        assert!(cost.memory_max > 0);
    }
}
