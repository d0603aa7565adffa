//! Conversion of [`Bottleneck`] to and from the wire.

use crate::v1;
use crivello_common::bottleneck::Bottleneck;
use std::time::Duration;

/// Returns the wire form of a bottleneck, and the delay of [`Bottleneck::FewHosts`].
#[must_use]
pub const fn to_wire(bottleneck: Bottleneck) -> (v1::Bottleneck, Duration) {
    let number = match bottleneck {
        Bottleneck::FewHosts { delay } => return (v1::Bottleneck::FewHosts, delay),
        Bottleneck::Starting => v1::Bottleneck::Starting,
        Bottleneck::Dns => v1::Bottleneck::Dns,
        Bottleneck::DnsSilent => v1::Bottleneck::DnsSilent,
        Bottleneck::Cpu => v1::Bottleneck::Cpu,
        Bottleneck::Offline => v1::Bottleneck::Offline,
        Bottleneck::DiskFull => v1::Bottleneck::DiskFull,
        Bottleneck::DiskSlow => v1::Bottleneck::DiskSlow,
        Bottleneck::SlowServers => v1::Bottleneck::SlowServers,
        Bottleneck::Resting => v1::Bottleneck::Resting,
        Bottleneck::Paused => v1::Bottleneck::Paused,
        Bottleneck::NoneDue => v1::Bottleneck::NoneDue,
        Bottleneck::Draining => v1::Bottleneck::Draining,
        Bottleneck::Limit => v1::Bottleneck::Limit,
        Bottleneck::Seeds => v1::Bottleneck::Seeds,
    };
    (number, Duration::ZERO)
}

/// Reads the bottleneck of `progress`; `None` for a value unknown to this build.
#[must_use]
pub fn from_wire(progress: &v1::Progress) -> Option<Bottleneck> {
    Some(match v1::Bottleneck::try_from(progress.bottleneck).ok()? {
        v1::Bottleneck::Unspecified => return None,
        v1::Bottleneck::Starting => Bottleneck::Starting,
        v1::Bottleneck::FewHosts => {
            Bottleneck::FewHosts { delay: Duration::from_millis(progress.bottleneck_delay_ms) }
        }
        v1::Bottleneck::Dns => Bottleneck::Dns,
        v1::Bottleneck::DnsSilent => Bottleneck::DnsSilent,
        v1::Bottleneck::Cpu => Bottleneck::Cpu,
        v1::Bottleneck::Offline => Bottleneck::Offline,
        v1::Bottleneck::DiskFull => Bottleneck::DiskFull,
        v1::Bottleneck::DiskSlow => Bottleneck::DiskSlow,
        v1::Bottleneck::SlowServers => Bottleneck::SlowServers,
        v1::Bottleneck::Resting => Bottleneck::Resting,
        v1::Bottleneck::Paused => Bottleneck::Paused,
        v1::Bottleneck::NoneDue => Bottleneck::NoneDue,
        v1::Bottleneck::Draining => Bottleneck::Draining,
        v1::Bottleneck::Limit => Bottleneck::Limit,
        v1::Bottleneck::Seeds => Bottleneck::Seeds,
    })
}
