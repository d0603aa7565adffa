//! Copying files back that are only in the store.

use crate::credentials::StoreCredentials;
use crate::destination::Destination;
use crate::error::UploadError;
use crate::journal::{Journal, StoredObject};
use crate::store::directory::DirectoryStore;
use crate::store::s3::S3Store;
use crate::store::{ObjectReader as _, Store, StoreError};
use crate::transfer::Content;
use crate::uploader::address_of;
use crivello_common::config::Upload;
use ring::digest::{Context, SHA256};
use std::ffi::OsString;
use std::fs::{File, rename};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};
use tokio::time::sleep;

/// Number of times that an object is read.
const ATTEMPTS: u32 = 4;
/// Pause after the first failure; it doubles each time.
const PAUSE: Duration = Duration::from_millis(500);

/// The archive of an agent whose crawl does not run.
#[derive(Clone, Debug)]
pub struct StoppedArchive {
    /// Id of the agent.
    pub agent: u32,
    /// Directory of the archive.
    pub archive: PathBuf,
    /// File of the journal.
    pub journal: PathBuf,
}

/// Copies each WARC file and index back to the archive that the store of the settings has, and that is not here. Each
/// has the time of its last change, so a file that stays as it is counts as uploaded. `on_file` is called with the
/// name and the length in bytes of each file, before it is read.
///
/// # Errors
/// [`UploadError`] if the settings or the journal cannot be used, or if an object cannot be read, or is not as it was
/// stored; files that were copied before that are there.
pub async fn restore_files(
    settings: &Upload,
    source: &StoppedArchive,
    variable: impl Fn(&str) -> Option<OsString>,
    mut on_file: impl FnMut(&str, u64),
) -> Result<(), UploadError> {
    let destination = Destination::parse(&settings.url)?;
    let journal = Journal::open(&source.journal, address_of(&destination, settings))?;
    let prefix = destination.object(source.agent, "");
    let missing = journal.all_stored().filter_map(|(object, stored)| {
        let name = object.strip_prefix(&prefix)?;
        let is_file = is_archive_file(name) && !source.archive.join(name).exists();
        is_file.then_some((object, name, stored))
    });
    let missing: Vec<_> = missing.collect();
    if missing.is_empty() {
        return Ok(());
    }
    match &destination {
        Destination::Directory(dir) => {
            restore_all(&DirectoryStore(dir.clone()), source, &missing, &mut on_file).await
        }
        Destination::S3 { bucket, .. } => {
            let credentials = StoreCredentials::of(settings, variable)?;
            let store = S3Store::new(settings, bucket, credentials)?;
            restore_all(&store, source, &missing, &mut on_file).await
        }
    }
}

/// Returns true for the name of a WARC file or of its index, without a directory.
fn is_archive_file(name: &str) -> bool {
    let suffix = name.split_once('.').map(|(_, suffix)| suffix);
    !name.contains('/') && matches!(suffix, Some("warc.gz" | "warc.zst" | "cdxj"))
}

async fn restore_all<S: Store>(
    store: &S,
    source: &StoppedArchive,
    files: &[(&str, &str, &StoredObject)],
    on_file: &mut impl FnMut(&str, u64),
) -> Result<(), UploadError> {
    let part = source.journal.with_extension("restored");
    for &(object, name, stored) in files {
        on_file(name, stored.size);
        let mut pause = PAUSE;
        for attempt in 1.. {
            match restore(store, object, stored, &part).await {
                Ok(()) => break,
                Err(error) if attempt == ATTEMPTS => {
                    let _ = std::fs::remove_file(&part);
                    return Err(UploadError::Restore(object.to_owned(), error.0));
                }
                Err(_) => sleep(pause).await,
            }
            pause *= 2;
        }
        let to = source.archive.join(name);
        rename(&part, &to).map_err(|error| {
            UploadError::Restore(object.to_owned(), format!("{}: {error}", to.display()))
        })?;
    }
    Ok(())
}

/// Reads an object into the file at `to`.
async fn restore<S: Store>(
    store: &S,
    object: &str,
    stored: &StoredObject,
    to: &Path,
) -> Result<(), StoreError> {
    let failed = |error| StoreError::io(&format!("write {}", to.display()), &error);
    let mut file = File::create(to).map_err(failed)?;
    let (mut size, mut context) = (0, Context::new(&SHA256));
    let mut reader = store.read(object).await?;
    while let Some(bytes) = reader.next().await? {
        size += bytes.len() as u64;
        if size > stored.size {
            break;
        }
        context.update(&bytes);
        file.write_all(&bytes).map_err(failed)?;
    }
    if Content::new(size, context) != (Content { size: stored.size, sha256: stored.sha256.clone() })
    {
        return Err(StoreError::new("it is not as it was stored"));
    }
    if stored.modified > 0 {
        let modified = UNIX_EPOCH + Duration::from_micros(stored.modified);
        file.set_modified(modified).map_err(failed)?;
    }
    file.sync_all().map_err(failed)
}
