//! From the workbench to whoever asks: how a host stands there just now.

use super::RobotsRecord;
use crivello_common::hash::UrlHash;
use crivello_common::politeness::HostState;
use crivello_common::time::Timestamp;
use crivello_common::url::Origin;
use smallvec::SmallVec;
use std::net::IpAddr;
use std::sync::Arc;

/// A host on the workbench.
#[derive(Clone, Debug)]
pub struct HostSnapshot {
    /// Where it stands.
    pub phase: SnapshotPhase,
    /// What politeness remembers of it.
    pub state: HostState,
    /// URLs of its queue that are in memory.
    pub in_window: u64,
    /// Its address, once it is known.
    pub address: Option<AddressSnapshot>,
    /// Its group changes hands: it is to leave.
    pub leaves: bool,
    /// Of a thorough look: the origin whose robots.txt is asked for before anything else.
    pub asks_robots: Option<Origin>,
    /// Of a thorough look: what is known of its robots.txt.
    pub robots: Vec<(Origin, RobotsRecord)>,
    /// The visit it is on.
    pub flight: Option<VisitInFlight>,
}

/// Where a host on the workbench stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SnapshotPhase {
    /// Its name is being resolved.
    Resolving,
    /// It has no address as yet, and is resolved shortly before its next time.
    Asleep,
    /// It waits for its robots.txt, which leads to another host.
    Away {
        /// The origin whose robots.txt is wanted.
        origin: Origin,
        /// The host that it leads to, where its name is known.
        at: Option<Arc<str>>,
        /// It is taken as out of reach after this.
        deadline: Timestamp,
    },
    /// It waits for its time, and for that of its address.
    Waiting,
    /// A visit is out.
    InFlight,
    /// It waits for more of its queue.
    Dry,
}

/// The address of a host on the workbench.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AddressSnapshot {
    /// Itself.
    pub address: IpAddr,
    /// No visit to it begins before this.
    pub next: Timestamp,
    /// The host that was last visited there in this run.
    pub last: Option<Arc<str>>,
    /// The host that is being visited there.
    pub visited: Option<Arc<str>>,
    /// Other hosts there whose turn comes before this one's; of a thorough look.
    pub before: usize,
    /// Among other agents: whose turn it is.
    pub turn: IpLeaseState,
}

/// Whose turn it is at an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IpLeaseState {
    /// There are no other agents.
    NotNeeded,
    /// This agent's.
    Here,
    /// It was asked for then, and not answered.
    Asked(Timestamp),
    /// It is asked for when it is needed.
    NotAsked,
}

/// A visit in flight.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VisitInFlight {
    /// When it was handed out.
    pub since: Timestamp,
    /// What it is to fetch; nothing when it asks for a robots.txt.
    pub urls: SmallVec<[UrlHash; 1]>,
    /// Pages taken from the page limit for it.
    pub taken: u64,
}
