//! Conversion of [`Bottleneck`] to and from the wire.

use crate::v1;
use crivello_common::bottleneck::Bottleneck;
use std::time::Duration;

/// Defines the conversions. The variants are those without data.
macro_rules! conversions {
    ($($variant:ident)+) => {
        /// Returns the wire form of a bottleneck, and the delay of [`Bottleneck::FewHosts`].
        #[must_use]
        pub const fn to_wire(bottleneck: Bottleneck) -> (v1::Bottleneck, Duration) {
            match bottleneck {
                Bottleneck::FewHosts { delay } => (v1::Bottleneck::FewHosts, delay),
                $(Bottleneck::$variant => (v1::Bottleneck::$variant, Duration::ZERO),)+
            }
        }

        /// Reads the bottleneck of `progress`; `None` for a value unknown to this build.
        #[must_use]
        pub fn from_wire(progress: &v1::Progress) -> Option<Bottleneck> {
            let delay = Duration::from_millis(progress.bottleneck_delay_ms);
            match v1::Bottleneck::try_from(progress.bottleneck).ok()? {
                v1::Bottleneck::Unspecified => None,
                v1::Bottleneck::FewHosts => Some(Bottleneck::FewHosts { delay }),
                $(v1::Bottleneck::$variant => Some(Bottleneck::$variant),)+
            }
        }
    };
}

conversions! {
    Starting Dns DnsSilent Cpu Offline DiskFull DiskSlow SlowServers Resting Paused NoneDue Draining
    Limit Seeds
}
