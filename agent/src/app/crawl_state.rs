//! The state of a crawl on disk, opened: everything that is read before the threads of a crawl start.

use crate::app::error::AgentError;
use crate::cluster::Outbox;
use crate::crawldb::CrawlDb;
use crate::engines::writer::check_archive;
use crate::storage::Database;
use crate::storage::crawl_dir::CrawlDir;
use crate::storage::ranks::RankStore;
use crivello_common::config::Settings;
use crivello_common::identity::KeyedHasher;
use std::sync::Arc;

/// The opened state of a crawl.
pub struct CrawlState {
    pub home: CrawlDir,
    pub disk: Arc<Database>,
    pub hasher: KeyedHasher,
    pub crawldb: CrawlDb,
    pub outbox: Outbox,
    pub ranks: RankStore,
}

impl CrawlState {
    /// Opens the state of a crawl, and checks its archive without changing it. An agent does this
    /// before it joins: a member that cannot open its state would keep the others waiting. The ranks in the settings
    /// are in force if `ranks` has them.
    ///
    /// # Errors
    /// [`AgentError`] if something is missing or damaged, or the disk fails.
    pub fn open(
        (home, disk): (CrawlDir, Database),
        settings: &Settings,
        ranks: RankStore,
    ) -> Result<Self, AgentError> {
        let disk = Arc::new(disk);
        let hasher = KeyedHasher::new(home.identity_key, settings.fixed.identity.assign_by);
        check_archive(&home, &disk)?;
        if let Err(error) = ranks.load(&settings.live.links.host_ranks) {
            tracing::warn!(%error, "no host has a rank");
        }
        let crawldb = CrawlDb::open(disk.clone(), settings, hasher)?;
        let crawldb = crawldb.ranked(ranks.in_force().clone());
        let outbox = Outbox::open(&*disk)?;
        Ok(Self { home, disk, hasher, crawldb, outbox, ranks })
    }
}
