//! Opening of a crawl without a cluster.

use crate::app::build::{Build, fetcher_runtime};
use crate::app::crawl::Crawl;
use crate::app::crawl_state::CrawlState;
use crate::app::error::AgentError;
use crate::cluster::Replication;
use crate::engines::seeding::{self, Seed};
use crate::engines::writer::open_archive;
use crate::process::links::LinkRules;
use crate::storage::crawl_dir::CrawlDir;
use crate::storage::ranks::RankStore;
use crivello_common::config::Settings;
use crivello_common::identity::KeyedHasher;
use crivello_common::time::Clock;
use crivello_common::uploads::TableMaker;
use std::path::Path;

impl Crawl {
    /// Begins a crawl in `out`, or resumes the one that is there, without a cluster. Fetching of
    /// queued URLs begins at once. If the crawl already has all its seeds, `seeds` are first read
    /// to their end; if one of them shows that `out` contains another crawl, nothing is changed
    /// there. Otherwise `seeds` are not read, and are to be passed to [`Self::seed`]. `tables` makes the
    /// tables of archive files that are uploaded; without it there are no uploads.
    ///
    /// # Errors
    /// [`AgentError::is_usage`] distinguishes refusals from failures.
    pub fn open(
        settings: Settings,
        out: &Path,
        seeds: &mut impl Iterator<Item = Seed>,
        tables: Option<TableMaker>,
    ) -> Result<Self, AgentError> {
        let clock = Clock::start();
        // Compiled before anything is created: a rule that cannot be used must change nothing.
        LinkRules::check(&settings.live)?;
        let (home, disk) = CrawlDir::open(out, &settings, clock.now(), None)?;
        let hasher = KeyedHasher::new(home.identity_key, settings.fixed.identity.assign_by);
        let rules = LinkRules::compile(&settings.live, &settings.fixed, hasher)?;
        let known = seeding::must_all_belong(&home, &disk, &rules, seeds)?;
        let known = known.ok_or(AgentError::SeedsCut)?;
        let runtime = fetcher_runtime()?;
        let ranks = RankStore::new(out, settings.fixed.state.ranks_memory);
        let state = CrawlState::open((home, disk), &settings, ranks)?;
        let archive = open_archive(&state.home, &state.disk, &settings)?;
        let build = Build { settings, clock, state, archive, tables };
        let crawl = build.crawl(&runtime, known, None, None, None, |_, _| Replication::Solo)?;
        crawl.keep_runtime(runtime);
        Ok(crawl)
    }
}
