//! Metrics of hosts, the front, and the scheduler's bottlenecks.

use crate::observe::metrics::reading::Reading;
use crivello_common::metrics::{MetricFamily, counter, gauge};
use std::sync::atomic::Ordering::Relaxed;

pub const ALL: &[MetricFamily<Reading>] = &[
    gauge("crivello_hosts", "hosts")
        .labels(&["state"])
        .help(
            "Hosts in memory by what they wait for: waiting (a delay), resting (over a minute, \
             or a backoff), resolving, paused (by people), dry (URLs from the disk), away \
             (another host's robots.txt), visited",
        )
        .read(|r, s| {
            let workbench = &r.workbench;
            s.each([
                ("waiting", workbench.waiting),
                ("resting", workbench.resting),
                ("resolving", workbench.resolving),
                ("paused", workbench.paused),
                ("dry", workbench.dry),
                ("away", workbench.away),
                ("visited", workbench.in_flight),
            ]);
        }),
    gauge("crivello_addresses", "addresses")
        .help("IP addresses in memory, including those without hosts whose delay has not passed")
        .read(|r, s| s.one(r.workbench.ips)),
    gauge("crivello_addresses_ready", "addresses")
        .help("IP addresses that can be visited now")
        .read(|r, s| s.one(r.workbench.ips_ready)),
    gauge("crivello_front_wanted", "addresses")
        .help("Target size of the front")
        .read(|r, s| s.one(r.workbench.front_wanted)),
    gauge("crivello_front_held", "addresses")
        .help("Size of the front: addresses with hosts, and hosts without an address yet")
        .read(|r, s| s.one(r.workbench.front_held)),
    gauge("crivello_window_urls", "URLs")
        .help(
            "URLs in memory: the heads of the queues of hosts on the workbench; a long URL \
             counts for several",
        )
        .read(|r, s| s.one(r.workbench.window_urls)),
    gauge("crivello_visits", "visits")
        .help("Visits in flight")
        .read(|r, s| s.one(r.shared.status.visits.load(Relaxed))),
    gauge("crivello_visits_max", "visits")
        .help(
            "Maximum number of visits in flight: fetch.visits-max, or less if the limit of open \
             files is too low",
        )
        .read(|r, s| s.one(u64::from(r.shared.settings.fetch.visits_max))),
    counter("crivello_scheduler_idle_seconds_total", "seconds")
        .labels(&["reason"])
        .help(
            "Time in which the scheduler had nothing to do, by the bottleneck at that time, in \
             this run",
        )
        .read(|r, s| s.each(r.shared.measured.idle.read())),
    gauge("crivello_condition", "1")
        .labels(&["condition"])
        .help(
            "1 while the condition holds: disk-full, offline, dns-silent, limit-reached, \
             paused, no-lease",
        )
        .read(|r, s| {
            let shared = &r.shared;
            s.each([
                ("disk-full", shared.status.disk_full.load(Relaxed)),
                ("offline", shared.status.offline.load(Relaxed)),
                ("dns-silent", shared.status.dns_silent.load(Relaxed)),
                ("limit-reached", shared.status.limit_reached.load(Relaxed)),
                ("paused", shared.status.paused.load(Relaxed)),
                ("no-lease", !shared.fetch_deadline.is_open(shared.clock.now())),
            ]);
        }),
    counter("crivello_unknown_host_replies_total", "replies")
        .help("Replies for hosts that are no longer in memory, in this run")
        .read(|r, s| s.one(r.workbench.unknown_host_replies)),
];
