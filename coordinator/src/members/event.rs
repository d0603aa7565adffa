//! What happens to the membership, and what comes of it.

use crivello_common::time::Timestamp;
use crivello_common::view::{AgentId, RunState, WEIGHT_MAX};
use std::time::Duration;

/// How membership is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// A member that is not heard of for this long is dead. Default 30 s.
    pub lease: Duration,
    /// So many agents are to hold each URL. Default 2.
    pub replication: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { lease: Duration::from_secs(30), replication: 2 }
    }
}

/// One run of an agent's process: drawn at random when it starts, so that two processes on copies
/// of one disk are told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Process(pub u64);

/// What happens to the membership.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A process wants to be a member.
    Join {
        /// The id it was given before and kept on its disk; `None` the first time.
        id: Option<AgentId>,
        /// Drawn when its directory was made, and kept there: the answer with its id may be lost.
        disk: u64,
        /// The process.
        process: Process,
        /// What people call it; unique among the members.
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
        process: Process,
        /// The epoch of the view that it goes by.
        epoch: u64,
        /// Under that view all who are to hold what it has do hold it.
        settled: bool,
    },
    /// A member is to hand its groups over.
    Drain {
        /// The member.
        id: AgentId,
    },
    /// A member that was drained has nothing left and goes.
    Leave {
        /// The member.
        id: AgentId,
        /// Its process.
        process: Process,
    },
    /// A member's process ends and its next is to come: its lease runs on, whoever of its processes
    /// is heard of next has it.
    Rest {
        /// The member.
        id: AgentId,
        /// Its process.
        process: Process,
        /// It had asked to be drained, and is not to be after all.
        stays: bool,
    },
    /// A dead member will not come back.
    Forget {
        /// The member.
        id: AgentId,
        /// Nor will its archive: what only it fetched is to be fetched again.
        refetch: bool,
    },
    /// The crawl is to run, to pause or to end.
    SetRun(RunState),
    /// Time has passed.
    Tick,
}

/// What the owner of the [`Members`](super::Members) is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Tell this member that its lease runs until then, and the epoch it should know.
    Lease {
        /// The member.
        id: AgentId,
        /// The end of its lease.
        until: Timestamp,
        /// The epoch of the view in force.
        epoch: u64,
    },
    /// Write the view down, then send it to everyone: it has this new epoch.
    Publish {
        /// The new epoch.
        epoch: u64,
    },
}

/// Why an event changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
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
    /// An id that this membership never gave out.
    #[error(
        "the agent's id was never given out for this crawl: its directory is not of this crawl, or the coordinator's journal is an old copy"
    )]
    StrangeId,
    /// A member that was forgotten, and what it fetched with it.
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
    /// Its lease ran out: it must join again.
    #[error("the lease ran out: join again")]
    LeaseLost,
    /// It must be drained before it leaves.
    #[error("drain the agent before it leaves")]
    NotDrained,
    /// It is alive: drain it instead.
    #[error("the agent is alive: drain it, or stop it and wait until its lease is over")]
    Alive,
    /// It is dead: there is nothing it could hand over.
    #[error("the agent is dead: start it again to drain it, or remove it")]
    Dead,
    /// There would be nobody to take its groups.
    #[error("the last active agent cannot be drained: nobody is there to take over")]
    LastActive,
    /// The crawl ends.
    #[error("the crawl was stopped: `crivello resume` goes on with it")]
    Stopping,
    /// No room for its slots, or no id left.
    #[error("there is no room for another agent of this weight")]
    Full,
}

/// What came of an event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// To be carried out, in order.
    pub effects: Vec<Effect>,
    /// Why the event itself changed nothing.
    pub refusal: Option<Refusal>,
}
