//! The view: a numbered list of all known agents with their states.
//!
//! A view with a higher epoch replaces one with a lower epoch. The view of a single agent contains
//! only that agent.

use crate::certificate_id::CertificateId;
use crate::closed_set;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::fmt;
use std::net::Ipv6Addr;
use xxhash_rust::xxh3::xxh3_64;

/// Number of slots, and so the maximum number of agents. It never changes, because the
/// `permutation` strategy shuffles the slots (see [`crate::assignment`]).
pub const SLOTS: u16 = 1_024;
/// Maximum weight of an agent.
pub const WEIGHT_MAX: u16 = 64;
/// Maximum length of an agent's name in bytes.
pub const NAME_MAX: usize = 255;
/// Maximum length of an agent's address in bytes: a DNS name, a colon and a port.
pub const ADDRESS_MAX: usize = 253 + 6;

/// Maximum number of certificate keys of an agent: the one in use and its predecessor.
pub const CERTIFICATES_MAX: usize = 2;

/// Id of an agent for the lifetime of the crawl. An agent that restarts keeps its id.
#[derive(
    Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default, Serialize, Deserialize,
)]
pub struct AgentId(pub u32);

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

closed_set! {
    /// The state of an agent.
    #[derive(Default, Serialize, Deserialize)]
    pub enum AgentState {
        /// The agent owns groups and crawls.
        #[default]
        Active = 0 => "active",
        /// The agent is leaving: it hands over its groups and receives none.
        Draining = 1 => "draining",
        /// The agent's lease expired.
        Dead = 2 => "dead",
    }

    /// The state of the whole crawl.
    #[derive(Default, Serialize, Deserialize)]
    pub enum RunState {
        /// Agents fetch.
        #[default]
        Running = 0 => "running",
        /// Agents fetch nothing and do everything else.
        Paused = 1 => "paused",
        /// Agents save their state and exit.
        Stopping = 2 => "stopping",
    }
}

/// An agent in a view.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    /// Id of the agent.
    pub id: AgentId,
    /// Name, unique within a view. See [`check_name`].
    pub name: String,
    /// Address for peers, `host:port`; empty for a single agent. See [`check_address`].
    pub address: String,
    /// First of its `weight` consecutive slots, below [`SLOTS`]. It never changes.
    pub slot: u16,
    /// Share of the groups relative to other agents: 1 to [`WEIGHT_MAX`].
    pub weight: u16,
    /// State of the agent.
    pub state: AgentState,
    /// Epoch in which the agent last joined. Other agents may have taken over its earlier groups
    /// since then.
    pub joined_epoch: u64,
    /// Random number generated with the agent's directory. An agent that lost its disk is a
    /// different agent.
    pub disk_id: u64,
    /// For a dead agent: true if it may hold data that no other agent has. This happens if fewer
    /// agents than the replication were alive and the agent had not replicated all of its data
    /// since.
    pub unreplicated: bool,
    /// The keys of its certificates, at most [`CERTIFICATES_MAX`], newest last.
    /// Empty without TLS: then the agent is bound to no certificate.
    pub certificates: Vec<CertificateId>,
}

/// A numbered list of all known agents.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct View {
    /// Number of the view. It increases with every change.
    pub epoch: u64,
    /// State of the crawl.
    pub run: RunState,
    /// Agents, in any order.
    pub agents: Vec<Agent>,
    /// Archives that were lost with their agents. Their pages are fetched again, except those of safe files.
    pub lost_archives: Vec<LostArchive>,
}

/// The archive of an agent that was lost with its disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LostArchive {
    /// Id of the agent.
    pub agent: AgentId,
    /// Files with lower serial numbers are safe in a store that survived the machine.
    pub safe_files: u32,
}

/// The reason why a view is invalid.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ViewError {
    /// Two agents have the same id.
    #[error("two agents have the id {0}")]
    SameId(AgentId),
    /// Two agents have the same name.
    #[error("two agents have the name {0:?}")]
    SameName(String),
    /// A name does not pass [`check_name`].
    #[error("agent {0} has an invalid name: {1}")]
    Name(AgentId, &'static str),
    /// An address does not pass [`check_address`].
    #[error("agent {0} has an invalid address: {1}")]
    Address(AgentId, &'static str),
    /// A weight is 0, or above [`WEIGHT_MAX`].
    #[error("agent {0} has the weight {1}; it must be 1 to {WEIGHT_MAX}")]
    Weight(AgentId, u16),
    /// Slots are beyond [`SLOTS`], or belong to another agent.
    #[error("agent {0} has slots that do not exist or belong to another agent")]
    Slots(AgentId),
    /// There are more certificates than [`CERTIFICATES_MAX`].
    #[error("agent {0} has more than {CERTIFICATES_MAX} certificates")]
    Certificates(AgentId),
}

impl View {
    /// Returns the view of a crawl with a single agent.
    #[must_use]
    pub fn of_one(name: &str) -> Self {
        let name = name.to_owned();
        let agent = Agent { name, weight: 1, joined_epoch: 1, ..Agent::default() };
        Self { epoch: 1, agents: vec![agent], ..Self::default() }
    }

    /// Returns the agent with this id.
    pub fn agent(&self, id: AgentId) -> Option<&Agent> {
        self.agents.iter().find(|a| a.id == id)
    }

    /// Returns the agent with this name, or else with this id in decimal.
    pub fn find(&self, name_or_id: &str) -> Option<&Agent> {
        let by_id = || self.agent(AgentId(name_or_id.parse().ok()?));
        self.agents.iter().find(|agent| agent.name == name_or_id).or_else(by_id)
    }

    /// Returns the agents that are not dead.
    pub fn living(&self) -> impl Iterator<Item = &Agent> {
        self.agents.iter().filter(|agent| agent.state != AgentState::Dead)
    }

    /// Returns a number that differs, almost certainly, between different views. It tells apart two
    /// views with the same epoch, within one version of the program.
    pub fn digest(&self) -> u64 {
        xxh3_64(format!("{self:?}").as_bytes())
    }

    /// Returns true if the agent is in the view and not dead.
    pub fn is_alive(&self, id: AgentId) -> bool {
        self.living().any(|agent| agent.id == id)
    }

    /// Checks that ids and names are unique, names and addresses well-formed, weights and numbers of
    /// certificates within bounds, and slots distinct.
    ///
    /// # Errors
    /// Returns the first agent that fails the check.
    pub fn check(&self) -> Result<(), ViewError> {
        let (mut ids, mut names) = (HashSet::new(), HashSet::new());
        let mut taken = [false; SLOTS as usize];
        for agent in &self.agents {
            if !ids.insert(agent.id) {
                return Err(ViewError::SameId(agent.id));
            }
            if !names.insert(&agent.name) {
                return Err(ViewError::SameName(agent.name.clone()));
            }
            check_name(&agent.name).map_err(|why| ViewError::Name(agent.id, why))?;
            if !agent.address.is_empty() {
                check_address(&agent.address).map_err(|why| ViewError::Address(agent.id, why))?;
            }
            if !(1..=WEIGHT_MAX).contains(&agent.weight) {
                return Err(ViewError::Weight(agent.id, agent.weight));
            }
            let slots = taken.get_mut(agent.slots()).filter(|slots| !slots.contains(&true));
            slots.ok_or(ViewError::Slots(agent.id))?.fill(true);
            if agent.certificates.len() > CERTIFICATES_MAX {
                return Err(ViewError::Certificates(agent.id));
            }
        }
        Ok(())
    }

    /// Returns the lowest slot at which a new agent of this weight fits.
    pub fn free_slot(&self, weight: u16) -> Option<u16> {
        let fits = |slot: u16| {
            let end = usize::from(slot) + usize::from(weight);
            let apart = |a: &Agent| end <= a.slots().start || usize::from(slot) >= a.slots().end;
            end <= usize::from(SLOTS) && self.agents.iter().all(apart)
        };
        let behind = |a: &Agent| u16::try_from(a.slots().end).ok();
        std::iter::once(0).chain(self.agents.iter().filter_map(behind)).filter(|&s| fits(s)).min()
    }
}

impl Agent {
    /// Returns true if a connection with this certificate, or with none, may be one of the agent. An
    /// agent without certificates joined without TLS and is bound to none.
    pub fn is_bound_to(&self, certificate: Option<CertificateId>) -> bool {
        self.certificates.is_empty()
            || certificate.is_some_and(|shown| self.certificates.contains(&shown))
    }

    /// Returns the slots of the agent.
    pub fn slots(&self) -> std::ops::Range<usize> {
        usize::from(self.slot)..usize::from(self.slot) + usize::from(self.weight)
    }
}

/// Checks that people can read and type `name`.
///
/// # Errors
/// Returns the rule that `name` violates.
pub fn check_name(name: &str) -> Result<(), &'static str> {
    if name.is_empty() || name.len() > NAME_MAX {
        return Err("it must have 1 to 255 bytes");
    }
    if name.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err("it contains white space or a control character");
    }
    Ok(())
}

/// Checks that `address` is a host and a port: `crawler-3.example:7071`, `10.0.0.3:7071`,
/// `[fd00::3]:7071`. Names are not resolved.
///
/// # Errors
/// Returns the rule that `address` violates.
pub fn check_address(address: &str) -> Result<(), &'static str> {
    if address.len() > ADDRESS_MAX {
        return Err("it is too long");
    }
    let (host, port) = address.rsplit_once(':').ok_or("it must be a host, a colon and a port")?;
    let digits = !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
    if !digits || !port.parse::<u16>().is_ok_and(|port| port > 0) {
        return Err("its port is not a number from 1 to 65535");
    }
    let in_brackets = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let is_host = match in_brackets {
        Some(inner) => inner.parse::<Ipv6Addr>().is_ok(),
        None => {
            let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._".contains(&b);
            !host.is_empty() && host.bytes().all(plain)
        }
    };
    if is_host { Ok(()) } else { Err("its host is neither a name nor an IP address") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(id: u32, slot: u16, weight: u16) -> Agent {
        let (state, address) = (AgentState::Active, format!("10.0.0.1:{id}"));
        let (id, name, disk_id) = (AgentId(id), format!("agent-{id}"), u64::from(id));
        let (joined_epoch, unreplicated) = (1, false);
        let certificates = Vec::new();
        Agent {
            id,
            name,
            address,
            slot,
            weight,
            state,
            joined_epoch,
            disk_id,
            unreplicated,
            certificates,
        }
    }

    #[test]
    fn an_address_is_a_host_and_a_port() {
        for good in ["a:1", "10.0.0.3:7071", "[fd00::3]:65535", "crawler-3.example:80"] {
            assert_eq!(check_address(good), Ok(()), "{good}");
        }
        for bad in [
            "",
            "a",
            "a:",
            ":1",
            "a:0",
            "a:65536",
            "a:+1",
            "fd00::3:1",
            "[a]:1",
            "[::1:1",
            "a b:1",
            "http://a:1",
            "a:1/",
            "\u{1b}a:1",
            "é.example:1",
        ] {
            assert!(check_address(bad).is_err(), "{bad}");
        }
        assert!(check_address(&format!("{}:1", "a".repeat(ADDRESS_MAX))).is_err());
    }

    #[test]
    fn a_name_can_be_read_and_typed() {
        for good in ["a", "crawler-3", "Österreich", &"a".repeat(NAME_MAX)] {
            assert_eq!(check_name(good), Ok(()), "{good}");
        }
        for bad in ["", "a b", "a\n", "\u{1b}[2J", &"a".repeat(NAME_MAX + 1)] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_view_is_checked() {
        let check = |agents: Vec<Agent>| View { epoch: 1, agents, ..View::default() }.check();
        assert_eq!(View::of_one("one").check(), Ok(()));
        assert_eq!(check(vec![agent(1, 0, 4), agent(2, 4, 1), agent(3, 1_023, 1)]), Ok(()));
        assert_eq!(check(vec![agent(1, 0, 1), agent(1, 1, 1)]), Err(ViewError::SameId(AgentId(1))));
        let twin = Agent { name: "agent-1".into(), ..agent(2, 1, 1) };
        assert_eq!(check(vec![agent(1, 0, 1), twin]), Err(ViewError::SameName("agent-1".into())));
        for (slot, weight, error) in [
            (3, 1, ViewError::Slots(AgentId(2))),
            (1_023, 2, ViewError::Slots(AgentId(2))),
            (u16::MAX, 1, ViewError::Slots(AgentId(2))),
            (9, 0, ViewError::Weight(AgentId(2), 0)),
            (9, 65, ViewError::Weight(AgentId(2), 65)),
        ] {
            assert_eq!(check(vec![agent(1, 0, 4), agent(2, slot, weight)]), Err(error));
        }
        let certificates = vec![CertificateId([7; 32]); CERTIFICATES_MAX + 1];
        let bound = Agent { certificates, ..agent(1, 0, 1) };
        assert_eq!(check(vec![bound]), Err(ViewError::Certificates(AgentId(1))));
    }

    #[test]
    fn a_new_agent_gets_the_lowest_gap() {
        let agents = vec![agent(1, 0, 4), agent(2, 6, 1_010)];
        let view = View { epoch: 1, agents, ..View::default() };
        assert_eq!(View::default().free_slot(1), Some(0));
        assert_eq!(view.free_slot(2), Some(4));
        assert_eq!(view.free_slot(3), Some(1_016));
        assert_eq!(view.free_slot(9), None);
    }
}
