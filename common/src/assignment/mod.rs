//! Who crawls a group: decided by every agent on its own, and by all in the same way.
//!
//! A [`Strategy`] gives each group an order of all known agents, whatever their state; the first
//! active one owns the group, the next active ones hold copies. The place of two agents relative
//! to each other depends on nothing but the group and the two. So when agents are added, a group
//! goes to a newcomer or stays; when one is gone, its groups go to the next in their orders, and
//! no other group moves. Three strategies, each with its own way to such an order:
//!
//! | name | order | a look-up costs | balance |
//! | --- | --- | --- | --- |
//! | `permutation` | slots shuffled by the group | draws: slots ÷ slots held | as by dice |
//! | `min-hash` | agents by hash(group, agent) | one hash an agent | as by dice |
//! | `consistent` | agents clockwise on a ring of points | one binary search | by the ring: some % |
//!
//! All arithmetic is on integers, so agents of different builds and machines agree; golden
//! vectors hold it in place.

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
    /// The agents as positions in [`crate::view::View::agents`], each once, worked out as far as
    /// it is asked for.
    fn order(&self, group: GroupHash) -> impl Iterator<Item = usize> + '_;

    /// The first in the order that `accept` takes.
    fn first(&self, group: GroupHash, accept: impl Fn(usize) -> bool) -> Option<usize> {
        self.order(group).find(|&agent| accept(agent))
    }
}

/// Which strategy a crawl uses; fixed for the life of the crawl.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u8)]
pub enum StrategyKind {
    /// See [`Permutation`]. The default: balanced as by dice, and never dearer than a microsecond
    /// whatever the number of agents.
    #[default]
    Permutation = 0,
    /// See [`MinHash`].
    MinHash = 1,
    /// See [`Consistent`].
    Consistent = 2,
}

impl StrategyKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Permutation, Self::MinHash, Self::Consistent];

    /// The name used in the configuration.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Permutation => "permutation",
            Self::MinHash => "min-hash",
            Self::Consistent => "consistent",
        }
    }

    /// The inverse of [`Self::name`].
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}
