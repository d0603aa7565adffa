//! What a process cost, by the system's own accounting.

use anyhow::{Context, Result};
use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeVal;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

/// Between two looks at a process that runs.
const LOOK_INTERVAL: Duration = Duration::from_millis(10);
/// A crawler that has not ended by then is killed.
const RUN_MAX: Duration = Duration::from_secs(20 * 60);

/// What a process that has ended used.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// From its start to its end.
    pub wall: Duration,
    /// CPU time in user mode, with that of its children that it waited for.
    pub user: Duration,
    /// The same in the kernel.
    pub system: Duration,
    /// Peak resident memory, in bytes.
    pub memory_max: u64,
    /// How it ended.
    pub status: ExitStatus,
}

impl Cost {
    /// CPU time in all.
    pub fn cpu(&self) -> Duration {
        self.user + self.system
    }
}

/// Runs a command to its end. No other child of this process may be waited for meanwhile: its
/// share is what the accounts of all children differ by.
#[expect(clippy::disallowed_methods, reason = "a bench reads the clock")]
pub fn run(mut command: Command) -> Result<Cost> {
    let before = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let start = Instant::now();
    let mut child = command.spawn().with_context(|| format!("{command:?} cannot be started"))?;
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

/// The peak resident memory of a running process, in bytes; 0 once it has ended.
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
