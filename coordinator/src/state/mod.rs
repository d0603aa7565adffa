//! Durable state of the coordinator: one record, in one file or in etcd.
//!
//! ```text
//! DIR/coordinator.state   "crivello coordinator state 2\n", XXH3 of the record (8 bytes,
//!                         little-endian), the record (JSON, see record.rs)
//! DIR/identity.key        the secret key of the crawl (see `common/src/identity.rs`)
//! DIR/signing.key         the key with which views and tickets are signed
//! DIR/lock                locked while a coordinator works in the directory; holds the crawl's id
//! ```
//! Each change replaces the whole file (see [`replace_file`](crivello_common::runtime::replace_file)). The new record is synced before the
//! change is in force or published, so a crash leaves either the old record or the new one. A file
//! that fails its checks is refused as damaged: an older state would issue epochs twice. With etcd, `crate::etcd` has the
//! record, and the directory only the lock and the keys.

mod directory;
mod record;
mod record_store;
#[cfg(test)]
mod tests;

pub use directory::stored_settings;
pub(crate) use directory::{CoordinatorState, Opened};
pub(crate) use record::Record;
pub use record::StoredSettings;
pub(crate) use record_store::RecordStore;
pub use record_store::STATE_FILE;
