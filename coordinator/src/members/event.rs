//! Events of the membership and their effects.

use crivello_common::time::Timestamp;
use crivello_common::view::{AgentId, RunState, WEIGHT_MAX};
use std::time::Duration;

/// Settings of the membership.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MembershipRules {
    /// A member without a heartbeat for this long is dead. Default: 30 s.
    pub lease: Duration,
    /// Number of agents that hold each URL. Default: 2.
    pub replication: usize,
}

impl Default for MembershipRules {
    fn default() -> Self {
        Self { lease: Duration::from_secs(30), replication: 2 }
    }
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
    },
    /// A member reports that it is alive.
    Heartbeat {
        /// Member.
        id: AgentId,
        /// Its process.
        process: ProcessId,
        /// Epoch of the view that it uses.
        epoch: u64,
        /// True if all replicas of its data are complete under that view.
        settled: bool,
    },
    /// A member must hand over its groups.
    Drain {
        /// Member.
        id: AgentId,
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
    },
    /// Sets whether the crawl runs, pauses or stops.
    SetRun(RunState),
    /// Time has passed.
    Tick,
}

/// An action that the owner of the [`Members`](super::Members) must carry out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberEffect {
    /// Send this member its lease.
    Lease {
        /// Member.
        id: AgentId,
        /// End of its lease.
        until: Timestamp,
        /// Epoch of the view in force.
        epoch: u64,
    },
    /// Store the view, which has a new epoch, then publish it.
    Publish {
        /// New epoch.
        epoch: u64,
    },
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
    /// The lease has expired: the agent must join again.
    #[error("the lease has expired: join again")]
    LeaseLost,
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

/// The result of an event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemberStep {
    /// Effects, in the order in which they must be carried out.
    pub effects: Vec<MemberEffect>,
    /// Reason why the event itself changed nothing.
    pub refusal: Option<MemberRefusal>,
}
