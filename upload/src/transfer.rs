//! One file to its object: in parts, with bounded memory, and read back.

use crate::journal::{Event, Journal, StoredObject};
use crate::pacer::Pacer;
use crate::store::{ObjectReader as _, Part, Store, StoreError};
use bytes::Bytes;
use crivello_archive::FilePart;
use crivello_common::config::Upload;
use data_encoding::HEXLOWER;
use ring::digest::{Context, SHA256};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, UNIX_EPOCH};
use tokio::task::{JoinError, JoinSet, spawn_blocking};
use tokio::time::sleep;

/// Maximum number of parts. S3 permits 10,000.
const PARTS_MAX: u64 = 9_000;
/// Number of times that a part is sent.
const PART_ATTEMPTS: u32 = 4;

/// Number and tag of a part that was sent.
type SentPart = Result<(usize, String), StoreError>;

/// Transfers files to a store.
pub(crate) struct Transfer<S> {
    pub(crate) store: Arc<S>,
    pub(crate) pacer: Pacer,
    /// Number of parts that are sent at the same time.
    pub(crate) parts_at_once: usize,
    /// Bytes that were sent and read back; without those of a copy that failed.
    pub(crate) moved: Arc<AtomicU64>,
    /// Pause after the first failure of a part; it doubles each time.
    pub(crate) pause: Duration,
    pub(crate) part_bytes: u64,
}

/// Length and SHA-256 of a file.
#[derive(PartialEq, Eq)]
pub(crate) struct Content {
    pub(crate) size: u64,
    pub(crate) sha256: String,
}

impl<S: Store> Transfer<S> {
    pub(crate) fn new(store: S, settings: &Upload) -> Self {
        Self {
            store: Arc::new(store),
            pacer: Pacer::new(settings.rate_max.0),
            parts_at_once: settings.parts_at_once as usize,
            moved: Arc::default(),
            pause: Duration::from_millis(500),
            part_bytes: settings.part_size.0,
        }
    }

    /// Copies a file of the archive to an object, as [`Self::copy_open`].
    pub(crate) async fn copy(
        &mut self,
        part: &FilePart,
        object: &str,
        journal: &mut Journal,
        verified: impl Fn() -> String,
    ) -> Result<(), StoreError> {
        let open = |error| StoreError::io(&format!("open {}", part.path.display()), &error);
        let file = Arc::new(File::open(&part.path).map_err(open)?);
        self.copy_open((&file, modified_micros(part)), object, journal, verified).await
    }

    /// Copies a file to an object, reads it back, and adds it to the journal with a time of change. An object that is
    /// there already and has the same bytes is left as it is. `verified` is called for the time once it was read back.
    pub(crate) async fn copy_open(
        &mut self,
        (file, modified): (&Arc<File>, u64),
        object: &str,
        journal: &mut Journal,
        verified: impl Fn() -> String,
    ) -> Result<(), StoreError> {
        let before = self.moved.load(Relaxed);
        let copied = self.try_copy((file, modified), object, journal, verified).await;
        if copied.is_err() {
            self.moved.store(before, Relaxed);
        }
        copied
    }

    async fn try_copy(
        &mut self,
        (file, modified): (&Arc<File>, u64),
        object: &str,
        journal: &mut Journal,
        verified: impl Fn() -> String,
    ) -> Result<(), StoreError> {
        let measure = |error| StoreError::io("measure the file", &error);
        let size = file.metadata().map_err(measure)?.len();
        let (content, etag) = match self.find(file, size, object).await? {
            Some(found) => found,
            None => self.send_and_check(file, size, object, journal).await?,
        };
        let Content { size, sha256 } = content;
        let stored = StoredObject { size, sha256, etag, modified, verified: verified() };
        let added = journal.add(object, Event::Stored(stored)).await;
        added.map_err(journal_error)
    }

    /// Returns the object, if it has the bytes of the file.
    async fn find(
        &mut self,
        file: &Arc<File>,
        size: u64,
        object: &str,
    ) -> Result<Option<(Content, Option<String>)>, StoreError> {
        let Some((_, etag)) = self.store.find(object).await?.filter(|(found, _)| *found == size)
        else {
            return Ok(None);
        };
        let mut context = Context::new(&SHA256);
        for part in self.parts(size) {
            (_, context) = read_part(file, part, context).await?;
        }
        let (content, found) = (Content::new(size, context), self.read_back(object).await?);
        Ok((content == found).then_some((content, etag)))
    }

    async fn send_and_check(
        &mut self,
        file: &Arc<File>,
        size: u64,
        object: &str,
        journal: &mut Journal,
    ) -> Result<(Content, Option<String>), StoreError> {
        let (sent, etag) = if size <= self.part_bytes {
            let (bytes, context) = read_part(file, (0, size), Context::new(&SHA256)).await?;
            self.pacer.take(bytes.len()).await;
            let etag = self.store.put(object, bytes).await?;
            self.moved.fetch_add(size, Relaxed);
            (Content::new(size, context), etag)
        } else {
            let id = self.store.begin(object).await?;
            journal.add(object, Event::Begun(id.clone())).await.map_err(journal_error)?;
            let sent = self.send_parts(file, size, (object, &id)).await;
            if sent.is_err() {
                self.store.abort(object, &id).await?;
            }
            journal.add(object, Event::Ended(id)).await.map_err(journal_error)?;
            sent?
        };
        let found = self.read_back(object).await?;
        if found == sent {
            return Ok((sent, etag));
        }
        Err(StoreError::new(&format!(
            "{object} was read back with other bytes than were sent: {} bytes with the SHA-256 {} instead of {} with {}",
            found.size, found.sha256, sent.size, sent.sha256
        )))
    }

    /// Sends all parts of an upload and completes it.
    async fn send_parts(
        &mut self,
        file: &Arc<File>,
        size: u64,
        (object, id): (&str, &str),
    ) -> Result<(Content, Option<String>), StoreError> {
        let mut context = Context::new(&SHA256);
        let (mut tags, mut sending) = (Vec::new(), JoinSet::new());
        for (n, (offset, length)) in self.parts(size).enumerate() {
            while sending.len() >= self.parts_at_once {
                put_tag(&mut tags, sending.join_next().await)?;
            }
            let bytes;
            (bytes, context) = read_part(file, (offset, length), context).await?;
            self.pacer.take(bytes.len()).await;
            let (store, moved, pause) = (self.store.clone(), self.moved.clone(), self.pause);
            let (object, id) = (object.to_owned(), id.to_owned());
            tags.push(String::new());
            sending.spawn(async move {
                let part = Part { n, offset, bytes };
                let tag = send_part(&*store, (&object, &id), &part, pause).await;
                let tag = tag?;
                moved.fetch_add(part.bytes.len() as u64, Relaxed);
                Ok((n, tag))
            });
        }
        while !sending.is_empty() {
            put_tag(&mut tags, sending.join_next().await)?;
        }
        let etag = self.store.complete((object, id), tags).await?;
        Ok((Content::new(size, context), etag))
    }

    async fn read_back(&mut self, object: &str) -> Result<Content, StoreError> {
        let (mut size, mut context) = (0, Context::new(&SHA256));
        let mut reader = self.store.read(object).await?;
        while let Some(bytes) = reader.next().await? {
            context.update(&bytes);
            size += bytes.len() as u64;
            self.moved.fetch_add(bytes.len() as u64, Relaxed);
            self.pacer.take(bytes.len()).await;
        }
        Ok(Content::new(size, context))
    }

    /// Returns offset and length of each part of a file.
    fn parts(&self, size: u64) -> impl Iterator<Item = (u64, u64)> + use<S> {
        let length = self.part_bytes.max(size.div_ceil(PARTS_MAX));
        (0..size.div_ceil(length)).map(move |n| (n * length, length.min(size - n * length)))
    }
}

impl Content {
    pub(crate) fn new(size: u64, context: Context) -> Self {
        Self { size, sha256: HEXLOWER.encode(context.finish().as_ref()) }
    }
}

/// Returns the time of the last change of a file in microseconds since 1970; 0 if it is not known.
pub(crate) fn modified_micros(part: &FilePart) -> u64 {
    let since = part.modified.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    since.map_or(0, crivello_common::time::micros)
}

/// Aborts the uploads that an earlier run has begun and not completed.
pub(crate) async fn abort_begun<S: Store>(
    store: &S,
    journal: &mut Journal,
) -> Result<(), StoreError> {
    while let Some((id, object)) = journal.next_begun() {
        store.abort(&object, &id).await?;
        journal.add(&object, Event::Ended(id)).await.map_err(journal_error)?;
    }
    Ok(())
}

async fn send_part<S: Store>(
    store: &S,
    upload: (&str, &str),
    part: &Part,
    mut pause: Duration,
) -> Result<String, StoreError> {
    let mut attempt = 1;
    loop {
        match store.put_part(upload, part.clone()).await {
            Err(_) if attempt < PART_ATTEMPTS => {
                sleep(pause).await;
                (attempt, pause) = (attempt + 1, pause * 2);
            }
            sent => return sent,
        }
    }
}

/// Keeps the tag of a part that was sent.
fn put_tag(
    tags: &mut [String],
    sent: Option<Result<SentPart, JoinError>>,
) -> Result<(), StoreError> {
    let Some(sent) = sent else { return Ok(()) };
    let (n, tag) = sent.map_err(|error| StoreError::new(&error.to_string()))??;
    if let Some(place) = tags.get_mut(n) {
        *place = tag;
    }
    Ok(())
}

/// Reads a part of a file and adds it to its digest.
async fn read_part(
    file: &Arc<File>,
    (offset, length): (u64, u64),
    mut context: Context,
) -> Result<(Bytes, Context), StoreError> {
    let file = file.clone();
    let read = spawn_blocking(move || {
        let length = usize::try_from(length).map_err(io::Error::other)?;
        let mut bytes = vec![0; length];
        file.read_exact_at(&mut bytes, offset)?;
        context.update(&bytes);
        Ok((bytes.into(), context))
    });
    let read = read.await.map_err(io::Error::other).flatten();
    read.map_err(|error| StoreError::io("read the file", &error))
}

#[expect(clippy::needless_pass_by_value, reason = "an argument of map_err")]
fn journal_error(error: io::Error) -> StoreError {
    StoreError::io("write the journal of uploads", &error)
}
