//! What survives a crash: rows, tags, and what waits to be told to others.

use super::world::Page;
use crivello_agent::ownership::{GroupRole, Tags};
use crivello_common::hash::GroupHash;
use crivello_common::view::AgentId;
use std::collections::BTreeMap;

/// What is known of a page; a later state replaces an earlier one, never the other way round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// To be fetched.
    Queued,
    /// Fetched; what it links to is not safe yet. To others it is as if it were queued.
    Pending,
    /// Done with.
    Fetched,
}

/// See the module.
#[derive(Default)]
pub struct Disk {
    /// Drawn when it was new.
    pub number: u64,
    pub id: Option<AgentId>,
    pub tags: TagRows,
    pub rows: BTreeMap<GroupHash, BTreeMap<Page, State>>,
    pub outbox: BTreeMap<u64, Item>,
    pub next_item: u64,
}

#[derive(Default)]
pub struct TagRows(pub BTreeMap<GroupHash, GroupRole>);

impl Tags for TagRows {
    fn tag(&self, group: GroupHash) -> Option<GroupRole> {
        self.0.get(&group).cloned()
    }
    fn set_tag(&mut self, group: GroupHash, tag: Option<GroupRole>) {
        match tag {
            Some(tag) => self.0.insert(group, tag),
            None => self.0.remove(&group),
        };
    }
    fn tags_after(&self, group: Option<GroupHash>, most: usize) -> Vec<(GroupHash, GroupRole)> {
        use std::ops::Bound::{Excluded, Unbounded};
        let from = group.map_or(Unbounded, Excluded);
        self.0
            .range((from, Unbounded))
            .take(most)
            .map(|(&group, tag)| (group, tag.clone()))
            .collect()
    }
}

/// Something for the owner of its group, until that has it.
#[derive(Clone, Debug)]
pub struct Item {
    pub page: Page,
    pub state: State,
    /// The page it was found on, or the client that waits.
    pub cause: Cause,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    Link(Page),
    Seed,
    Outcome,
}
