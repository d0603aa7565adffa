//! Metrics of the agent's part in a cluster. An agent that is alone has none.

use crate::observe::metrics::reading::{ClusterReading, Peer, Reading};
use crivello_common::metrics::{MetricFamily, counter, gauge};
use std::sync::atomic::Ordering::Relaxed;

pub const ALL: &[MetricFamily<Reading>] = &[
    gauge("crivello_epoch", "1")
        .help("The epoch of the view in force")
        .read(|r, s| with(r, |cluster| s.one(cluster.epoch))),
    gauge("crivello_idle", "1")
        .help("1 while the agent has nothing to do")
        .read(|r, s| with(r, |cluster| s.one(cluster.is_idle))),
    counter("crivello_work_total", "events")
        .help("Messages and URLs received, sent or fetched")
        .read(|r, s| with(r, |cluster| s.one(cluster.work))),
    gauge("crivello_groups", "groups")
        .labels(&["role"])
        .help(
            "Groups with rows here by role: authority (this agent fetches them), copy \
             (replica), pending (rows are coming in); estimated beyond 10,000",
        )
        .read(|r, s| {
            with(r, |ClusterReading { roles: n, .. }| {
                s.each([("authority", n.authority), ("copy", n.copy), ("pending", n.pending)]);
            });
        }),
    gauge("crivello_handoffs_in_progress", "groups")
        .help("Groups that are being handed off or replicated, or wait for it")
        .read(|r, s| with(r, |cluster| s.one(cluster.handoffs))),
    counter("crivello_handoffs_total", "groups")
        .labels(&["direction"])
        .help("Groups that were handed off to another agent (out) or received (in), in this run")
        .read(|r, s| {
            let measured = &r.shared.measured;
            let directions = [("out", &measured.groups_out), ("in", &measured.groups_in)];
            with(r, |_| s.each(directions.map(|(name, n)| (name, n.load(Relaxed)))));
        }),
    gauge("crivello_outbox_rows", "rows")
        .labels(&["peer"])
        .help("Rows of the outbox that an agent has not acknowledged")
        .read(|r, s| peers(r, |peer| s.of(&[&peer.name], peer.rows))),
    gauge("crivello_outbox_bytes", "bytes")
        .labels(&["peer"])
        .help("Bytes of these rows, on disk")
        .read(|r, s| peers(r, |peer| s.of(&[&peer.name], peer.bytes))),
    gauge("crivello_outbox_lag_seconds", "seconds")
        .labels(&["peer"])
        .help(
            "Time since the first of these rows became the first; below one second for an agent \
             that keeps up",
        )
        .read(|r, s| peers(r, |peer| s.of(&[&peer.name], peer.lag))),
    gauge("crivello_peer_queue_bytes", "bytes")
        .labels(&["peer", "stream"])
        .help("Packets on the way to an agent, on the main stream and on that for replicas")
        .read(|r, s| {
            peers(r, |peer| {
                for (stream, bytes) in peer.sending {
                    s.of(&[&peer.name, stream], bytes);
                }
            });
        }),
    gauge("crivello_ip_leases_held", "addresses")
        .help("IP addresses whose lease this agent holds")
        .read(|r, s| with(r, |_| s.one(r.workbench.ip_leases_held))),
    gauge("crivello_ip_leases_lent", "addresses")
        .help("IP addresses whose lease this agent has lent to others")
        .read(|r, s| with(r, |_| s.one(r.shared.measured.ip_leases_lent.load(Relaxed)))),
];

fn with(r: &Reading, f: impl FnOnce(&ClusterReading)) {
    if let Some(cluster) = &r.cluster {
        f(cluster);
    }
}

fn peers(r: &Reading, f: impl FnMut(&Peer)) {
    with(r, |cluster| cluster.peers.iter().for_each(f));
}
