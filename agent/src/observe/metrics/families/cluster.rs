//! Metrics of the agent's part in a cluster. An agent that is alone has none.

use crate::observe::metrics::reading::{Cluster, Peer, Reading};
use crivello_common::metrics::{MetricFamily, counter, gauge};
use std::sync::atomic::Ordering::Relaxed;

pub const ALL: &[MetricFamily<Reading>] = &[
    gauge("crivello_epoch", "1", &[], "The epoch of the view in force", |r, s| {
        with(r, |cluster| s.one(cluster.epoch));
    }),
    gauge("crivello_idle", "1", &[], "1 while the agent has nothing to do", |r, s| {
        with(r, |cluster| s.one(cluster.is_idle));
    }),
    counter(
        "crivello_work_total",
        "deeds",
        &[],
        "Messages and URLs received, sent or fetched",
        |r, s| with(r, |cluster| s.one(cluster.work)),
    ),
    gauge(
        "crivello_groups",
        "groups",
        &["role"],
        "Groups with rows here by role: authority (this agent fetches them), copy (replica), pending (rows are coming in); estimated beyond 10,000",
        |r, s| {
            with(r, |Cluster { roles, .. }| {
                s.of(&["authority"], roles.authority);
                s.of(&["copy"], roles.copy);
                s.of(&["pending"], roles.pending);
            });
        },
    ),
    gauge(
        "crivello_handoffs_in_progress",
        "groups",
        &[],
        "Groups that are being handed off or replicated, or wait for it",
        |r, s| with(r, |cluster| s.one(cluster.handoffs)),
    ),
    counter(
        "crivello_handoffs_total",
        "groups",
        &["direction"],
        "Groups that were handed off to another agent (out) or received (in), in this run",
        |r, s| {
            with(r, |_| {
                s.of(&["out"], r.shared.measured.groups_out.load(Relaxed));
                s.of(&["in"], r.shared.measured.groups_in.load(Relaxed));
            });
        },
    ),
    gauge(
        "crivello_outbox_rows",
        "rows",
        &["peer"],
        "Rows of the outbox that an agent has not acknowledged",
        |r, s| peers(r, |peer| s.of(&[&peer.name], peer.rows)),
    ),
    gauge("crivello_outbox_bytes", "bytes", &["peer"], "Bytes of these rows, on disk", |r, s| {
        peers(r, |peer| s.of(&[&peer.name], peer.bytes));
    }),
    gauge(
        "crivello_outbox_lag_seconds",
        "seconds",
        &["peer"],
        "Time since the first of these rows became the first; below one second for an agent that keeps up",
        |r, s| peers(r, |peer| s.of(&[&peer.name], peer.lag)),
    ),
    gauge(
        "crivello_peer_queue_bytes",
        "bytes",
        &["peer", "stream"],
        "Packets on the way to an agent, on the main stream and on that for replicas",
        |r, s| {
            peers(r, |peer| {
                for (stream, bytes) in peer.sending {
                    s.of(&[&peer.name, stream], bytes);
                }
            });
        },
    ),
    gauge(
        "crivello_ip_leases_held",
        "addresses",
        &[],
        "IP addresses whose lease this agent holds",
        |r, s| {
            with(r, |_| s.one(r.census.ip_leases_held));
        },
    ),
    gauge(
        "crivello_ip_leases_lent",
        "addresses",
        &[],
        "IP addresses whose lease this agent has lent to others",
        |r, s| with(r, |_| s.one(r.shared.measured.ip_leases_lent.load(Relaxed))),
    ),
];

fn with(r: &Reading, f: impl FnOnce(&Cluster)) {
    if let Some(cluster) = &r.cluster {
        f(cluster);
    }
}

fn peers(r: &Reading, f: impl FnMut(&Peer)) {
    with(r, |cluster| cluster.peers.iter().for_each(f));
}
