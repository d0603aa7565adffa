//! Assignment of groups to agents. Each agent computes it alone, and all agents get the same
//! result.
//!
//! A [`Strategy`] gives each group an order of all known agents, regardless of their state. The
//! first active agent owns the group; the next active agents hold replicas. The relative order of
//! two agents depends only on the group and on these two. So when an agent is added, a group moves
//! to it or stays. When an agent is removed, its groups move to the next agents in their orders,
//! and no other group moves. There are three strategies:
//!
//! | name | order | cost of a look-up | balance |
//! | --- | --- | --- | --- |
//! | `permutation` | slots shuffled by the group | draws: slots ÷ slots held | that of random choice |
//! | `min-hash` | agents by hash(group, agent) | one hash per agent | that of random choice |
//! | `consistent` | agents clockwise on a ring of points | one binary search | off by some % |
//!
//! All arithmetic is on integers, so agents of different builds and machines agree. Tests with
//! golden vectors keep it unchanged.

mod consistent;
mod min_hash;
mod owners;
mod permutation;
mod random;
#[cfg(test)]
mod tests;

pub use consistent::Consistent;
pub use min_hash::MinHash;
pub use owners::Owners;
pub use permutation::Permutation;

use crate::hash::GroupHash;

/// An order of all agents of a view for each group.
pub trait Strategy {
    /// Returns the agents as indexes into [`crate::view::View::agents`], each once. The order is
    /// computed lazily.
    fn order(&self, group: GroupHash) -> impl Iterator<Item = usize> + '_;

    /// Returns the first agent in the order that `accept` accepts.
    fn first(&self, group: GroupHash, accept: impl Fn(usize) -> bool) -> Option<usize> {
        self.order(group).find(|&agent| accept(agent))
    }
}

/// The strategy of a crawl. It never changes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u8)]
pub enum StrategyKind {
    /// See [`Permutation`]. The default: balanced like random choice, and at most a microsecond per
    /// look-up for any number of agents.
    #[default]
    Permutation = 0,
    /// See [`MinHash`].
    MinHash = 1,
    /// See [`Consistent`].
    Consistent = 2,
}

impl StrategyKind {
    /// All strategies.
    pub const ALL: [Self; 3] = [Self::Permutation, Self::MinHash, Self::Consistent];

    /// Returns the name used in settings.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Permutation => "permutation",
            Self::MinHash => "min-hash",
            Self::Consistent => "consistent",
        }
    }

    /// Returns the inverse of [`Self::name`].
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}
