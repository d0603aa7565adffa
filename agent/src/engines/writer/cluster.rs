//! The writer of a cluster member: commits other agents' facts between commits of its own pages,
//! and sends changes to replicas and owners after each commit.

use crate::cluster::{MembershipOutcome, OpenCommits, Replication};
use crate::engines::writer::{Writer, WriterError};
use crate::messages::{Commit, ReplicaStore as _, ToWorkbench, WriterMsg};
use crate::report::Ended;
use crivello_common::time::Timestamp;
use crossbeam::channel::{RecvTimeoutError, Select};
use std::sync::atomic::Ordering::Acquire;
use std::time::Duration;

/// Number of group job steps in each round of the writer.
const JOB_STEPS_AT_ONCE: usize = 2;

impl Writer {
    /// Returns the next message of the agent's own threads; a timeout if messages of the cluster
    /// come first.
    pub(super) fn next_message(&self, wait: Duration) -> Result<WriterMsg, RecvTimeoutError> {
        let Replication::Cluster(cluster) = &self.replication else {
            return self.inbox.recv_timeout(wait);
        };
        if self.inbox.is_empty() && cluster.inbox().is_empty() {
            let mut select = Select::new();
            select.recv(&self.inbox);
            select.recv(cluster.inbox());
            let _ = select.ready_timeout(wait);
        }
        self.inbox.try_recv().map_err(|error| match error {
            crossbeam::channel::TryRecvError::Empty => RecvTimeoutError::Timeout,
            crossbeam::channel::TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
        })
    }

    /// Handles the messages of the cluster, and continues handoffs.
    pub(super) fn poll_cluster(&mut self, now: Timestamp) -> Result<(), WriterError> {
        if self.replication.is_solo() {
            return Ok(());
        }
        if !self.must_commit() {
            self.open_since = now;
        }
        if let Replication::Cluster(cluster) = &mut self.replication {
            let mut open = OpenCommits { pages: &mut self.open, facts: &mut self.facts };
            cluster.receive(&mut open, &mut self.stores.crawldb)?;
        }
        self.commit_facts(now)?;
        self.enter_epoch(now)?;
        if let Replication::Cluster(cluster) = &mut self.replication {
            let mut open = OpenCommits { pages: &mut self.open, facts: &mut self.facts };
            let groups = cluster.step(&mut open, &mut self.stores.crawldb, now)?;
            if !groups.is_empty() {
                self.replies.push_back(ToWorkbench::Recall { groups });
            }
        }
        for _ in 0..JOB_STEPS_AT_ONCE {
            if !self.step_job(now)? {
                break;
            }
        }
        if let Some(commit) = self.stores.crawldb.step_refetch(now)? {
            self.write(commit, now)?;
        }
        // Roles that were set are on disk before any message about them is sent.
        self.commit_facts(now)
    }

    /// Puts the next view into force, if there is one.
    fn enter_epoch(&mut self, now: Timestamp) -> Result<(), WriterError> {
        let Replication::Cluster(cluster) = &mut self.replication else { return Ok(()) };
        let Some(view) = cluster.take_view() else { return Ok(()) };
        let mut open = OpenCommits { pages: &mut self.open, facts: &mut self.facts };
        let outcome = cluster.begin_epoch(&view, &mut open, &mut self.stores.crawldb, now)?;
        if outcome == MembershipOutcome::Evicted {
            tracing::warn!("this agent was declared dead");
            self.shared.lifecycle.end(Ended::Lost, None);
        }
        self.serve_at = now;
        Ok(())
    }

    /// Commits other agents' facts, and the roles that were set.
    fn commit_facts(&mut self, now: Timestamp) -> Result<(), WriterError> {
        let has_roles = self.stores.crawldb.group_rows().has_changes();
        if self.facts.is_empty() && !self.facts.is_awaited() && !has_roles {
            return Ok(());
        }
        let mut commit = std::mem::replace(&mut self.facts, Commit::of_facts());
        self.replication.route(&mut commit, &mut self.stores.crawldb, now)?;
        self.stores.crawldb.apply(&mut commit, now)?;
        self.write(commit, now).map(drop)
    }

    /// Makes one step of the jobs on groups. Returns false if there is none.
    fn step_job(&mut self, now: Timestamp) -> Result<bool, WriterError> {
        let Some(commit) = self.stores.crawldb.step_job(now)? else { return Ok(false) };
        self.write(commit, now)?;
        Ok(true)
    }

    /// Returns the way the run of a member ended, once it has. The agent stays a member while there
    /// is nothing to fetch, or a limit is reached.
    pub(super) fn member_ended(&mut self, settled: bool) -> Result<Option<Ended>, WriterError> {
        let at_limit = self.idle == Some(Ended::Limit) || self.has_nothing_again();
        let Replication::Cluster(cluster) = &mut self.replication else { return Ok(None) };
        let crawldb = &mut self.stores.crawldb;
        let no_visit = self.shared.status.visits.load(Acquire) == 0;
        let scanned = !crawldb.has_changes()
            && !crawldb.is_refetching()
            && !crawldb.blocked_hosts().is_active();
        let committed =
            self.facts.is_empty() && !self.facts.is_awaited() && !self.open.is_awaited();
        let quiet = settled && no_visit && scanned && committed && cluster.is_settled();
        let idle = quiet && (at_limit || !crawldb.has_queue()?);
        cluster.report(idle);
        if idle && cluster.is_drained(crawldb)? {
            return Ok(Some(Ended::Drained));
        }
        Ok(if settled { self.idle.filter(|&how| how != Ended::Limit) } else { None })
    }
}
