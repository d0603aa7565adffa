//! Metrics of RocksDB, memory, disk and sockets.

use crate::observe::metrics::reading::Reading;
use crivello_common::metrics::{MetricFamily, counter, gauge};
use crivello_common::runtime::open_files;

pub const ALL: &[MetricFamily<Reading>] = &[
    gauge(
        "crivello_rocksdb_pending_compaction_bytes",
        "bytes",
        &[],
        "Bytes that compactions still have to rewrite",
        |r, s| s.one(r.health.pending_compaction_bytes),
    ),
    gauge(
        "crivello_rocksdb_level0_files",
        "files",
        &["family"],
        "Tables that were flushed and not yet merged; from 20 on writes are slowed down",
        |r, s| {
            for family in &r.health.families {
                s.of(&[family.name], family.level0_files);
            }
        },
    ),
    gauge(
        "crivello_rocksdb_table_bytes",
        "bytes",
        &["family"],
        "Tables of each column family",
        |r, s| {
            for family in &r.health.families {
                s.of(&[family.name], family.bytes);
            }
        },
    ),
    gauge(
        "crivello_rocksdb_rows",
        "rows",
        &["family"],
        "Estimated number of rows of each column family",
        |r, s| {
            for family in &r.health.families {
                s.of(&[family.name], family.rows);
            }
        },
    ),
    gauge(
        "crivello_rocksdb_running",
        "jobs",
        &["task"],
        "Compactions and flushes that are running",
        |r, s| {
            s.of(&["compaction"], r.health.running_compactions);
            s.of(&["flush"], r.health.running_flushes);
        },
    ),
    gauge(
        "crivello_rocksdb_memtables_immutable",
        "memtables",
        &[],
        "Write buffers that are full and wait to be flushed",
        |r, s| s.one(r.health.immutable_memtables),
    ),
    gauge(
        "crivello_rocksdb_writes_stopped",
        "1",
        &[],
        "1 while writes are stopped because compactions are behind",
        |r, s| s.one(r.health.is_write_stopped),
    ),
    gauge(
        "crivello_rocksdb_delayed_write_rate",
        "bytes/second",
        &[],
        "The rate to which writes are slowed down; 0 while they are not",
        |r, s| s.one(r.health.delayed_write_rate),
    ),
    counter(
        "crivello_rocksdb_background_errors_total",
        "errors",
        &[],
        "Errors of flushes and compactions",
        |r, s| s.one(r.health.background_errors),
    ),
    gauge(
        "crivello_block_cache_max_bytes",
        "bytes",
        &[],
        "Maximum size of RocksDB's block cache: state.block-cache",
        |r, s| s.one(r.health.block_cache_max),
    ),
    gauge(
        "crivello_resident_bytes",
        "bytes",
        &[],
        "Memory of the process, which several agents may share",
        |r, s| s.one(r.process.resident),
    ),
    gauge(
        "crivello_memory_bytes",
        "bytes",
        &["owner"],
        "Memory by use, as far as it is counted: block-cache, memtables, table-readers, sieve (its tables), robots-rules, large-bodies (reserved), parser and commit (their queues), peers (packets that are not acknowledged)",
        memory,
    ),
    gauge(
        "crivello_bodies_waiting",
        "visits",
        &[],
        "Visits that wait for memory for a large body",
        |r, s| s.one(r.context.bodies().1),
    ),
    gauge(
        "crivello_connections_idle",
        "hosts",
        &[],
        "Hosts to which an idle connection is kept",
        |r, s| s.one(r.context.connections_idle()),
    ),
    gauge(
        "crivello_open_files",
        "files",
        &[],
        "Files and sockets that the process has open",
        |r, s| s.one(r.process.files),
    ),
    gauge(
        "crivello_open_files_max",
        "files",
        &[],
        "Maximum number of open files and sockets",
        |_, s| {
            s.one(open_files());
        },
    ),
    gauge(
        "crivello_disk_used_bytes",
        "bytes",
        &["what"],
        "Size of the agent's files: state, archive",
        |r, s| {
            s.of(&["state"], r.used.state);
            s.of(&["archive"], r.used.archive);
        },
    ),
    gauge(
        "crivello_disk_free_bytes",
        "bytes",
        &[],
        "Free space on its disk; below state.disk-free-min fetching waits",
        |r, s| s.one(r.used.free),
    ),
];

fn memory(r: &Reading, s: &mut crivello_common::metrics::Samples) {
    let (bodies, pages) = r.shared.pipeline.bytes();
    let peers = r.cluster.iter().flat_map(|cluster| &cluster.peers);
    let peers: usize = peers.flat_map(|peer| peer.sending).map(|(_, bytes)| bytes).sum();
    s.of(&["block-cache"], r.health.block_cache_bytes);
    s.of(&["memtables"], r.health.memtable_bytes);
    s.of(&["table-readers"], r.health.table_reader_bytes);
    let cache = r.shared.settings.state.sieve_cache.as_usize();
    s.of(&["sieve"], cache + r.sieve.seen_bytes);
    s.of(&["robots-rules"], r.census.rules_bytes);
    s.of(&["large-bodies"], r.context.bodies().0);
    s.of(&["parser"], bodies);
    s.of(&["commit"], pages);
    s.of(&["peers"], peers);
}
