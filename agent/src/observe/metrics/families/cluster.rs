//! What is between this agent and the others. An agent that is alone has none of it.

use crate::observe::metrics::Reading;
use crate::observe::metrics::reading::{Cluster, Peer};
use crivello_common::metrics::{MetricFamily, counter, gauge};
use std::sync::atomic::Ordering::Relaxed;

pub const ALL: &[MetricFamily<Reading>] = &[
    gauge("crivello_epoch", "1", &[], "The view that the agent goes by", |r, s| {
        with(r, |cluster| s.one(cluster.epoch));
    }),
    gauge("crivello_idle", "1", &[], "1 while it has nothing to do", |r, s| {
        with(r, |cluster| s.one(cluster.is_idle));
    }),
    counter(
        "crivello_work_total",
        "deeds",
        &[],
        "Rises with whatever it takes in, sends, or fetches",
        |r, s| with(r, |cluster| s.one(cluster.work)),
    ),
    gauge(
        "crivello_groups",
        "groups",
        &["role"],
        "Groups with rows here: authority (it fetches them), copy, pending (it takes them in); \
         estimated beyond 10,000",
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
        "Groups on their way from here, or waiting to be",
        |r, s| with(r, |cluster| s.one(cluster.handoffs)),
    ),
    counter(
        "crivello_handoffs_total",
        "groups",
        &["direction"],
        "Groups whose rows were handed over to their owner (out), or came here (in), in this run",
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
    gauge("crivello_outbox_bytes", "bytes", &["peer"], "Their bytes, on disk", |r, s| {
        peers(r, |peer| s.of(&[&peer.name], peer.bytes));
    }),
    gauge(
        "crivello_outbox_lag_seconds",
        "seconds",
        &["peer"],
        "How long the first of them has been the first: an agent that keeps up has less than one",
        |r, s| peers(r, |peer| s.of(&[&peer.name], peer.lag)),
    ),
    gauge(
        "crivello_peer_queue_bytes",
        "bytes",
        &["peer", "stream"],
        "Packets on their way to an agent, of the main stream and of the one for copies",
        |r, s| {
            peers(r, |peer| {
                for (stream, bytes) in peer.sending {
                    s.of(&[&peer.name, stream], bytes);
                }
            });
        },
    ),
    gauge("crivello_turns_held", "addresses", &[], "Addresses whose turn is here", |r, s| {
        with(r, |_| s.one(r.census.ip_leases_held));
    }),
    gauge(
        "crivello_turns_lent",
        "addresses",
        &[],
        "Addresses whose turn other agents have from this one",
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
