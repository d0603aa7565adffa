//! What sets the pace of a crawl, on the wire and in the house.

use crate::v1;
use crivello_common::pace::Pace;
use std::time::Duration;

/// The pace as it is sent, and the delay that goes with it.
#[must_use]
pub const fn number(pace: Pace) -> (v1::Pace, Duration) {
    let number = match pace {
        Pace::FewHosts { delay } => return (v1::Pace::FewHosts, delay),
        Pace::Starting => v1::Pace::Starting,
        Pace::Dns => v1::Pace::Dns,
        Pace::DnsSilent => v1::Pace::DnsSilent,
        Pace::Cpu => v1::Pace::Cpu,
        Pace::Offline => v1::Pace::Offline,
        Pace::DiskFull => v1::Pace::DiskFull,
        Pace::DiskSlow => v1::Pace::DiskSlow,
        Pace::SlowServers => v1::Pace::SlowServers,
        Pace::Resting => v1::Pace::Resting,
        Pace::Paused => v1::Pace::Paused,
        Pace::NoneDue => v1::Pace::NoneDue,
        Pace::Draining => v1::Pace::Draining,
        Pace::Limit => v1::Pace::Limit,
        Pace::Seeds => v1::Pace::Seeds,
    };
    (number, Duration::ZERO)
}

/// The pace that was sent; `None` for a number that means nothing to this build.
#[must_use]
pub fn read(progress: &v1::Progress) -> Option<Pace> {
    Some(match v1::Pace::try_from(progress.pace).ok()? {
        v1::Pace::Unspecified => return None,
        v1::Pace::Starting => Pace::Starting,
        v1::Pace::FewHosts => {
            Pace::FewHosts { delay: Duration::from_millis(progress.pace_delay_ms) }
        }
        v1::Pace::Dns => Pace::Dns,
        v1::Pace::DnsSilent => Pace::DnsSilent,
        v1::Pace::Cpu => Pace::Cpu,
        v1::Pace::Offline => Pace::Offline,
        v1::Pace::DiskFull => Pace::DiskFull,
        v1::Pace::DiskSlow => Pace::DiskSlow,
        v1::Pace::SlowServers => Pace::SlowServers,
        v1::Pace::Resting => Pace::Resting,
        v1::Pace::Paused => Pace::Paused,
        v1::Pace::NoneDue => Pace::NoneDue,
        v1::Pace::Draining => Pace::Draining,
        v1::Pace::Limit => Pace::Limit,
        v1::Pace::Seeds => Pace::Seeds,
    })
}
