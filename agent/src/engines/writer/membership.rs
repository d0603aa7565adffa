//! The accountant of a member: what others say is merged and committed between the commits of its
//! own pages, and what they must hear is sent after them.

use crate::cluster::{MembershipOutcome, ReplicationEngine};
use crate::engines::writer::{Writer, WriterError};
use crate::messages::{ToWorkbench, WriterMsg};
use crate::report::Ended;
use crivello_common::hash::GroupHash;
use crivello_common::time::Timestamp;
use crossbeam::channel::{RecvTimeoutError, Select};
use std::sync::atomic::Ordering::Acquire;
use std::time::Duration;

/// Steps of work on whole groups between two looks at everything else.
const CHORES_AT_ONCE: usize = 2;

impl Writer {
    /// The next that comes from the own threads; returns without it when something comes from the
    /// cluster.
    pub(super) fn next_entry(&self, nap: Duration) -> Result<WriterMsg, RecvTimeoutError> {
        let Some(member) = &self.member else { return self.inbox.recv_timeout(nap) };
        if self.inbox.is_empty() && member.arrivals().is_empty() {
            let mut select = Select::new();
            select.recv(&self.inbox);
            select.recv(member.arrivals());
            let _ = select.ready_timeout(nap);
        }
        self.inbox.try_recv().map_err(|error| match error {
            crossbeam::channel::TryRecvError::Empty => RecvTimeoutError::Timeout,
            crossbeam::channel::TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
        })
    }

    /// Does what the cluster asks for.
    pub(super) fn take_part(&mut self, now: Timestamp) -> Result<(), WriterError> {
        let Some(mut member) = self.member.take() else { return Ok(()) };
        let result = self.take_part_as(&mut member, now);
        self.member = Some(member);
        result
    }

    fn take_part_as(
        &mut self,
        member: &mut ReplicationEngine,
        now: Timestamp,
    ) -> Result<(), WriterError> {
        if self.group.is_empty() && !self.books.ledger.has_changes() && !member.has_news() {
            self.group_since = now;
        }
        member.receive(&mut self.books.ledger, &mut self.group, now)?;
        self.merge(member, now)?;
        if let Some(view) = member.take_view() {
            // In an epoch nothing comes for a group that is deleted in it.
            while self.do_chore(now)? {}
            let disk = self.books.disk.clone();
            let fate = member.begin_epoch(&mut self.books.ledger, &disk, &view, now)?;
            if fate == MembershipOutcome::Evicted {
                tracing::warn!("this agent was counted as dead");
                self.shared.lifecycle.end(Ended::Lost, None);
            }
            self.next_due = now;
        }
        member.step(&mut self.books.ledger, now)?;
        let groups = member.take_recalls();
        if !groups.is_empty() {
            self.replies.push_back(ToWorkbench::Recall { groups });
        }
        for _ in 0..CHORES_AT_ONCE {
            if !self.do_chore(now)? {
                break;
            }
        }
        self.refetch(member, now)?;
        // What ownership has decided is on disk before anybody hears of it.
        self.merge(member, now)
    }

    /// Commits what others have told, and what ownership has decided.
    fn merge(&mut self, member: &mut ReplicationEngine, now: Timestamp) -> Result<(), WriterError> {
        if !member.has_merges() && !self.books.ledger.group_rows().has_changes() {
            return Ok(());
        }
        let facts = member.take_merges();
        member.trace_merged(&facts, now);
        let disk = self.books.disk.clone();
        let ledger = &mut self.books.ledger;
        let mut batch = ledger.merge(&facts, now)?;
        member.merged(ledger, &mut batch, &disk)?;
        self.insist(|_| disk.commit(&batch).map_err(WriterError::from))?;
        member.merge_committed();
        self.tell_totals();
        self.next_due = now;
        Ok(())
    }

    /// Looks through some of the rows that a lost archive may have made void.
    fn refetch(
        &mut self,
        member: &mut ReplicationEngine,
        now: Timestamp,
    ) -> Result<(), WriterError> {
        let disk = self.books.disk.clone();
        let ledger = &mut self.books.ledger;
        let Some(mut batch) = ledger.step_refetch(now)? else { return Ok(()) };
        member.merged(ledger, &mut batch, &disk)?;
        self.insist(|_| disk.commit(&batch).map_err(WriterError::from))?;
        self.tell_totals();
        self.next_due = now;
        Ok(())
    }

    /// A step of work on whole groups; says whether there was one.
    fn do_chore(&mut self, now: Timestamp) -> Result<bool, WriterError> {
        let Some(batch) = self.books.ledger.step_job(now)? else { return Ok(false) };
        let disk = self.books.disk.clone();
        self.insist(|_| disk.commit(&batch).map_err(WriterError::from))?;
        self.tell_totals();
        self.next_due = now;
        Ok(true)
    }

    /// Sends what has been committed.
    pub(super) fn pump(&mut self) -> Result<(), WriterError> {
        if let Some(member) = &mut self.member {
            member.pump(&self.books.ledger, &self.books.disk)?;
        }
        Ok(())
    }

    /// How a member's run ended, once it has: it stays when there is nothing to fetch, or nothing
    /// may be.
    pub(super) fn member_ended(&mut self, settled: bool) -> Result<Option<Ended>, WriterError> {
        let Some(member) = &mut self.member else { return Ok(None) };
        let ledger = &mut self.books.ledger;
        let no_visit = self.shared.status.visits.load(Acquire) == 0;
        let read = !ledger.has_changes() && !ledger.is_refetching() && !ledger.is_blocking();
        let quiet = settled && no_visit && read && member.is_settled();
        let idle = quiet && (self.quiet == Some(Ended::Limit) || !ledger.has_queue()?);
        member.tell(idle);
        if idle && member.is_drained(ledger)? {
            return Ok(Some(Ended::Drained));
        }
        Ok(if settled { self.quiet.filter(|&how| how != Ended::Limit) } else { None })
    }

    /// Whether a visit to a group's hosts may begin.
    pub(super) fn may_fetch(
        member: &mut Option<Box<ReplicationEngine>>,
        group: GroupHash,
        rows: &mut crate::crawldb::GroupRows,
        now: Timestamp,
    ) -> Result<bool, crate::storage::DiskError> {
        match member {
            Some(member) => member.may_fetch(group, rows, now),
            None => Ok(true),
        }
    }
}
