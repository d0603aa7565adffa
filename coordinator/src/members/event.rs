//! The events of the membership, and their effects.

use crivello_common::time::Timestamp;
use crivello_common::view::{AgentId, RunState, WEIGHT_MAX};
use std::time::Duration;

/// The settings that the membership goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MembershipRules {
    /// A member without a heartbeat for this long is dead. Default 30 s.
    pub lease: Duration,
    /// Agents that hold each URL. Default 2.
    pub replication: usize,
}

impl Default for MembershipRules {
    fn default() -> Self {
        Self { lease: Duration::from_secs(30), replication: 2 }
    }
}

/// One run of an agent's process: a random number, so that two processes on copies of one disk differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ProcessId(pub u64);

/// An event of the membership.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberEvent {
    /// A process asks to be a member.
    Join {
        /// The id that it was given before and keeps on its disk; `None` the first time.
        id: Option<AgentId>,
        /// A random number made with the agent's directory. It identifies an agent that joined but
        /// never received its id.
        disk: u64,
        /// The process.
        process: ProcessId,
        /// The agent's name; unique among the members.
        name: String,
        /// Where peers reach it; empty for an agent that is alone.
        address: String,
        /// Its share of the groups relative to the others': 1 to [`WEIGHT_MAX`].
        weight: u16,
    },
    /// A member is alive.
    Heartbeat {
        /// The member.
        id: AgentId,
        /// Its process.
        process: ProcessId,
        /// The epoch of the view that it goes by.
        epoch: u64,
        /// Under that view all replicas of what it has are complete.
        settled: bool,
    },
    /// A member is to hand over its groups.
    Drain {
        /// The member.
        id: AgentId,
    },
    /// A drained member has handed over everything and leaves.
    Leave {
        /// The member.
        id: AgentId,
        /// Its process.
        process: ProcessId,
    },
    /// A member's process ends, and another is to follow: the lease runs on, and the next process that
    /// reports takes it.
    ProcessEnded {
        /// The member.
        id: AgentId,
        /// Its process.
        process: ProcessId,
        /// It had asked to be drained, and takes that back.
        cancel_drain: bool,
    },
    /// A dead member will not come back.
    Remove {
        /// The member.
        id: AgentId,
        /// Its archive is lost: what only it fetched is to be fetched again.
        refetch: bool,
    },
    /// The crawl is to run, to pause or to stop.
    SetRun(RunState),
    /// Time has passed.
    Tick,
}

/// What the owner of the [`Members`](super::Members) must do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberEffect {
    /// Send this member its lease.
    Lease {
        /// The member.
        id: AgentId,
        /// The end of its lease.
        until: Timestamp,
        /// The epoch of the view in force.
        epoch: u64,
    },
    /// Store the view, then publish it: it has a new epoch.
    Publish {
        /// The new epoch.
        epoch: u64,
    },
}

/// Why an event changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemberRefusal {
    /// There is no such member.
    #[error("there is no such agent")]
    Unknown,
    /// Another member has this name.
    #[error(
        "another agent has this name: choose another, or remove that agent if it is gone for good"
    )]
    NameTaken,
    /// Another member that is alive is at this address.
    #[error("another agent has this address")]
    AddressTaken,
    /// An id that was never given to an agent.
    #[error(
        "the agent's id was never given out for this crawl: its directory is not of this crawl, or the coordinator's state is an old copy"
    )]
    StrangeId,
    /// A member that was removed together with what it fetched.
    #[error(
        "the agent was removed, and what it had fetched is fetched again by others: start it with an empty --data"
    )]
    Refetched,
    /// See [`check_name`](crivello_common::view::check_name).
    #[error("the agent's name cannot be: {0}")]
    BadName(&'static str),
    /// See [`check_address`](crivello_common::view::check_address).
    #[error("the agent's address cannot be: {0}")]
    BadAddress(&'static str),
    /// The weight is out of bounds.
    #[error("the agent's weight is not a number from 1 to {WEIGHT_MAX}")]
    BadWeight,
    /// A member's weight is for life: its slots are.
    #[error(
        "the weight of a known agent cannot change: start it as it was, or drain it and join anew"
    )]
    WeightChanged,
    /// Another process of this agent still holds the lease.
    #[error(
        "another process of this agent holds the lease: stop it, or wait until the lease is over"
    )]
    OtherProcess,
    /// The lease ran out: the agent must join again.
    #[error("the lease ran out: join again")]
    LeaseLost,
    /// The agent must be drained before it leaves.
    #[error("drain the agent before it leaves")]
    NotDrained,
    /// The agent is alive.
    #[error("the agent is alive: drain it, or stop it and wait until its lease is over")]
    Alive,
    /// The agent is dead, so it has nothing to hand over.
    #[error("the agent is dead: start it again to drain it, or remove it")]
    Dead,
    /// No agent would be left to take over its groups.
    #[error("the last active agent cannot be drained: no agent is there to take over")]
    LastActive,
    /// The crawl is stopping.
    #[error("the crawl was stopped: `crivello resume` goes on with it")]
    Stopping,
    /// No room for its slots, or no id left.
    #[error("there is no room for another agent of this weight")]
    Full,
}

/// The result of an event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemberStep {
    /// In the order in which they must be carried out.
    pub effects: Vec<MemberEffect>,
    /// Why the event itself changed nothing.
    pub refusal: Option<MemberRefusal>,
}
