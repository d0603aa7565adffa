//! What an agent says of itself when it joins.

use super::event::Refusal;
use crivello_common::view::{Agent, AgentId, AgentState, WEIGHT_MAX, check_address, check_name};

#[derive(Clone, Copy, Debug)]
pub(super) struct Profile<'a> {
    pub(super) name: &'a str,
    pub(super) address: &'a str,
    pub(super) weight: u16,
    pub(super) disk: u64,
}

impl Profile<'_> {
    pub(super) fn check(&self) -> Result<(), Refusal> {
        check_name(self.name).map_err(Refusal::BadName)?;
        if !self.address.is_empty() {
            check_address(self.address).map_err(Refusal::BadAddress)?;
        }
        let in_bounds = (1..=WEIGHT_MAX).contains(&self.weight);
        if in_bounds { Ok(()) } else { Err(Refusal::BadWeight) }
    }

    pub(super) fn agent(&self, id: AgentId, slot: u16, state: AgentState, since: u64) -> Agent {
        let (name, address) = (self.name.to_owned(), self.address.to_owned());
        let Self { weight, disk, .. } = *self;
        Agent {
            id,
            name,
            address,
            slot,
            weight,
            state,
            joined_epoch: since,
            disk_id: disk,
            unreplicated: false,
        }
    }
}
