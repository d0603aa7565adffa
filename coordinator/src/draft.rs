//! Commands, and what they decide: the members, the page quotas and the settings. Pure: the membership thread stores the
//! result, then puts it in force.
//!
//! - *Input:* a [`Command`], and the time.
//! - *Output:* a [`Reply`], and the [`Draft`] changed by the command.
//! - *Errors:* a [`CommandError`]. A refused command changes nothing, but leases may have ended.

use crate::members::{MemberEvent, MemberLease, MemberRefusal, Members};
use crate::page_quota::{PageQuota, PageReport, living};
use crate::settings::{EditRejected, SettingsStore};
use crivello_common::certificate_id::CertificateId;
use crivello_common::config::Edit;
use crivello_common::obstacle::Obstacle;
use crivello_common::time::Timestamp;
use crivello_common::view::{AgentId, View};
use crivello_proto::v1;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// A change of the membership, or a query.
#[derive(Debug)]
pub(crate) enum Command {
    /// An event of the membership. An agent that reports or leaves also sends its page counts, in a
    /// crawl with a page limit.
    Event(MemberEvent, Option<(AgentId, PageReport)>),
    /// Drain the agent with this name or id.
    Drain(String),
    /// Remove the agent with this name or id.
    Remove {
        /// Agent.
        agent: String,
        /// True if pages that only it fetched are fetched again.
        refetch: bool,
        /// True if pages in safe files are fetched again, too.
        ignore_store: bool,
        /// Number of its pages that are not fetched again, because they are in safe files.
        safe_pages: u64,
        /// True if a person gives up what may be at no other agent.
        force: bool,
    },
    /// Accept one more certificate of the agent with this name or id.
    AcceptCertificate(String, CertificateId),
    /// Count the process of the agent with this name or id as ended.
    DeclareDead(String),
    /// Edit settings, if this revision is in force (0: any revision).
    Edit(Vec<(String, Edit)>, u64),
    /// List all leases without changing anything.
    List,
}

/// The result of a command.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reply {
    /// The view in force.
    pub(crate) view: Arc<View>,
    /// The settings in force.
    pub(crate) settings: Arc<v1::CrawlSettings>,
    /// For an edit: keys of changed settings that take effect when the agents restart.
    pub(crate) at_restart: Vec<String>,
    /// Granted lease and its agent.
    pub(crate) lease: Option<(AgentId, Duration)>,
    /// For a list: each agent with the rest of its lease and the epoch that it uses.
    pub(crate) leases: Vec<(AgentId, Duration, u64)>,
    /// For a list: what keeps the crawl from going on, or from ending.
    pub(crate) obstacles: Vec<Obstacle>,
    /// For a list: dead agents whose groups have not been fully replicated since.
    pub(crate) uncovered: Vec<AgentId>,
    /// For a list: the number of first archive files of each agent that are safe in a store.
    pub(crate) safe_files: Vec<(AgentId, u32)>,
    /// For a heartbeat: the epoch since which the agent should check all its copies, or 0.
    pub(crate) copies_wanted: u64,
    /// For a heartbeat in a crawl with a page limit: the agent's page quota.
    pub(crate) pages: Option<v1::QuotaGrant>,
}

/// The reason why a command changed nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CommandError {
    /// The membership rejects the command.
    #[error("{0}")]
    Refused(#[from] MemberRefusal),
    /// The settings reject the edit.
    #[error("{0}")]
    Edit(#[from] EditRejected),
    /// The state cannot be stored.
    #[error("nothing was changed, because the coordinator's state cannot be written: {0}")]
    NotStored(String),
    /// The queue is full.
    #[error("the coordinator is busy: try again")]
    Busy,
    /// The thread has ended.
    #[error("the coordinator is stopping")]
    Ending,
    /// Another coordinator may be active.
    #[error("this coordinator is not active any more")]
    Deposed,
}

/// Decisions of commands, before they are stored.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) members: Members,
    /// `None` if there is no page limit.
    pub(crate) quota: Option<PageQuota>,
    pub(crate) settings: Arc<SettingsStore>,
    /// Keys of settings that have changed.
    pub(crate) changed: Vec<String>,
}

impl Draft {
    /// Runs a command. The reply lacks the view and the settings in force.
    pub(crate) fn execute(
        &mut self,
        command: &Command,
        now: Timestamp,
    ) -> Result<Reply, CommandError> {
        match command {
            Command::Event(event, report) => {
                let mut reply = self.step(event, now)?;
                reply.pages = report.and_then(|(id, report)| {
                    let living = living(self.members.view());
                    Some(self.quota.as_mut()?.on_report(id, report, &living))
                });
                if let MemberEvent::Heartbeat(report) = event {
                    reply.copies_wanted = self.members.copies_wanted(report.id);
                }
                Ok(reply)
            }
            Command::Drain(agent) => {
                self.step(&MemberEvent::Drain { id: self.members.find(agent)? }, now)
            }
            Command::AcceptCertificate(agent, certificate) => {
                let (id, certificate) = (self.members.find(agent)?, *certificate);
                self.step(&MemberEvent::AcceptCertificate { id, certificate }, now)
            }
            Command::DeclareDead(agent) => {
                self.step(&MemberEvent::DeclareDead { id: self.members.find(agent)? }, now)
            }
            &Command::Remove { ref agent, refetch, ignore_store, safe_pages, force } => {
                let id = self.members.find(agent)?;
                let event = MemberEvent::Remove { id, refetch, ignore_store, force };
                let reply = self.step(&event, now)?;
                // The view and the quotas change in the same record.
                if let Some(quota) = self.quota.as_mut().filter(|_| refetch) {
                    quota.keep_only(id, if ignore_store { 0 } else { safe_pages });
                }
                Ok(reply)
            }
            Command::Edit(edits, known_revision) => self.edit(edits, *known_revision),
            Command::List => {
                let Self { members, .. } = self;
                let lease = |id| members.lease(id, now).map(|(left, epoch)| (id, left, epoch));
                let agents = &members.view().agents;
                Ok(Reply {
                    leases: agents.iter().filter_map(|agent| lease(agent.id)).collect(),
                    obstacles: members.obstacles(),
                    uncovered: members.uncovered(),
                    safe_files: agents.iter().map(|a| (a.id, members.safe_files(a.id))).collect(),
                    ..Reply::default()
                })
            }
        }
    }

    fn step(&mut self, event: &MemberEvent, now: Timestamp) -> Result<Reply, CommandError> {
        Ok(leased(self.members.step(event, now)?, now))
    }

    fn edit(
        &mut self,
        edits: &[(String, Edit)],
        known_revision: u64,
    ) -> Result<Reply, CommandError> {
        let edited = self.settings.check(edits, known_revision)?;
        if !edited.changed.is_empty() {
            self.quota = match (self.quota.take(), edited.settings.live.limits.pages_max) {
                (Some(quota), Some(limit)) => Some(quota.with_limit(limit)),
                // Pages fetched without a limit count too, so all agents must report first.
                (None, Some(limit)) => {
                    let unreported = living(self.members.view());
                    Some(PageQuota::new(limit, BTreeMap::new()).with_unreported(unreported))
                }
                (_, None) => None,
            };
            self.settings = Arc::new(self.settings.with(&edited.settings));
            self.changed.extend(edited.changed);
        }
        Ok(Reply { at_restart: edited.at_restart, ..Reply::default() })
    }
}

/// Returns the reply to an event, which may have renewed a lease.
pub(crate) fn leased(lease: Option<MemberLease>, now: Timestamp) -> Reply {
    let lease = lease.map(|MemberLease { id, until }| (id, until.since(now)));
    Reply { lease, ..Reply::default() }
}
