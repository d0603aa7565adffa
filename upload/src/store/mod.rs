//! The requests to a store.

pub(crate) mod directory;
#[cfg(test)]
pub(crate) mod faulty;
pub(crate) mod s3;

use bytes::Bytes;
use std::future::Future;
use std::io;

/// A place of objects. Objects appear whole or not at all.
pub(crate) trait Store: Send + Sync + 'static {
    /// Stream of the bytes of an object.
    type Reader: ObjectReader;

    /// Stores an object in one step. Returns its entity tag, if the store has such.
    fn put(
        &self,
        key: &str,
        bytes: Bytes,
    ) -> impl Future<Output = Result<Option<String>, StoreError>> + Send;

    /// Begins an object of parts. Returns the id of its upload.
    fn begin(&self, key: &str) -> impl Future<Output = Result<String, StoreError>> + Send;

    /// Stores a part of an upload. Returns what [`Self::complete`] needs of it.
    fn put_part(
        &self,
        upload: (&str, &str),
        part: Part,
    ) -> impl Future<Output = Result<String, StoreError>> + Send;

    /// Completes an upload, so that the object appears. Returns its entity tag.
    fn complete(
        &self,
        upload: (&str, &str),
        parts: Vec<String>,
    ) -> impl Future<Output = Result<Option<String>, StoreError>> + Send;

    /// Removes the parts of an upload that will not be completed. It is no error if there is none.
    fn abort(&self, key: &str, id: &str) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Returns the length and the entity tag of an object; `None` if there is none.
    fn find(
        &self,
        key: &str,
    ) -> impl Future<Output = Result<Option<(u64, Option<String>)>, StoreError>> + Send;

    /// Reads an object.
    fn read(&self, key: &str) -> impl Future<Output = Result<Self::Reader, StoreError>> + Send;
}

/// Stream of bytes.
pub(crate) trait ObjectReader: Send {
    /// Returns the next bytes; `None` at the end.
    fn next(&mut self) -> impl Future<Output = Result<Option<Bytes>, StoreError>> + Send;
}

/// A part of an object.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// Number, from 0.
    pub(crate) n: usize,
    /// Offset of its first byte in the object.
    pub(crate) offset: u64,
    pub(crate) bytes: Bytes,
}

/// The reason why a store failed a request: a text for people, without credentials and control characters.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct StoreError(pub(crate) String);

impl StoreError {
    /// Maximum number of characters.
    const CHARS_MAX: usize = 400;

    /// Creates an error from a text of a store.
    pub(crate) fn new(text: &str) -> Self {
        let printable = text.chars().map(|c| if c.is_control() { ' ' } else { c });
        Self(printable.take(Self::CHARS_MAX).collect())
    }

    pub(crate) fn io(action: &str, error: &io::Error) -> Self {
        Self::new(&format!("{action}: {error}"))
    }
}
