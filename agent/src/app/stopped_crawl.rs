//! The directory of a crawl that does not run, opened to take captures back.

use crate::app::error::AgentError;
use crate::cluster::Membership;
use crate::crawldb::{CrawlDb, ForgetCounts, ForgetJob, META_ARCHIVE};
use crate::engines::writer::open_archive;
use crate::observe::upload::UPLOAD_JOURNAL;
use crate::storage::crawl_dir::{CrawlDir, open_read_only, read_settings};
use crate::storage::{Batch, Database, DiskError, Family, OpenError};
use crivello_archive::{ArchiveError, ArchivePosition};
use crivello_common::config::{BlockEntry, DigestKind, Settings};
use crivello_common::forget_list::ForgetList;
use crivello_common::identity::KeyedHasher;
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use crivello_common::view::AgentId;
#[cfg(feature = "upload")]
use crivello_upload::{StoppedArchive, UploadError, restore_files};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The directory of a crawl that does not run. Until it is dropped, no agent can open it.
#[derive(Debug)]
pub struct StoppedCrawl {
    dir: PathBuf,
    settings: Settings,
    disk: Arc<Database>,
    /// `None` if it is open for reading only.
    home: Option<CrawlDir>,
}

impl StoppedCrawl {
    /// Opens a directory for reading.
    ///
    /// # Errors
    /// [`OpenError`] if there is no crawl, if it is running, or if its state cannot be read.
    pub fn open_read_only(dir: &Path) -> Result<Self, OpenError> {
        let (settings, _, disk) = open_read_only(dir)?;
        Ok(Self { dir: dir.to_owned(), settings, disk: Arc::new(disk), home: None })
    }

    /// Opens a directory for changes.
    ///
    /// # Errors
    /// [`OpenError`] if there is no crawl, if it is running, or if its state cannot be read.
    pub fn open(dir: &Path, now: Timestamp) -> Result<Self, OpenError> {
        let settings = read_settings(dir)?;
        let (home, disk) = match CrawlDir::open(dir, &settings, now, None) {
            Err(OpenError::Disk(DiskError::InUse { .. })) => {
                return Err(OpenError::Refused(format!(
                    "the crawl in {} is running: stop it first",
                    dir.display()
                )));
            }
            opened => opened?,
        };
        Ok(Self { dir: dir.to_owned(), settings, disk: Arc::new(disk), home: Some(home) })
    }

    /// Returns the directory of the archive.
    #[must_use]
    pub fn archive_dir(&self) -> PathBuf {
        self.dir.join("warc")
    }

    /// Returns the kind of the archive's digests.
    #[must_use]
    pub const fn digest(&self) -> DigestKind {
        self.settings.fixed.store.digest
    }

    /// Returns true if the directory is that of an agent of a cluster.
    #[must_use]
    pub fn is_in_cluster(&self) -> bool {
        self.agent().is_some()
    }

    /// Returns true if archive files are uploaded. The next run uploads those that have changed again.
    #[must_use]
    pub fn has_uploads(&self) -> bool {
        !self.settings.fixed.upload.url.is_empty()
    }

    /// Copies WARC files and indexes back that only the store of the settings has ([`restore_files`]).
    ///
    /// # Errors
    /// [`UploadError`] if that fails.
    #[cfg(feature = "upload")]
    pub async fn fetch_stored(&self, on_file: impl FnMut(&str, u64)) -> Result<(), UploadError> {
        let settings = &self.settings.fixed.upload;
        if settings.url.is_empty() {
            return Ok(());
        }
        let source = StoppedArchive {
            agent: self.agent().unwrap_or_default().0,
            archive: self.archive_dir(),
            journal: self.upload_journal(),
        };
        restore_files(settings, &source, |name| std::env::var_os(name), on_file).await
    }

    /// Returns the path of the journal of uploads, which need not exist.
    #[must_use]
    pub fn upload_journal(&self) -> PathBuf {
        self.dir.join(UPLOAD_JOURNAL)
    }

    fn agent(&self) -> Option<AgentId> {
        Membership::given_in(&self.dir).map(|(id, _)| AgentId(id))
    }

    /// Cuts off what follows the last commit, as the next run would, and sorts the index of the last file.
    ///
    /// # Errors
    /// [`AgentError`] if the archive is damaged or the disk fails.
    pub fn finish_archive(&self) -> Result<(), AgentError> {
        let Some(home) = &self.home else { return Ok(()) };
        let mut archive = open_archive(home, &self.disk, &self.settings)?;
        archive.writer.close().map_err(archive_error)?;
        Ok(())
    }

    /// Ends the last file of the archive: the next run goes on in a new one. Then every file that
    /// [`Self::archive_dir`] had before may be rewritten.
    ///
    /// # Errors
    /// [`AgentError`] if the archive is damaged or the disk fails.
    pub fn start_new_file(&self, now: Timestamp) -> Result<(), AgentError> {
        let Some(home) = &self.home else { return Ok(()) };
        let mut archive = open_archive(home, &self.disk, &self.settings)?;
        archive.writer.start_new_file(now).map_err(archive_error)?;
        let end = archive.writer.sync().map_err(archive_error)?;
        let mut batch = Batch::default();
        batch.put(Family::Meta, META_ARCHIVE, &end.to_bytes());
        self.disk.commit(&batch)?;
        self.disk.sync()?;
        archive.writer.close().map_err(archive_error)?;
        Ok(())
    }

    /// Returns the name of the last file of the archive; empty if there is none.
    ///
    /// # Errors
    /// [`AgentError`] if the state cannot be read.
    pub fn last_file(&self) -> Result<String, AgentError> {
        let Some(bytes) = self.disk.get(Family::Meta, META_ARCHIVE)? else {
            return Ok(String::new());
        };
        Ok(ArchivePosition::from_bytes(&bytes).map_err(archive_error)?.file)
    }

    /// Forgets hosts and URLs in the state, so that they are not fetched again. `urls` are those that the
    /// archive had, `unreferable` other URLs whose revisits are redacted.
    ///
    /// # Errors
    /// [`AgentError`] if the state is damaged or the disk fails. May be repeated.
    pub fn forget(
        &self,
        list: &ForgetList,
        urls: &BTreeSet<CrawlUrl>,
        unreferable: &BTreeSet<CrawlUrl>,
        now: Timestamp,
    ) -> Result<ForgetCounts, AgentError> {
        let Some(home) = &self.home else { return Ok(ForgetCounts::default()) };
        let hasher = KeyedHasher::new(home.identity_key, self.settings.fixed.identity.assign_by);
        let crawldb = CrawlDb::open(self.disk.clone(), &self.settings, hasher)?;
        let mut crawldb = match self.agent() {
            Some(id) => crawldb.sharing(id),
            None => crawldb,
        };
        let counts = crawldb.forget(&ForgetJob { list, urls, unreferable, hasher }, now)?;
        self.disk.sync()?;
        self.block_domains(home, list)?;
        Ok(counts)
    }

    /// Adds domains to `links.blocked`, because hosts below them may be found later. Known hosts are closed in
    /// the state. The settings of a cluster are those of its coordinator.
    fn block_domains(&self, home: &CrawlDir, list: &ForgetList) -> Result<(), OpenError> {
        let mut settings = self.settings.clone();
        let blocked = &mut settings.live.links.blocked;
        let domains = list.hosts().iter().filter(|entry| matches!(entry, BlockEntry::Domain(_)));
        let new: Vec<_> = domains.filter(|entry| !blocked.contains(entry)).cloned().collect();
        if new.is_empty() || self.is_in_cluster() {
            return Ok(());
        }
        blocked.extend(new);
        home.write_settings(&settings)
    }
}

fn archive_error(error: ArchiveError) -> AgentError {
    AgentError::Archive(error.into())
}
