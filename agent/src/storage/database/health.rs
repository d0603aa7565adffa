//! Health of RocksDB: backlogs, stalls, errors, memory.

use super::Database;
use crate::storage::Family;

/// Health of RocksDB, from its own counters. A value that it does not report is 0.
#[derive(Clone, Debug, Default)]
pub struct Health {
    /// Health of each column family.
    pub families: Vec<FamilyHealth>,
    /// Bytes that compactions still have to rewrite.
    pub pending_compaction_bytes: u64,
    /// Number of compactions in progress.
    pub running_compactions: u64,
    /// Number of flushes of write buffers in progress.
    pub running_flushes: u64,
    /// Number of write buffers that are full and not flushed.
    pub immutable_memtables: u64,
    /// True while writes are stopped until compactions have caught up.
    pub is_write_stopped: bool,
    /// Bytes per second to which writes are slowed down; 0 if they are not.
    pub delayed_write_rate: u64,
    /// Number of errors of flushes and compactions.
    pub background_errors: u64,
    /// Bytes in write buffers.
    pub memtable_bytes: u64,
    /// Bytes of indexes and filters outside the block cache.
    pub table_reader_bytes: u64,
    /// Bytes in the block cache.
    pub block_cache_bytes: u64,
    /// Maximum number of bytes in the block cache.
    pub block_cache_max: u64,
}

/// Health of one column family.
#[derive(Clone, Debug, Default)]
pub struct FamilyHealth {
    /// Name of the family.
    pub name: &'static str,
    /// Bytes of the family's tables.
    pub bytes: u64,
    /// Approximate number of rows.
    pub rows: u64,
    /// Number of tables that were flushed and are not merged yet. Many of them slow down reads, and
    /// then writes.
    pub level0_files: u64,
}

impl Database {
    /// Returns the health of the database.
    pub fn health(&self) -> Health {
        let sum = |what: &str| Family::ALL.into_iter().map(|f| self.property(f, what)).sum();
        // These values are the same for all families.
        let one = |what: &str| self.property(Family::Meta, what);
        Health {
            families: Family::ALL.map(|family| self.family_health(family)).to_vec(),
            pending_compaction_bytes: sum("rocksdb.estimate-pending-compaction-bytes"),
            running_compactions: one("rocksdb.num-running-compactions"),
            running_flushes: one("rocksdb.num-running-flushes"),
            immutable_memtables: sum("rocksdb.num-immutable-mem-table"),
            is_write_stopped: one("rocksdb.is-write-stopped") > 0,
            delayed_write_rate: one("rocksdb.actual-delayed-write-rate"),
            background_errors: one("rocksdb.background-errors"),
            memtable_bytes: sum("rocksdb.cur-size-all-mem-tables"),
            table_reader_bytes: sum("rocksdb.estimate-table-readers-mem"),
            block_cache_bytes: one("rocksdb.block-cache-usage"),
            block_cache_max: one("rocksdb.block-cache-capacity"),
        }
    }

    fn family_health(&self, family: Family) -> FamilyHealth {
        let level0 = self.db.property_value_cf(self.family(family), "rocksdb.num-files-at-level0");
        FamilyHealth {
            name: family.name(),
            bytes: self.size_on_disk(family),
            rows: self.rows(family),
            level0_files: level0.ok().flatten().and_then(|n| n.parse().ok()).unwrap_or(0),
        }
    }

    /// Returns the approximate number of bytes of a family on disk.
    pub fn size_on_disk(&self, family: Family) -> u64 {
        self.property(family, "rocksdb.total-sst-files-size")
    }

    /// Returns the approximate number of rows of a family.
    pub fn rows(&self, family: Family) -> u64 {
        self.property(family, "rocksdb.estimate-num-keys")
    }

    fn property(&self, family: Family, name: &str) -> u64 {
        self.db.property_int_value_cf(self.family(family), name).ok().flatten().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::Batch;
    use crivello_common::config::State;

    #[test]
    fn rocksdb_knows_all_that_it_is_asked() {
        let dir = tempfile::tempdir().unwrap();
        let disk = Database::open(dir.path(), true, &State::default()).unwrap();
        let mut batch = Batch::default();
        for key in 0_u32..100 {
            batch.put(Family::Seen, &key.to_be_bytes(), &[7; 100]);
        }
        disk.commit(&batch).unwrap();
        let health = disk.health();
        let seen = &health.families[0];
        assert_eq!((seen.name, seen.rows, seen.bytes, seen.level0_files), ("seen", 100, 0, 0));
        assert!(health.memtable_bytes > 10_000 && health.block_cache_max > 0, "{health:?}");
        disk.db.flush_cf(disk.family(Family::Seen)).unwrap();
        let seen = &disk.health().families[0];
        assert!(seen.bytes > 0 && seen.level0_files == 1, "{seen:?}");
        // A property that RocksDB does not have would always read as 0.
        for name in [
            "estimate-pending-compaction-bytes",
            "num-running-compactions",
            "num-running-flushes",
            "num-immutable-mem-table",
            "is-write-stopped",
            "actual-delayed-write-rate",
            "background-errors",
            "cur-size-all-mem-tables",
            "estimate-table-readers-mem",
            "block-cache-usage",
            "block-cache-capacity",
            "estimate-num-keys",
        ] {
            let value = disk.db.property_int_value_cf(
                disk.family(Family::Meta),
                format!("rocksdb.{name}").as_str(),
            );
            assert!(matches!(value, Ok(Some(_))), "{name}: {value:?}");
        }
    }
}
