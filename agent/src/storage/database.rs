//! The database: opening it, and the few operations that stages use.

mod health;

pub use health::{FamilyHealth, Health};

use super::{Batch, DiskError, Family, Row, lock};
use crate::limits::DATABASE_FILES_MAX;
use crivello_common::config::State;
use crivello_common::runtime::Replacement;
use rocksdb::{
    BlockBasedIndexType, BlockBasedOptions, Cache, ColumnFamily, ColumnFamilyDescriptor, DB,
    DBCompressionType, DBRawIterator, DEFAULT_COLUMN_FAMILY_NAME, Options, ReadOptions,
    WriteBufferManager, WriteOptions,
};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Name of a file beside RocksDB's own, with the sequence number up to which the log was certainly
/// synced.
const SYNCED: &str = "SYNCED";
/// Minimum of the bound on the log's size, in bytes.
const WAL_BYTES_MIN: u64 = 4 << 20;
/// Bytes of one table file. The memory to build its filter is proportional.
const FILE_SIZE: u64 = 32 << 20;

/// The database. Many threads read; one thread writes.
pub struct Database {
    path: PathBuf,
    db: DB,
    /// Lock of a database that is opened only for reading.
    _lock: Option<fs::File>,
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Database at {}", self.path.display())
    }
}

impl Database {
    /// Opens the database in `path`; `create` is true if it may be new. An existing one is opened
    /// read-only first, which changes nothing: opening it for writing would drop all that follows a
    /// damaged place in the log.
    ///
    /// # Errors
    /// [`DiskError`] if it is missing, in use by another process or damaged, or if the disk fails.
    pub fn open(path: &Path, create: bool, settings: &State) -> Result<Self, DiskError> {
        let failed = |source: rocksdb::Error| {
            if source.to_string().contains("/LOCK") {
                return DiskError::InUse { path: path.to_owned() };
            }
            DiskError::Database { path: path.to_owned(), what: "cannot be opened", source }
        };
        if !create {
            // Another process that has it open continues to write, also to `SYNCED`: a difference
            // would not be damage.
            let _lock = lock::hold(path)?;
            let db = open_read_only(path, settings).map_err(failed)?;
            must_reach(path, db.latest_sequence_number())?;
        }
        let (options, families) = configure(create, settings);
        let db = DB::open_cf_descriptors(&options, path, families).map_err(failed)?;
        Ok(Self { path: path.to_owned(), db, _lock: None })
    }

    /// Opens the database in `path` for reading, while nobody else may open it.
    ///
    /// # Errors
    /// Same as [`Self::open`].
    pub fn open_read_only(path: &Path, settings: &State) -> Result<Self, DiskError> {
        let lock = lock::hold(path)?;
        let failed = |source| DiskError::Database {
            path: path.to_owned(),
            what: "cannot be opened for reading",
            source,
        };
        let db = open_read_only(path, settings).map_err(failed)?;
        must_reach(path, db.latest_sequence_number())?;
        Ok(Self { path: path.to_owned(), db, _lock: lock })
    }

    /// Returns the directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn family(&self, family: Family) -> &ColumnFamily {
        // Every family is opened with the database, and none is ever dropped.
        #[expect(clippy::expect_used, reason = "opened with the database")]
        self.db.cf_handle(family.name()).expect("column family is open")
    }

    fn error(&self, what: &'static str) -> impl FnOnce(rocksdb::Error) -> DiskError + '_ {
        move |source| DiskError::Database { path: self.path.clone(), what, source }
    }

    /// Returns one value.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails.
    pub fn get(&self, family: Family, key: &[u8]) -> Result<Option<Vec<u8>>, DiskError> {
        self.db.get_cf(self.family(family), key).map_err(self.error("cannot be read"))
    }

    /// Returns one row of a family with rows of type `T`.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails or the row is damaged.
    pub fn row<T: Row>(&self, key: &[u8]) -> Result<Option<T>, DiskError> {
        self.get(T::FAMILY, key)?.map(|value| T::decode(&value)).transpose()
    }

    /// Calls `f` with the index and the value of each key in turn. The keys must be sorted.
    ///
    /// # Errors
    /// [`DiskError`] if the disk or `f` fails.
    pub fn get_sorted<K: AsRef<[u8]>>(
        &self,
        family: Family,
        keys: &[K],
        mut f: impl FnMut(usize, Option<&[u8]>) -> Result<(), DiskError>,
    ) -> Result<(), DiskError> {
        if keys.is_empty() {
            return Ok(());
        }
        let refs = keys.iter().map(AsRef::as_ref);
        let found = self.db.batched_multi_get_cf(self.family(family), refs, true);
        for (i, value) in found.into_iter().enumerate() {
            f(i, value.map_err(self.error("cannot be read"))?.as_deref())?;
        }
        Ok(())
    }

    /// Calls `f` with the rows from `from` to below `end`, in the order of keys, until it returns
    /// false.
    ///
    /// # Errors
    /// [`DiskError`] if the disk or `f` fails.
    pub fn walk(
        &self,
        family: Family,
        from: &[u8],
        end: &[u8],
        mut f: impl FnMut(&[u8], &[u8]) -> Result<bool, DiskError>,
    ) -> Result<(), DiskError> {
        let mut options = ReadOptions::default();
        options.set_iterate_upper_bound(end);
        let mut rows: DBRawIterator<'_> = self.db.raw_iterator_cf_opt(self.family(family), options);
        rows.seek(from);
        while let Some((key, value)) = rows.item() {
            if !f(key, value)? {
                return Ok(());
            }
            rows.next();
        }
        rows.status().map_err(self.error("cannot be read"))
    }

    /// Writes all of `batch` at once. The changes survive the death of the process; after
    /// [`Self::sync`] they also survive that of the machine.
    ///
    /// # Errors
    /// [`DiskError`] if the disk is full or fails. Nothing of the batch has happened then.
    pub fn commit(&self, batch: &Batch) -> Result<(), DiskError> {
        let batch = batch.sorted(|family| self.family(family));
        self.db.write_opt(batch, &WriteOptions::default()).map_err(self.error("cannot be written"))
    }

    /// Syncs all that was committed to the disk.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails.
    pub fn sync(&self) -> Result<(), DiskError> {
        let synced = self.db.latest_sequence_number();
        self.db.flush_wal(true).map_err(self.error("cannot be synced"))?;
        // If there is no space for the file, the older one stays, which promises less.
        let unsynced = Replacement { sync: false, ..Replacement::default() };
        let _ = unsynced
            .write(&self.path.join(SYNCED), |file| file.write_all(synced.to_string().as_bytes()));
        Ok(())
    }

    /// Stops background work, so that closing is fast.
    pub fn close(&self) {
        self.db.cancel_all_background_work(true);
    }
}

/// Returns an error if the state is older than what had been synced. To RocksDB, damage that leaves
/// a shorter log, or none, is no error: it continues from an earlier state.
fn must_reach(path: &Path, found: u64) -> Result<(), DiskError> {
    let note = fs::read_to_string(path.join(SYNCED)).unwrap_or_default();
    match note.parse::<u64>() {
        Ok(synced) if found < synced => {
            Err(DiskError::Behind { path: path.to_owned(), found, synced })
        }
        _ => Ok(()),
    }
}

fn open_read_only(path: &Path, settings: &State) -> Result<DB, rocksdb::Error> {
    let (options, families) = configure(false, settings);
    DB::open_cf_descriptors_read_only(&options, path, families, false)
}

/// Returns the options of the database, and its families with theirs.
fn configure(create: bool, settings: &State) -> (Options, Vec<ColumnFamilyDescriptor>) {
    let cache = Cache::new_lru_cache(settings.block_cache.as_usize());
    let descriptor = |name: &str, family| {
        ColumnFamilyDescriptor::new(name, family_options(family, &cache, settings))
    };
    let mut families = Vec::from(Family::ALL.map(|family| descriptor(family.name(), family)));
    // Never used, but its write buffer counts towards the space that is needed after a full disk.
    families.push(descriptor(DEFAULT_COLUMN_FAMILY_NAME, Family::Meta));
    (database_options(create, settings), families)
}

/// Splits filters and indexes into pieces of a few blocks, so that the cache loads and evicts them
/// like any block. One that is larger than a shard of the cache is read again for every key.
fn partition(table: &mut BlockBasedOptions) {
    table.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
    table.set_partition_filters(true);
    table.set_metadata_block_size(16 << 10);
    table.set_pin_top_level_index_and_filter(true);
}

fn database_options(create: bool, settings: &State) -> Options {
    let buffers =
        WriteBufferManager::new_write_buffer_manager(settings.write_buffers.as_usize(), false);
    let mut o = Options::default();
    o.create_if_missing(create);
    o.create_missing_column_families(create);
    o.set_write_buffer_manager(&buffers);
    o.set_max_background_jobs(2);
    o.set_max_open_files(DATABASE_FILES_MAX);
    // A start reads the log. A quiet family keeps a log from being dropped; it must not grow beyond
    // what the write buffers hold.
    o.set_max_total_wal_size(settings.write_buffers.0.max(WAL_BYTES_MIN));
    o.set_keep_log_file_num(4);
    o.set_max_log_file_size(4 << 20);
    o.set_stats_dump_period_sec(0);
    o.set_skip_stats_update_on_db_open(true);
    o.set_bytes_per_sync(1 << 20);
    o.set_wal_bytes_per_sync(1 << 20);
    o
}

fn family_options(family: Family, cache: &Cache, settings: &State) -> Options {
    let mut table = BlockBasedOptions::default();
    table.set_block_cache(cache);
    table.set_cache_index_and_filter_blocks(true);
    table.set_pin_l0_filter_and_index_blocks_in_cache(true);
    table.set_format_version(6);
    let mut o = Options::default();
    o.set_level_compaction_dynamic_level_bytes(true);
    o.set_compression_type(DBCompressionType::Lz4);
    o.set_target_file_size_base(FILE_SIZE);
    let share = |n: usize| (settings.write_buffers.as_usize() / n).max(1 << 20);
    table.set_block_size(if family == Family::Frontier { 16 << 10 } else { 4 << 10 });
    if matches!(family, Family::Frontier | Family::Schedule | Family::Due) {
        // A queue leaves tombstones at its head; compact where they accumulate.
        o.add_compact_on_deletion_collector_factory(4_096, 2_048, 0.5);
    }
    match family {
        Family::Seen | Family::Content => {
            table.set_bloom_filter(10.0, false);
            table.set_optimize_filters_for_memory(true);
            partition(&mut table);
            o.set_write_buffer_size(share(4));
            o.set_memtable_whole_key_filtering(true);
            o.set_memtable_prefix_bloom_ratio(0.05);
        }
        Family::Frontier => o.set_write_buffer_size(share(4)),
        Family::Hosts
        | Family::Robots
        | Family::Schedule
        | Family::Due
        | Family::Groups
        | Family::Known
        | Family::Near
        | Family::Outbox
        | Family::Meta => {
            table.set_ribbon_filter(10.0);
            partition(&mut table);
            o.set_write_buffer_size(share(8));
        }
    }
    o.set_block_based_table_factory(&table);
    o
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::tempdir;

    /// Damage to a table file is found when its block is read, and the error names the file and the
    /// page about what to do.
    #[test]
    fn a_damaged_table_file_is_named() {
        let dir = tempdir().unwrap();
        let path = dir.path().join("state");
        let settings = State::default();
        let db = Database::open(&path, true, &settings).unwrap();
        let mut batch = Batch::default();
        for n in 0..2_000_u32 {
            batch.put(Family::Hosts, &n.to_be_bytes(), &[n as u8; 100]);
        }
        db.commit(&batch).unwrap();
        db.db.flush_cf(db.family(Family::Hosts)).unwrap();
        db.sync().unwrap();
        drop(db);
        let files = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path());
        let file = files.filter(|file| file.extension().is_some_and(|e| e == "sst"));
        let file = file.max_by_key(|file| fs::metadata(file).unwrap().len()).unwrap();
        let mut bytes = fs::read(&file).unwrap();
        bytes[100..1_000].fill(0xA5);
        fs::write(&file, bytes).unwrap();
        let db = Database::open(&path, false, &settings).unwrap();
        let error = db.get(Family::Hosts, &0_u32.to_be_bytes()).unwrap_err().to_string();
        let name = file.file_name().unwrap().to_str().unwrap();
        assert!(error.contains(name), "{error}");
        assert!(
            error.contains("A damaged agent directory") && error.contains("operating.md"),
            "{error}"
        );
    }
}
