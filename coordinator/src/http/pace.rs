//! What sets an agent's pace, in words: those of `crivello status`.

use crivello_proto::v1::{Pace, Progress};
use std::time::Duration;

/// In words.
pub(super) fn words(progress: &Progress) -> String {
    let text = match Pace::try_from(progress.pace).unwrap_or_default() {
        Pace::Unspecified => "unknown to this version of the coordinator",
        Pace::Starting => "starting",
        Pace::FewHosts => {
            let delay = Duration::from_millis(progress.pace_delay_ms).as_secs_f64();
            return format!("the delay of few hosts ({delay} s between requests)");
        }
        Pace::Dns => "DNS: most hosts wait for their address",
        Pace::DnsSilent => "DNS: the name servers do not answer",
        Pace::Cpu => "CPU: parsing and compressing",
        Pace::Offline => "the network seems to be down: nothing can be reached",
        Pace::DiskFull => "disk full: fetching waits until there is room",
        Pace::DiskSlow => "disk: writing is slower than fetching",
        Pace::SlowServers => "slow servers: waiting for answers",
        Pace::Resting => "all hosts rest (backoff or unreachable)",
        Pace::NoneDue => "no host falls due just now",
        Pace::Draining => "stopping: ending visits in flight and saving",
        Pace::Limit => "a limit is reached",
        Pace::Seeds => "waiting for seeds",
    };
    text.to_owned()
}
