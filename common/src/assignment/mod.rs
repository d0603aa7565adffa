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
mod seen;
mod strategy;
#[cfg(test)]
mod tests;

pub use consistent::Consistent;
pub use min_hash::MinHash;
pub use owners::Owners;
pub use permutation::Permutation;
pub use strategy::Strategy;

use crate::closed_set;

closed_set! {
    /// The strategy of a crawl. It never changes.
    #[derive(Default)]
    pub enum StrategyKind {
        /// [`Permutation`], the default: balanced like random choice, and at most a microsecond
        /// per look-up for any number of agents.
        #[default]
        Permutation = 0 => "permutation",
        /// [`MinHash`].
        MinHash = 1 => "min-hash",
        /// [`Consistent`].
        Consistent = 2 => "consistent",
    }
}
