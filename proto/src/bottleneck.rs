//! The current limit on the speed of a crawl: names and texts of [`Bottleneck`].

use crate::v1::{Bottleneck, Progress, StatusResponse};
use std::time::Duration;

/// All values with their names and texts, in the order of their numbers, from 1. The text of
/// [`Bottleneck::FewHosts`] lacks the delay.
pub const ALL: [(Bottleneck, &str, &str); 15] = [
    (Bottleneck::Starting, "starting", "starting"),
    (Bottleneck::FewHosts, "few-hosts", "few hosts"),
    (Bottleneck::Dns, "dns", "DNS: most hosts wait for their address"),
    (Bottleneck::DnsSilent, "dns-silent", "DNS: the name servers do not reply"),
    (Bottleneck::Cpu, "cpu", "CPU: parsing and compressing"),
    (Bottleneck::Offline, "offline", "the network seems to be down: nothing can be reached"),
    (Bottleneck::DiskFull, "disk-full", "disk full: fetching waits for free space"),
    (Bottleneck::DiskSlow, "disk-slow", "disk: writing is slower than fetching"),
    (Bottleneck::SlowServers, "slow-servers", "slow servers: waiting for responses"),
    (Bottleneck::Resting, "resting", "all hosts rest (backoff or unreachable)"),
    (Bottleneck::NoneDue, "none-due", "no host is due"),
    (Bottleneck::Draining, "draining", "stopping: finishing visits in flight and saving"),
    (Bottleneck::Limit, "limit", "a limit is reached"),
    (Bottleneck::Seeds, "seeds", "waiting for seeds"),
    (Bottleneck::Paused, "hosts-paused", "all remaining hosts are paused (politeness.paused)"),
];

/// Returns the bottleneck of a crawl in words.
pub fn words(progress: &Progress) -> String {
    match ALL.iter().find(|(value, ..)| *value as i32 == progress.bottleneck) {
        Some((Bottleneck::FewHosts, _, text)) => {
            let delay = Duration::from_millis(progress.bottleneck_delay_ms).as_secs_f64();
            format!("{text}: all wait for their delay of {delay} s")
        }
        Some((_, _, text)) => (*text).to_owned(),
        None => "unknown to this build".to_owned(),
    }
}

/// Returns in words what limits the pace of an agent.
pub fn pace(status: &StatusResponse, progress: &Progress) -> String {
    match status.fence_open {
        true => words(progress),
        false => "lease expired: fetches nothing".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_but_zero_has_a_text() {
        for number in -1..100 {
            let text = words(&Progress { bottleneck: number, ..Progress::default() });
            match Bottleneck::try_from(number) {
                Err(_) | Ok(Bottleneck::Unspecified) => assert_eq!(text, "unknown to this build"),
                Ok(value) => {
                    assert_eq!(ALL[number as usize - 1].0, value);
                    assert!(text.starts_with(ALL[number as usize - 1].2), "{text}");
                }
            }
        }
    }

    #[test]
    fn few_hosts_names_the_delay_and_a_closed_fence_comes_first() {
        let bottleneck = Bottleneck::FewHosts.into();
        let progress = Progress { bottleneck, bottleneck_delay_ms: 2_500, ..Progress::default() };
        let pace = |fence_open| pace(&StatusResponse { fence_open, ..<_>::default() }, &progress);
        assert_eq!(pace(true), "few hosts: all wait for their delay of 2.5 s");
        assert_eq!(pace(false), "lease expired: fetches nothing");
    }
}
