//! Opening the database, and the few operations the rooms use.

mod health;

pub use health::{FamilyHealth, Health};

use super::{Batch, DiskError, lock};
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

/// How far the log had certainly been synced: a sequence number, in a file beside RocksDB's own.
const SYNCED: &str = "SYNCED";
/// The log may be this long in any case.
const WAL_BYTES_MIN: u64 = 4 << 20;
/// Bytes of one table file: building its filter takes memory in proportion.
const FILE_SIZE: u64 = 32 << 20;

/// The column families.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[expect(missing_docs, reason = "see the table in the module doc")]
pub enum Family {
    Seen,
    Frontier,
    Hosts,
    Robots,
    Schedule,
    Groups,
    Content,
    Outbox,
    Meta,
}

impl Family {
    const ALL: [Self; 9] = [
        Self::Seen,
        Self::Frontier,
        Self::Hosts,
        Self::Robots,
        Self::Schedule,
        Self::Groups,
        Self::Content,
        Self::Outbox,
        Self::Meta,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Seen => "seen",
            Self::Frontier => "frontier",
            Self::Hosts => "hosts",
            Self::Robots => "robots",
            Self::Schedule => "schedule",
            Self::Groups => "groups",
            Self::Content => "content",
            Self::Outbox => "outbox",
            Self::Meta => "meta",
        }
    }
}

/// The database, shared by those who read; one thread writes.
pub struct Database {
    path: PathBuf,
    db: DB,
    /// Of one that is only looked at.
    _lock: Option<fs::File>,
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Database at {}", self.path.display())
    }
}

impl Database {
    /// Opens the database in `path`; `create` says whether it may be new. One that is there is
    /// looked at first, without a change to it: opening for writing would drop what follows a
    /// damaged place in the log.
    ///
    /// # Errors
    /// When it is missing, in use by another process, damaged, or the disk fails.
    pub fn open(path: &Path, create: bool, settings: &State) -> Result<Self, DiskError> {
        let failed = |source: rocksdb::Error| {
            if source.to_string().contains("/LOCK") {
                return DiskError::InUse { path: path.to_owned() };
            }
            DiskError::Database { path: path.to_owned(), what: "cannot be opened", source }
        };
        let cache = Cache::new_lru_cache(settings.block_cache.as_usize());
        let buffers =
            WriteBufferManager::new_write_buffer_manager(settings.write_buffers.as_usize(), false);
        let options = database_options(create, &buffers, settings);
        if !create {
            // Who has it open goes on writing and noting: what would be seen is no damage.
            let _lock = lock::hold(path)?;
            let families = families(&cache, settings);
            let db = DB::open_cf_descriptors_read_only(&options, path, families, false)
                .map_err(failed)?;
            must_reach(path, db.latest_sequence_number())?;
        }
        let families = families(&cache, settings);
        let db = DB::open_cf_descriptors(&options, path, families).map_err(failed)?;
        Ok(Self { path: path.to_owned(), db, _lock: None })
    }

    /// Opens the database in `path` to look into it, while nobody else may open it.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn look_into(path: &Path, settings: &State) -> Result<Self, DiskError> {
        let lock = lock::hold(path)?;
        let failed = |source| DiskError::Database {
            path: path.to_owned(),
            what: "cannot be opened for reading",
            source,
        };
        let cache = Cache::new_lru_cache(settings.block_cache.as_usize());
        let buffers =
            WriteBufferManager::new_write_buffer_manager(settings.write_buffers.as_usize(), false);
        let options = database_options(false, &buffers, settings);
        let families = families(&cache, settings);
        let db =
            DB::open_cf_descriptors_read_only(&options, path, families, false).map_err(failed)?;
        must_reach(path, db.latest_sequence_number())?;
        Ok(Self { path: path.to_owned(), db, _lock: lock })
    }

    fn family(&self, family: Family) -> &ColumnFamily {
        // Every family is opened in `open`, and none is ever dropped.
        #[expect(clippy::expect_used, reason = "opened with the database")]
        self.db.cf_handle(family.name()).expect("column family is open")
    }

    fn error(&self, what: &'static str) -> impl FnOnce(rocksdb::Error) -> DiskError + '_ {
        move |source| DiskError::Database { path: self.path.clone(), what, source }
    }

    /// One value.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn get(&self, family: Family, key: &[u8]) -> Result<Option<Vec<u8>>, DiskError> {
        self.db.get_cf(self.family(family), key).map_err(self.error("cannot be read"))
    }

    /// Calls `f` with the index and the value of each key in turn. The keys must be sorted.
    ///
    /// # Errors
    /// When the disk fails, or `f` does.
    pub fn get_sorted<K: AsRef<[u8]>>(
        &self,
        family: Family,
        keys: &[K],
        mut f: impl FnMut(usize, Option<&[u8]>) -> Result<(), DiskError>,
    ) -> Result<(), DiskError> {
        let refs = keys.iter().map(AsRef::as_ref);
        let found = self.db.batched_multi_get_cf(self.family(family), refs, true);
        for (i, value) in found.into_iter().enumerate() {
            f(i, value.map_err(self.error("cannot be read"))?.as_deref())?;
        }
        Ok(())
    }

    /// Walks the rows from `from` on, in the order of keys, below `end`, until `f` says false.
    ///
    /// # Errors
    /// When the disk fails, or `f` does.
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

    /// Adds a row to `batch`.
    pub fn put(&self, batch: &mut Batch, family: Family, key: &[u8], value: &[u8]) {
        batch.add(family, key, Some(value));
    }

    /// Adds the removal of a row to `batch`.
    pub fn delete(&self, batch: &mut Batch, family: Family, key: &[u8]) {
        batch.add(family, key, None);
    }

    /// Makes all of `batch` happen. Survives the death of the process; [`Self::sync`] makes it
    /// survive that of the machine.
    ///
    /// # Errors
    /// When the disk is full or fails; nothing of the batch has then happened.
    pub fn commit(&self, batch: &Batch) -> Result<(), DiskError> {
        let batch = batch.sorted(|family| self.family(family));
        self.db.write_opt(batch, &WriteOptions::default()).map_err(self.error("cannot be written"))
    }

    /// Brings what was committed to the disk's surface.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn sync(&self) -> Result<(), DiskError> {
        let synced = self.db.latest_sequence_number();
        self.db.flush_wal(true).map_err(self.error("cannot be synced"))?;
        // Without room for the note the older one stays, which promises less.
        let unsynced = Replacement { sync: false, ..Replacement::default() };
        let _ = unsynced
            .write(&self.path.join(SYNCED), |file| file.write_all(synced.to_string().as_bytes()));
        Ok(())
    }

    /// Approximate bytes of one family on disk.
    #[must_use]
    pub fn size_on_disk(&self, family: Family) -> u64 {
        self.db
            .property_int_value_cf(self.family(family), "rocksdb.total-sst-files-size")
            .ok()
            .flatten()
            .unwrap_or(0)
    }

    /// Stops background work, so that closing is prompt.
    pub fn close(&self) {
        self.db.cancel_all_background_work(true);
    }
}

/// Damage that leaves a shorter log, or none, is no error to RocksDB: it goes on from an earlier
/// state. Here it is one, when that state is older than what had been synced.
fn must_reach(path: &Path, found: u64) -> Result<(), DiskError> {
    let note = fs::read_to_string(path.join(SYNCED)).unwrap_or_default();
    match note.parse::<u64>() {
        Ok(synced) if found < synced => {
            Err(DiskError::Behind { path: path.to_owned(), found, synced })
        }
        _ => Ok(()),
    }
}

fn families(cache: &Cache, settings: &State) -> Vec<ColumnFamilyDescriptor> {
    let ours = Family::ALL.map(|family| (family.name(), family_options(family, cache, settings)));
    // Never used, but its write buffer counts for the room that is needed after a full disk.
    let default = (DEFAULT_COLUMN_FAMILY_NAME, family_options(Family::Meta, cache, settings));
    let all = ours.into_iter().chain([default]);
    all.map(|(name, options)| ColumnFamilyDescriptor::new(name, options)).collect()
}

/// Filters and indexes in pieces of some blocks' size, so that the cache takes them in and lets them
/// go like any block: one that is larger than a shard of the cache is read anew for every key.
fn partition(table: &mut BlockBasedOptions) {
    table.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
    table.set_partition_filters(true);
    table.set_metadata_block_size(16 << 10);
    table.set_pin_top_level_index_and_filter(true);
}

fn database_options(create: bool, buffers: &WriteBufferManager, settings: &State) -> Options {
    let mut o = Options::default();
    o.create_if_missing(create);
    o.create_missing_column_families(create);
    o.set_write_buffer_manager(buffers);
    o.set_max_background_jobs(2);
    o.set_max_open_files(DATABASE_FILES_MAX);
    // A start reads the log: one that a quiet family keeps from being dropped must not grow beyond
    // what the buffers hold.
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
    match family {
        Family::Seen | Family::Content => {
            table.set_block_size(4 << 10);
            table.set_bloom_filter(10.0, false);
            table.set_optimize_filters_for_memory(true);
            partition(&mut table);
            o.set_write_buffer_size(share(4));
            o.set_memtable_whole_key_filtering(true);
            o.set_memtable_prefix_bloom_ratio(0.05);
        }
        Family::Frontier => {
            table.set_block_size(16 << 10);
            o.set_write_buffer_size(share(4));
            // A queue leaves tombstones at its head; compact where they gather.
            o.add_compact_on_deletion_collector_factory(4_096, 2_048, 0.5);
        }
        Family::Hosts
        | Family::Robots
        | Family::Schedule
        | Family::Groups
        | Family::Outbox
        | Family::Meta => {
            table.set_block_size(4 << 10);
            table.set_ribbon_filter(10.0);
            o.set_write_buffer_size(share(8));
            if family == Family::Schedule {
                o.add_compact_on_deletion_collector_factory(4_096, 2_048, 0.5);
            }
        }
    }
    o.set_block_based_table_factory(&table);
    o
}
