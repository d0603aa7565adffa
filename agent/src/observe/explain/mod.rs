//! Why a host waits, and what became of a URL: the facts gathered from the workbench and the disk,
//! for the room that puts them into words.
//!
//! The scheduler is asked by a queue and never waits; the disk is read on a thread of its own.
//! Where both speak of a host, memory is right: the disk is as of the last commit.

mod asking;
mod crawl;
mod hosts;
mod shelf;
mod url;

#[cfg(test)]
mod tests;

pub use crawl::of_directory;

use crate::api::{About, HostsWanted, Unanswered};
use crate::ip_leases::lessor_of;
use crate::limits::{HOSTS_LOOKED_AT, WHYS_AT_ONCE};
use crate::links::LinkRules;
use crate::messages::{HostSnapshot, Lists, RobotsRecord, Role, SchedulerQueues};
use crate::shared::Shared;
use crate::shared::live_settings::RulesInForce;
use crate::storage::{Database, DiskError};
use crate::why::{self, Facts, Hold, OriginFacts, host_story};
use crate::workbench::asked_again;
use crivello_common::assignment::Owners;
use crivello_common::config::Settings;
use crivello_common::hash::{GroupHash, HostKey};
use crivello_common::time::Timestamp;
use crivello_common::url::{Origin, group_name, host_key};
use crivello_common::view::{AgentId, AgentState, View};
use crivello_proto::v1::{self, HoldKind};
use parking_lot::Mutex;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

/// Fetches of a host that are told.
const FETCHES_TOLD: usize = 10;

/// All that the disk can be asked by.
pub struct Place {
    pub me: AgentId,
    pub disk: Arc<Database>,
    pub rules: Arc<LinkRules>,
    pub settings: Settings,
    pub lists: Lists,
    /// Of the archive.
    pub dir: PathBuf,
    /// Of a crawl that is running.
    pub recent: Option<Shared>,
}

/// Answers people's questions about hosts and URLs.
pub struct Informer {
    me: AgentId,
    disk: Arc<Database>,
    rules: RulesInForce,
    /// Of the archive.
    dir: PathBuf,
    shared: Shared,
    desk: Arc<SchedulerQueues>,
    owners: Mutex<Option<Arc<Owners>>>,
    whys: Semaphore,
    lists: Semaphore,
}

impl Informer {
    /// An informer of agent `me`, whose archive is in `dir`.
    #[must_use]
    pub fn new(
        me: AgentId,
        disk: Arc<Database>,
        rules: RulesInForce,
        dir: PathBuf,
        shared: Shared,
        desk: Arc<SchedulerQueues>,
    ) -> Self {
        Self {
            me,
            disk,
            rules,
            dir,
            shared,
            desk,
            owners: Mutex::default(),
            whys: Semaphore::new(WHYS_AT_ONCE),
            lists: Semaphore::new(1),
        }
    }

    /// By the settings in force.
    fn place(&self) -> Arc<Place> {
        let settings = self.shared.live.latest().settings.clone();
        Arc::new(Place {
            me: self.me,
            disk: self.disk.clone(),
            rules: self.rules.load_full(),
            lists: Lists::of(&settings),
            settings,
            dir: self.dir.clone(),
            recent: Some(self.shared.clone()),
        })
    }

    /// See [`control::AgentApi::why`](crate::api::AgentApi::why).
    pub async fn why(
        &self,
        view: Option<Arc<View>>,
        about: About,
        archive_file: Option<u32>,
    ) -> Result<v1::WhyResponse, Unanswered> {
        let _seat = self.whys.acquire().await.map_err(|_| Unanswered::NotNow)?;
        let owners = self.owners(view);
        let key = host_key(about.host(), self.shared.settings.identity.assign_by);
        let bench = asking::ask(&self.desk, vec![key], true).await.ok_or(Unanswered::NotNow)?;
        let bench = bench.into_iter().next().flatten();
        let lender = bench.as_ref().and_then(|bench| self.lender(owners.as_deref(), bench));
        let crawl = crawl::standing(&self.shared);
        let now = self.shared.clock.now();
        let place = self.place();
        let told = spawn_blocking(move || {
            let asked = Asked { about: &about, key, archive_file };
            place.tell(&asked, owners.as_deref(), bench.as_ref(), lender, &crawl, now)
        });
        Ok(told.await.map_err(|_| Unanswered::NotNow)??)
    }

    /// See [`control::AgentApi::hosts`](crate::api::AgentApi::hosts).
    pub async fn hosts(
        &self,
        view: Option<Arc<View>>,
        wanted: HostsWanted,
    ) -> Result<v1::HostsResponse, Unanswered> {
        let _seat = self.lists.try_acquire().map_err(|_| Unanswered::Busy)?;
        let (place, owners) = (self.place(), self.owners(view));
        let found = spawn_blocking(move || hosts::find(&place, &wanted, HOSTS_LOOKED_AT));
        let found = found.await.map_err(|_| Unanswered::NotNow)??;
        let keys = found.rows.iter().map(|(key, _)| *key).collect();
        let bench = asking::ask(&self.desk, keys, false).await.ok_or(Unanswered::NotNow)?;
        let (crawl, now) = (crawl::standing(&self.shared), self.shared.clock.now());
        let place = self.place();
        let told = spawn_blocking(move || {
            hosts::tell(&place, &found, &bench, owners.as_deref(), &crawl, now)
        });
        Ok(told.await.map_err(|_| Unanswered::NotNow)??)
    }

    /// The last fetches, newest first.
    pub fn fetches(&self, most: usize, failed_only: bool) -> Vec<v1::FetchStory> {
        self.shared.status.recent.last(most, failed_only, self.me)
    }

    /// The owners in `view`, made once a view.
    fn owners(&self, view: Option<Arc<View>>) -> Option<Arc<Owners>> {
        let view = view?;
        let mut last = self.owners.lock();
        if last.as_ref().is_none_or(|owners| owners.view().epoch != view.epoch) {
            let strategy = self.shared.settings.cluster.strategy;
            *last = Owners::new(strategy, view).ok().map(Arc::new);
        }
        last.clone()
    }

    /// The other agent that lends the turn at a host's address.
    fn lender(&self, owners: Option<&Owners>, bench: &HostSnapshot) -> Option<AgentId> {
        let lender = lessor_of(owners?, bench.address.as_ref()?.address);
        lender.filter(|&lender| lender != self.me)
    }
}

/// A question.
struct Asked<'a> {
    about: &'a About,
    key: HostKey,
    archive_file: Option<u32>,
}

impl Place {
    /// The whole story. Reads the disk.
    fn tell(
        &self,
        asked: &Asked<'_>,
        owners: Option<&Owners>,
        bench: Option<&HostSnapshot>,
        lender: Option<AgentId>,
        crawl: &why::Crawl,
        now: Timestamp,
    ) -> Result<v1::WhyResponse, DiskError> {
        let Asked { about, key, archive_file } = *asked;
        let row = shelf::host(&self.disk, key)?;
        let known = match bench {
            Some(bench) => bench.robots.clone(),
            None => shelf::robots(&self.disk, key)?,
        };
        let state = bench.map(|bench| &bench.state).or_else(|| row.as_ref().map(|row| &row.state));
        let last_ended = state.map_or(Timestamp::ZERO, |state| state.last_ended);
        let robots = self.robots(known, last_ended);
        let hold = self.hold(owners, key.group)?;
        let facts = Facts {
            now,
            name: about.host(),
            hold,
            row: row.as_ref(),
            bench,
            robots: &robots,
            lender,
            crawl,
            settings: &self.settings,
            lists: &self.lists,
        };
        let mut host = host_story(&facts);
        if let Some(shared) = &self.recent {
            host.fetches = shared.status.recent.of_host(key, FETCHES_TOLD, self.me);
            if host.address.is_empty() {
                // Where it was last visited.
                host.address = host.fetches.first().map(|f| f.address.clone()).unwrap_or_default();
            }
        }
        let closed = row.as_ref().and_then(|row| row.closed);
        let flight = bench.and_then(|bench| bench.flight.as_ref());
        let at = url::AtHost { key, is_known: row.is_some(), closed, robots: &robots, flight };
        let url = about.url().map(|url| url::story(self, url, &at)).transpose()?;
        let file = archive_file.and_then(|serial| crivello_archive::find_file(&self.dir, serial));
        Ok(v1::WhyResponse {
            agent: self.me.0,
            now: now.0,
            group: key.group.0,
            group_name: group_name(about.host(), self.settings.identity.assign_by).to_owned(),
            owner: hold.owner.map(|owner| owner.0),
            hold: hold.kind.into(),
            host: Some(host),
            url,
            archive_file: file.unwrap_or_default(),
        })
    }

    fn robots(
        &self,
        known: Vec<(Origin, RobotsRecord)>,
        last_ended: Timestamp,
    ) -> Vec<OriginFacts> {
        let known = known.into_iter();
        let facts = known.map(|(origin, record)| {
            let again = asked_again(&record, last_ended, &self.settings.politeness);
            OriginFacts { origin, record, again }
        });
        facts.collect()
    }

    /// What this agent is for a group, by the view and by what custody has noted on disk.
    fn hold(&self, owners: Option<&Owners>, group: GroupHash) -> Result<Hold, DiskError> {
        let tag = shelf::group(&self.disk, group)?.and_then(|state| state.tag);
        let Some(owners) = owners else {
            // Alone, or as it was when the process ended.
            let kind = match tag.map(|tag| tag.role) {
                None | Some(Role::Authority { .. }) => HoldKind::Authority,
                Some(Role::Replica { .. }) => HoldKind::Copy,
                Some(Role::Pending { .. }) => HoldKind::Pending,
            };
            return Ok(Hold { kind, owner: None });
        };
        let owner = owners.owner(group);
        let me = owners.view().agent(self.me).filter(|me| me.state != AgentState::Dead);
        let is_own = owner == Some(self.me);
        let kind = match tag {
            None => HoldKind::None,
            Some(tag) => match tag.role {
                // It counts no more once the agent has been declared dead.
                Role::Authority { .. }
                    if is_own && me.is_some_and(|me| tag.epoch >= me.joined_epoch) =>
                {
                    HoldKind::Authority
                }
                _ if is_own => HoldKind::Pending,
                Role::Replica { .. } => HoldKind::Copy,
                Role::Authority { .. } | Role::Pending { .. } => HoldKind::Leaving,
            },
        };
        Ok(Hold { kind, owner })
    }
}
