//! The state of a crawl on disk, opened: everything that is read before the threads of a crawl start.

use crate::app::error::AgentError;
use crate::cluster::Outbox;
use crate::crawldb::{CrawlDb, META_ARCHIVE};
use crate::storage::crawl_dir::CrawlDir;
use crate::storage::{Batch, Database, Family};
use crivello_archive::{ArchivePosition, ArchiveWriter, CrawlLabel};
use crivello_common::config::Settings;
use crivello_common::identity::KeyedHasher;
use std::sync::Arc;

/// The opened state of a crawl.
pub struct CrawlState {
    pub home: CrawlDir,
    pub disk: Arc<Database>,
    pub crawldb: CrawlDb,
    pub archive: ArchiveWriter,
    pub outbox: Outbox,
}

impl CrawlState {
    /// Opens the state of a crawl. An agent does this before it joins: a member that cannot open its
    /// state would keep the others waiting.
    ///
    /// # Errors
    /// [`AgentError`] if something is missing or damaged, or the disk fails.
    pub fn open(
        (home, disk): (CrawlDir, Database),
        settings: &Settings,
    ) -> Result<Self, AgentError> {
        let disk = Arc::new(disk);
        let hasher = KeyedHasher::new(home.identity_key, settings.fixed.identity.assign_by);
        Ok(Self {
            crawldb: CrawlDb::open(disk.clone(), settings, hasher)?,
            archive: open_archive(&home, &disk, settings)?,
            outbox: Outbox::open(&*disk)?,
            home,
            disk,
        })
    }
}

fn open_archive(
    home: &CrawlDir,
    disk: &Database,
    settings: &Settings,
) -> Result<ArchiveWriter, AgentError> {
    let position = disk.get(Family::Meta, META_ARCHIVE)?;
    let position = position.map(|bytes| ArchivePosition::from_bytes(&bytes)).transpose()?;
    let id = home.identity.crawl_id.get(..8).and_then(|hex| u32::from_str_radix(hex, 16).ok());
    let label = CrawlLabel {
        id: id.unwrap_or_default(),
        contact: settings.fixed.identity.contact.clone(),
        settings_toml: settings.to_toml(),
    };
    let dir = home.dir.join("warc");
    let mut archive = ArchiveWriter::open(&dir, position.as_ref(), &settings.fixed.store, label)?;
    if position.is_none() {
        // From now on, archive files without a position in the state are an inconsistency.
        let mut batch = Batch::default();
        batch.put(Family::Meta, META_ARCHIVE, &archive.sync()?.to_bytes());
        disk.commit(&batch)?;
        disk.sync()?;
    }
    Ok(archive)
}
