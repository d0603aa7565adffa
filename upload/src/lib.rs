//! Copies of sealed archive files in an object store, made while the crawl goes on.
//!
//! ```text
//!  sealed files, up to the synced end ──► parts ──► store ──► read back, SHA-256 ──► journal ──► delete (a setting)
//!                                          ▲                                 │
//!                                          └───────────── pause ─────────────┘ (any failure)
//! ```
//!
//! - `destination`: the address of the store, and its credentials.
//! - `store`: what is asked of a store; S3, and a directory.
//! - `table`: the table of a file, which the caller of this crate can make.
//! - `transfer`: one file, in parts, with bounded memory; it counts once its bytes were read back.
//! - `journal`: a file of what is stored, and of uploads that were begun.
//! - `uploader`: the task.
//! - `restore`: files that are only in the store, back into an archive.
//!
//! Nothing waits for a store: files wait on the disk. After a kill at any moment the next run goes on: an object that
//! was complete is read back and counts; one that was not is begun anew, under the same name.
#![forbid(unsafe_code)]

mod credentials;
mod destination;
mod error;
mod journal;
mod pacer;
mod restore;
mod store;
mod table;
#[cfg(test)]
mod tests;
mod transfer;
mod uploader;

pub use credentials::StoreCredentials;
pub use destination::Destination;
pub use error::UploadError;
pub use journal::{Journal, StoredObject};
pub use restore::{StoppedArchive, restore_files};
pub use uploader::{UploadSource, Uploader};
