//! Copies of the archive in an object store, if the settings have one.

use crate::shared::Shared;
use crate::storage::crawl_dir::CrawlDir;
use crivello_archive::TailPosition;
use crivello_common::uploads::TableMaker;
use crivello_common::view::AgentId;
#[cfg(feature = "upload")]
pub use crivello_upload::{UploadError, Uploader};
use tokio::runtime::Handle;
use tokio::sync::watch;
#[cfg(not(feature = "upload"))]
pub use without::{NoUploader as Uploader, NoUploads as UploadError};

/// Name of the journal, in an agent's directory.
pub const UPLOAD_JOURNAL: &str = "uploads.jsonl";

/// Starts to copy sealed files, if the settings have an address. Files that one of `readers` has not read are not deleted.
/// `tables` makes their tables.
///
/// # Errors
/// [`UploadError`] if the settings cannot be used.
#[cfg(feature = "upload")]
pub fn start_upload(
    runtime: &Handle,
    home: &CrawlDir,
    agent: AgentId,
    shared: &Shared,
    readers: Vec<watch::Receiver<Option<TailPosition>>>,
    tables: Option<TableMaker>,
) -> Result<Option<Uploader>, UploadError> {
    let settings = &shared.settings.upload;
    if settings.url.is_empty() {
        return Ok(None);
    }
    let source = crivello_upload::UploadSource {
        agent: agent.0,
        archive: home.dir.join("warc"),
        end: shared.archive_end.subscribe(),
        readers,
        journal: home.dir.join(UPLOAD_JOURNAL),
        tables: tables.ok_or(UploadError::NoTables)?,
        scratch: home.dir.clone(),
    };
    let reports = (shared.clock, shared.uploads.clone());
    let variable = |name: &str| std::env::var_os(name);
    Uploader::start(runtime, settings, source, variable, reports).map(Some)
}

/// Refuses settings that have an address.
///
/// # Errors
/// [`UploadError`] if they have one.
#[cfg(not(feature = "upload"))]
pub fn start_upload(
    _: &Handle,
    _: &CrawlDir,
    _: AgentId,
    shared: &Shared,
    _: Vec<watch::Receiver<Option<TailPosition>>>,
    _: Option<TableMaker>,
) -> Result<Option<Uploader>, UploadError> {
    if shared.settings.upload.url.is_empty() { Ok(None) } else { Err(UploadError) }
}

/// The types of a build without uploads.
#[cfg(not(feature = "upload"))]
mod without {
    use std::time::Duration;

    /// The build has no uploads.
    #[derive(Debug, thiserror::Error)]
    #[error("upload.url: this program was built without the feature `data`, which has uploads")]
    pub struct NoUploads;

    /// There is none.
    pub enum NoUploader {}

    impl NoUploader {
        /// Returns the serial numbers of files that are stored.
        pub const fn stored_before(&self) -> &[u32] {
            match *self {}
        }

        /// Waits for the last copies.
        #[expect(clippy::unused_async, reason = "as that of a build with uploads")]
        pub async fn finish(&mut self, _: bool, _: Duration, _: bool) -> bool {
            match *self {}
        }
    }
}
