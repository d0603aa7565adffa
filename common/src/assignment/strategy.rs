//! The interface of the strategies.

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
