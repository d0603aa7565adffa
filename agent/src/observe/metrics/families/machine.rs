//! Metrics of RocksDB, memory, disk and sockets.

use crate::observe::metrics::reading::Reading;
use crivello_common::metrics::{MetricFamily, counter, gauge};
use crivello_common::runtime::open_files;
use std::sync::atomic::Ordering::Relaxed;

pub const ALL: &[MetricFamily<Reading>] = &[
    gauge("crivello_rocksdb_pending_compaction_bytes", "bytes")
        .help("Bytes that compactions still have to rewrite")
        .read(|r, s| s.one(r.health.pending_compaction_bytes)),
    gauge("crivello_rocksdb_level0_files", "files")
        .labels(&["family"])
        .help("Tables that were flushed and not yet merged; from 20 on writes are slowed down")
        .read(|r, s| {
            s.each(r.health.families.iter().map(|family| (family.name, family.level0_files)));
        }),
    gauge("crivello_rocksdb_table_bytes", "bytes")
        .labels(&["family"])
        .help("Tables of each column family")
        .read(|r, s| s.each(r.health.families.iter().map(|family| (family.name, family.bytes)))),
    gauge("crivello_rocksdb_rows", "rows")
        .labels(&["family"])
        .help("Estimated number of rows of each column family")
        .read(|r, s| s.each(r.health.families.iter().map(|family| (family.name, family.rows)))),
    gauge("crivello_rocksdb_running", "jobs")
        .labels(&["task"])
        .help("Compactions and flushes that are running")
        .read(|Reading { health, .. }, s| {
            s.each([("compaction", health.running_compactions), ("flush", health.running_flushes)]);
        }),
    gauge("crivello_rocksdb_memtables_immutable", "memtables")
        .help("Write buffers that are full and wait to be flushed")
        .read(|r, s| s.one(r.health.immutable_memtables)),
    gauge("crivello_rocksdb_writes_stopped", "1")
        .help("1 while writes are stopped because compactions are behind")
        .read(|r, s| s.one(r.health.is_write_stopped)),
    gauge("crivello_rocksdb_delayed_write_rate", "bytes/second")
        .help("The rate to which writes are slowed down; 0 while they are not")
        .read(|r, s| s.one(r.health.delayed_write_rate)),
    counter("crivello_rocksdb_background_errors_total", "errors")
        .help("Errors of flushes and compactions")
        .read(|r, s| s.one(r.health.background_errors)),
    gauge("crivello_block_cache_max_bytes", "bytes")
        .help("Maximum size of RocksDB's block cache: state.block-cache")
        .read(|r, s| s.one(r.health.block_cache_max)),
    gauge("crivello_resident_bytes", "bytes")
        .help("Memory of the process, which several agents may share")
        .read(|r, s| s.one(r.process.resident)),
    gauge("crivello_memory_bytes", "bytes")
        .labels(&["owner"])
        .help(
            "Memory by use, as far as it is counted: block-cache, memtables, table-readers, \
             sieve (its tables), inlinks, robots-rules, large-bodies (reserved), parser and commit \
             (their queues), peers (packets that are not acknowledged)",
        )
        .read(memory),
    gauge("crivello_bodies_waiting", "visits")
        .help("Visits that wait for memory for a large body")
        .read(|r, s| s.one(r.context.bodies().1)),
    gauge("crivello_connections_idle", "hosts")
        .help("Hosts to which an idle connection is kept")
        .read(|r, s| s.one(r.context.connections_idle())),
    gauge("crivello_open_files", "files")
        .help("Files and sockets that the process has open")
        .read(|r, s| s.one(r.process.files)),
    gauge("crivello_open_files_max", "files")
        .help("Maximum number of open files and sockets")
        .read(|_, s| s.one(open_files())),
    gauge("crivello_disk_used_bytes", "bytes")
        .labels(&["what"])
        .help("Size of the agent's files: state, archive")
        .read(|r, s| s.each([("state", r.state_bytes), ("archive", r.archive_bytes)])),
    counter("crivello_archive_files_deleted_total", "files")
        .help("Archive files deleted by archive.keep-age or archive.keep-size, in this run")
        .read(|r, s| s.one(r.shared.measured.archive_files_deleted.load(Relaxed))),
    gauge("crivello_payload_digests", "payloads")
        .labels(&["of"])
        .help(
            "Payloads in the sets of this agent (own) and of other agents (peers), with \
             store.peer-revisits",
        )
        .read(|r, s| {
            let counts = &r.shared.measured.payloads;
            let (own, peers) = (&counts.own_digests, &counts.peer_digests);
            s.each([("own", own.load(Relaxed)), ("peers", peers.load(Relaxed))]);
        }),
    gauge("crivello_payload_digest_bytes", "bytes")
        .labels(&["of"])
        .help("Memory of these sets")
        .read(|r, s| {
            let counts = &r.shared.measured.payloads;
            let (own, peers) = (&counts.own_bytes, &counts.peer_bytes);
            s.each([("own", own.load(Relaxed)), ("peers", peers.load(Relaxed))]);
        }),
    gauge("crivello_payload_digests_left_out", "payloads")
        .labels(&["of"])
        .help(
            "Payloads that are in no set because state.digests-memory is too small: other agents \
             archive them again",
        )
        .read(|r, s| {
            let counts = &r.shared.measured.payloads;
            let (own, peers) = (&counts.own_left_out, &counts.peer_left_out);
            s.each([("own", own.load(Relaxed)), ("peers", peers.load(Relaxed))]);
        }),
    counter("crivello_payload_sets_damaged_total", "sets")
        .help("Sets of other agents that were damaged and are not used, in this run")
        .read(|r, s| s.one(r.shared.measured.payloads.damaged.load(Relaxed))),
    counter("crivello_payload_questions_total", "pages")
        .labels(&["result"])
        .help(
            "Pages whose payload another agent may have, by what it answered: found, \
             false-positive, failed",
        )
        .read(|r, s| {
            let counts = &r.shared.measured.payloads;
            s.each([
                ("found", counts.found.load(Relaxed)),
                ("false-positive", counts.false_positives.load(Relaxed)),
                ("failed", counts.failed.load(Relaxed)),
            ]);
        }),
    gauge("crivello_index_pages", "pages")
        .help("Pages that can be searched, after the last update in this run")
        .read(|r, s| s.one(r.shared.measured.indexed_pages.load(Relaxed))),
    gauge("crivello_index_bytes", "bytes")
        .help("Size of the index of these pages")
        .read(|r, s| s.one(r.shared.measured.index_bytes.load(Relaxed))),
    counter("crivello_index_failures_total", "updates")
        .help("Updates of the index that failed; each is tried again after a minute")
        .read(|r, s| s.one(r.shared.measured.index_failures.load(Relaxed))),
    counter("crivello_index_damage_total", "places")
        .help("Damaged places of archive files that the index leaves out, in this run")
        .read(|r, s| s.one(r.shared.measured.index_damage.load(Relaxed))),
    gauge("crivello_upload_waiting_files", "files")
        .help("Sealed archive files that are not verified in the object store, or whose index or table is not")
        .read(|r, s| s.one(r.shared.uploads.borrow().files_waiting)),
    gauge("crivello_upload_waiting_bytes", "bytes")
        .help("Bytes of the files and indexes that wait; those of tables are not known before")
        .read(|r, s| s.one(r.shared.uploads.borrow().bytes_waiting)),
    gauge("crivello_upload_stored_files", "files")
        .help("Archive files whose copies were read back from the object store, in all runs")
        .read(|r, s| s.one(r.shared.uploads.borrow().files_stored)),
    gauge("crivello_upload_stored_bytes", "bytes")
        .help("Bytes of these files, with their indexes and tables")
        .read(|r, s| s.one(r.shared.uploads.borrow().bytes_stored)),
    counter("crivello_upload_failures_total", "attempts")
        .help("Attempts to upload that failed, in this run")
        .read(|r, s| s.one(r.shared.uploads.borrow().failures)),
    gauge("crivello_upload_failing_seconds", "seconds")
        .help("Time for which every attempt to upload has failed; 0 while uploads succeed")
        .read(|r, s| s.one(failing_seconds(r))),
    counter("crivello_upload_files_deleted_total", "files")
        .help("Archive files deleted by upload.delete-after, in this run")
        .read(|r, s| s.one(r.shared.uploads.borrow().files_deleted)),
    counter("crivello_upload_tables_failed_total", "tables")
        .help("Tables of archive files that could not be made, in this run")
        .read(|r, s| s.one(r.shared.uploads.borrow().tables_failed)),
    counter("crivello_upload_table_damage_total", "places")
        .help("Damaged places of archive files that their tables leave out, in this run")
        .read(|r, s| s.one(r.shared.uploads.borrow().table_damage)),
    gauge("crivello_disk_free_bytes", "bytes")
        .help("Free space on its disk; below state.disk-free-min fetching waits")
        .read(|r, s| s.one(r.free_bytes)),
];

fn failing_seconds(r: &Reading) -> f64 {
    let uploads = r.shared.uploads.borrow();
    let since = uploads.problem.as_ref().map(|(since, _)| *since);
    since.map_or(0.0, |since| r.shared.clock.now().since(since).as_secs_f64())
}

fn memory(r: &Reading, s: &mut crivello_common::metrics::Samples) {
    let (bodies, pages) = r.shared.pipeline.bytes();
    let peers = r.cluster.iter().flat_map(|cluster| &cluster.peers);
    let peers: usize = peers.flat_map(|peer| peer.sending).map(|(_, bytes)| bytes).sum();
    s.of(&["block-cache"], r.health.block_cache_bytes);
    s.of(&["memtables"], r.health.memtable_bytes);
    s.of(&["table-readers"], r.health.table_reader_bytes);
    let cache = r.shared.settings.state.sieve_cache.as_usize();
    s.of(&["sieve"], cache + r.sieve.seen_bytes);
    s.of(&["inlinks"], r.inlinks.bytes);
    s.of(&["robots-rules"], r.workbench.rules_bytes);
    s.of(&["large-bodies"], r.context.bodies().0);
    s.of(&["parser"], bodies);
    s.of(&["commit"], pages);
    s.of(&["peers"], peers);
}
