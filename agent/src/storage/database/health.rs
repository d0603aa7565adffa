//! How RocksDB is doing.

use super::{Database, Family};

/// See the module. Read from counters of RocksDB's own; what it does not tell is 0.
#[derive(Clone, Debug, Default)]
pub struct Health {
    /// Of each column family.
    pub families: Vec<FamilyHealth>,
    /// Bytes that compactions have still to rewrite.
    pub pending_compaction_bytes: u64,
    /// Compactions at work.
    pub running_compactions: u64,
    /// Flushes of write buffers at work.
    pub running_flushes: u64,
    /// Write buffers that are full and not flushed.
    pub immutable_memtables: u64,
    /// Writes stand still until compactions have caught up.
    pub is_write_stopped: bool,
    /// Bytes a second to which writes are slowed down; 0 when they are not.
    pub delayed_write_rate: u64,
    /// Errors of flushes and compactions.
    pub background_errors: u64,
    /// Bytes in write buffers.
    pub memtable_bytes: u64,
    /// Bytes of indexes and filters outside the block cache.
    pub table_reader_bytes: u64,
    /// Bytes in the block cache.
    pub block_cache_bytes: u64,
    /// Bytes that it may hold.
    pub block_cache_max: u64,
}

/// One column family.
#[derive(Clone, Debug, Default)]
pub struct FamilyHealth {
    /// Its name.
    pub name: &'static str,
    /// Bytes of its tables.
    pub bytes: u64,
    /// About how many rows it has.
    pub rows: u64,
    /// Tables that were flushed and not yet merged; many of them slow reads down, and then writes.
    pub level0_files: u64,
}

impl Database {
    /// How it is doing.
    #[must_use]
    pub fn health(&self) -> Health {
        let sum = |what: &str| Family::ALL.into_iter().map(|f| self.property(f, what)).sum();
        // The same for all families.
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

    /// About how many rows a family has.
    #[must_use]
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
            disk.put(&mut batch, Family::Seen, &key.to_be_bytes(), &[7; 100]);
        }
        disk.commit(&batch).unwrap();
        let health = disk.health();
        let seen = &health.families[0];
        assert_eq!((seen.name, seen.rows, seen.bytes, seen.level0_files), ("seen", 100, 0, 0));
        assert!(health.memtable_bytes > 10_000 && health.block_cache_max > 0, "{health:?}");
        disk.db.flush_cf(disk.family(Family::Seen)).unwrap();
        let seen = &disk.health().families[0];
        assert!(seen.bytes > 0 && seen.level0_files == 1, "{seen:?}");
        // A property that RocksDB does not have would read as 0 for ever.
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
