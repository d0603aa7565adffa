//! Events of the membership and their results.

use crivello_common::certificate_id::CertificateId;
use crivello_common::time::Timestamp;
use crivello_common::view::{AgentId, RunState, WEIGHT_MAX};
use std::time::Duration;

/// Settings of the membership.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MembershipRules {
    /// A member without a heartbeat for this long is dead. Default: 30 s.
    pub lease: Duration,
    /// Length of the peer leases that members grant each other. Default: 5 s.
    pub peer_lease: Duration,
    /// Number of agents that hold each URL. Default: 2.
    pub replication: usize,
}

impl Default for MembershipRules {
    fn default() -> Self {
        let (lease, peer_lease) = (Duration::from_secs(30), Duration::from_secs(5));
        Self { lease, peer_lease, replication: 2 }
    }
}

impl MembershipRules {
    /// Returns the time without progress after which the lease of a member is no longer renewed. It
    /// is longer than any commit.
    pub fn stall_max(&self) -> Duration {
        self.lease.max(Duration::from_secs(10))
    }

    /// Returns the time behind the view in force after which the lease of a member is no longer
    /// renewed. It is longer than a scan of all groups.
    pub fn lag_max(&self) -> Duration {
        (4 * self.lease).max(Duration::from_secs(20))
    }

    /// Returns the time for which two members do not reach each other, after which the lease of one
    /// of them is no longer renewed.
    pub fn cut_max(&self) -> Duration {
        (2 * self.lease).max(Duration::from_secs(15))
    }

    /// Returns the time for which an agent may not rejoin that could not reach another one, or was not
    /// ready again and again, after its `n`th such death (from 1).
    pub fn exclusion(&self, n: u32) -> Duration {
        self.cut_max() * 2_u32.saturating_pow(n.min(6))
    }
}

/// Report of a member, in a heartbeat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeartbeatReport {
    /// Member.
    pub id: AgentId,
    /// Its process.
    pub process: ProcessId,
    /// Epoch of the view that it uses; 0 before its first.
    pub epoch: u64,
    /// [`View::digest`](crivello_common::view::View::digest) of that view.
    pub digest: u64,
    /// True if it has announced under that view which groups it will send.
    pub scanned: bool,
    /// Last epoch in which all its groups were fully replicated.
    pub settled_epoch: u64,
    /// Epoch in which its last complete check of all copies began. All groups that it had then have
    /// been copied since.
    pub copied_since: u64,
    /// Time since its engines made progress; zero if they do.
    pub stalled: Duration,
    /// True if its disk is full.
    pub disk_full: bool,
    /// Members of the view that it has not reached for a while.
    pub unreachable: Vec<AgentId>,
    /// Members that have not acknowledged the first packet for them, and for how long.
    pub undelivered: Vec<(AgentId, Duration)>,
    /// Archive files with lower serial numbers are safe in a store that survives its machine; `None` before that is
    /// known.
    pub safe_files: Option<u32>,
    /// Certificate of the process in force; `None` without TLS.
    pub certificate: Option<CertificateId>,
}

/// Identity of one run of an agent's process: a random number, so that two processes on copies of
/// one disk differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ProcessId(pub u64);

/// An event of the membership.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberEvent {
    /// A process requests membership.
    Join {
        /// Id assigned earlier and kept on the agent's disk; `None` the first time.
        id: Option<AgentId>,
        /// A random number created with the agent's directory. It identifies an agent that joined
        /// but never received its id.
        disk: u64,
        /// Process.
        process: ProcessId,
        /// Agent's name, unique among the members.
        name: String,
        /// Address for its peers; empty for a single agent.
        address: String,
        /// Its share of the groups relative to other agents: 1 to [`WEIGHT_MAX`].
        weight: u16,
        /// Epoch of the last view on its disk; 0 if there is none.
        known_epoch: u64,
        /// Certificate that made the connection; `None` without TLS.
        certificate: Option<CertificateId>,
    },
    /// A member reports that it is alive.
    Heartbeat(HeartbeatReport),
    /// A member must hand over its groups.
    Drain {
        /// Member.
        id: AgentId,
    },
    /// A member wants to hand over its groups and leave.
    RequestDrain {
        /// Member.
        id: AgentId,
        /// Its process.
        process: ProcessId,
    },
    /// A person accepts one more certificate of a member.
    AcceptCertificate {
        /// Member.
        id: AgentId,
        /// Certificate.
        certificate: CertificateId,
    },
    /// A drained member has handed over everything and leaves.
    Leave {
        /// Member.
        id: AgentId,
        /// Its process.
        process: ProcessId,
    },
    /// A member's process ends, and another is expected. The lease continues, and the next process
    /// that reports takes it over.
    ProcessEnded {
        /// Member.
        id: AgentId,
        /// Its process.
        process: ProcessId,
        /// True if the member had requested a drain and withdraws the request.
        cancel_drain: bool,
    },
    /// A dead member is removed for good.
    Remove {
        /// Member.
        id: AgentId,
        /// True if its archive is lost, so that pages only it fetched must be fetched again.
        refetch: bool,
        /// True if pages in safe files are fetched again, too.
        ignore_store: bool,
        /// True if a person gives up what may be at no other agent.
        force: bool,
    },
    /// A person has made sure that the process of a silent member does not run.
    DeclareDead {
        /// Member.
        id: AgentId,
    },
    /// Sets whether the crawl runs, pauses or stops.
    SetRun(RunState),
    /// Time has passed.
    Tick,
}

/// A lease that an event has granted or renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberLease {
    /// Member.
    pub id: AgentId,
    /// End of its lease.
    pub until: Timestamp,
}

/// The reason why an event changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemberRefusal {
    /// No such member exists.
    #[error("there is no such agent")]
    Unknown,
    /// Another member has this name.
    #[error(
        "another agent has this name: choose another, or remove that agent if it is gone for good"
    )]
    NameTaken,
    /// Another living member has this address.
    #[error("another agent has this address")]
    AddressTaken,
    /// The id was never assigned to an agent.
    #[error(
        "the agent's id was never assigned in this crawl: its directory belongs to another crawl, \
         or the coordinator's state is an old copy"
    )]
    StrangeId,
    /// The member was removed, and its pages are being fetched again.
    #[error(
        "the agent was removed, and other agents fetch its pages again: start it with an empty \
         --data"
    )]
    Refetched,
    /// See [`check_name`](crivello_common::view::check_name).
    #[error("invalid agent name: {0}")]
    BadName(&'static str),
    /// See [`check_address`](crivello_common::view::check_address).
    #[error("invalid agent address: {0}")]
    BadAddress(&'static str),
    /// The weight is out of bounds.
    #[error("the agent's weight is not a number from 1 to {WEIGHT_MAX}")]
    BadWeight,
    /// A member's weight cannot change, because its slots cannot.
    #[error(
        "the weight of an agent cannot change: start it with its old weight, or drain it and join \
         again"
    )]
    WeightChanged,
    /// Another process of this agent holds the lease.
    #[error(
        "another process of this agent holds the lease: stop it, or wait until the lease expires"
    )]
    OtherProcess,
    /// The member joined with another certificate.
    #[error(
        "agent {id} joined with another certificate, and this one has the public key \
         {certificate}: if it was replaced, accept it with `crivello accept-certificate {id} \
         {certificate}`"
    )]
    OtherCertificate {
        /// Member.
        id: AgentId,
        /// Certificate that it shows now.
        certificate: CertificateId,
    },
    /// The lease has expired: the agent must join again.
    #[error("the lease has expired: join again")]
    LeaseLost,
    /// The agent's views are later than those of this coordinator, or others.
    #[error(
        "the coordinator's record is an old copy: an agent uses the view of epoch {theirs}, which \
         this coordinator, at epoch {ours}, never published. Stop it, and start it with its newest \
         record, or make a new one with `crivello coordinator rebuild`"
    )]
    OutdatedRecord {
        /// Epoch of the agent's view.
        theirs: u64,
        /// Epoch of the view in force.
        ours: u64,
    },
    /// The agent and another one cannot reach each other.
    #[error(
        "the agent and agent {other} could not reach each other, so it was declared dead: repair the \
         network between them; it may rejoin in {secs} s"
    )]
    Excluded {
        /// The other agent.
        other: AgentId,
        /// Seconds until it may rejoin.
        secs: u64,
    },
    /// No process of the agent was ready for too long.
    #[error(
        "no process of the agent was ready for too long, while the others waited: see why in its log; \
         it may rejoin in {secs} s"
    )]
    NeverReady {
        /// Seconds until it may rejoin.
        secs: u64,
    },
    /// The groups of the agent are not copied yet.
    #[error(
        "the groups of the agent are not fully copied yet: try again in a moment (`crivello status` \
         shows what is left); --force removes it at once and gives up what only it has"
    )]
    StillCopying,
    /// The agent may hold data that no other agent has.
    #[error(
        "the agent may hold URLs that no other agent has: start it again if its disk is intact; \
         --force removes it and gives them up"
    )]
    OnlyCopy,
    /// Too many changes while silent agents cannot be declared dead.
    #[error(
        "too many changes while silent agents cannot be declared dead: `crivello status` shows which, \
         and what to do"
    )]
    TooManyViews,
    /// The agent must be drained before it leaves.
    #[error("drain the agent before it leaves")]
    NotDrained,
    /// The agent is alive.
    #[error("the agent is alive: drain it, or stop it and wait until its lease expires")]
    Alive,
    /// The agent is dead, so it has nothing to hand over.
    #[error("the agent is dead: start it again to drain it, or remove it")]
    Dead,
    /// No agent would remain to take over its groups.
    #[error("the last active agent cannot be drained: no other agent can take over its work")]
    LastActive,
    /// The crawl is stopping.
    #[error("the crawl was stopped: `crivello resume` resumes it")]
    Stopping,
    /// No free slots for its weight, or no id left.
    #[error("the cluster has no free slots for another agent of this weight")]
    Full,
}

/// The result of an event: the lease to send to the member, if any, or the reason why the event
/// itself changed nothing.
pub type StepResult = Result<Option<MemberLease>, MemberRefusal>;
