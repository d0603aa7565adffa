//! What follows from what was said, and from what was done: by the other agents, and by the own.

use super::{Custody, Effect, End, Message, Role, Tag, Tags};
use crivello_common::hash::GroupHash;
use crivello_common::view::AgentId;

impl Custody {
    /// `from` has said something under the epoch in force.
    pub fn hear(
        &mut self,
        from: AgentId,
        message: &Message,
        tags: &mut impl Tags,
        effects: &mut Vec<Effect>,
    ) {
        match message {
            Message::Hold(groups) => {
                for &group in groups {
                    self.awaited.entry(group).or_default().insert(from);
                }
            }
            Message::Brought => {
                self.brought.insert(from);
                self.moves.look_again();
            }
            Message::Scanned => {
                self.scanned.insert(from);
            }
            Message::MayDrop(groups) => {
                let whole = |&&group: &&GroupHash| self.is_whole(group, tags);
                let groups: Vec<_> = groups.iter().filter(whole).copied().collect();
                for &group in &groups {
                    self.strike_off(group, from, tags);
                }
                if !groups.is_empty() {
                    effects.push(Effect::Send { to: from, message: Message::Drop(groups) });
                }
            }
            Message::Drop(groups) => {
                for &group in groups {
                    self.drop_copy(group, tags, effects);
                }
            }
        }
    }

    /// All rows of the group have come from `from`, under the epoch in force, and been stored.
    pub fn rows_end(
        &mut self,
        group: GroupHash,
        from: AgentId,
        end: End,
        tags: &mut impl Tags,
        effects: &mut Vec<Effect>,
    ) {
        match end {
            End::Handover { authority, keeps } => {
                self.brought(group, from, authority, keeps, tags, effects);
            }
            End::Copy => self.copied(group, from, tags),
        }
    }

    fn brought(
        &mut self,
        group: GroupHash,
        from: AgentId,
        authority: bool,
        keeps: bool,
        tags: &mut impl Tags,
        effects: &mut Vec<Effect>,
    ) {
        if let Some(bringers) = self.awaited.get_mut(&group) {
            bringers.remove(&from);
            if bringers.is_empty() {
                self.awaited.remove(&group);
            }
        }
        let epoch = self.epoch();
        if !keeps {
            self.strike_off(group, from, tags);
        }
        if authority {
            // What was taken in during this epoch has been copied to all holders; older rows of
            // the group, left from another time, have not.
            let fresh = tags
                .tag(group)
                .is_none_or(|tag| tag.epoch == epoch && tag.role == Role::Pending { new: true });
            let standing = if keeps && fresh { vec![(from, epoch)] } else { Vec::new() };
            tags.set_tag(group, Some(Tag { epoch, role: Role::Authority { standing } }));
        }
        // Once it is complete, and all others have scanned, it is copied.
        if let Some(tag) = tags.tag(group)
            && self.all_scanned()
        {
            self.copy_group(group, &tag, tags, effects);
        }
        self.moves.look_again();
    }

    fn copied(&mut self, group: GroupHash, from: AgentId, tags: &mut impl Tags) {
        let mine = tags.tag(group).is_some_and(|tag| self.debt(group, &tag).is_some());
        if !mine {
            self.store_as_copy(group, from, tags);
        }
    }

    /// Whether all that should hold the group's rows do.
    fn is_whole(&self, group: GroupHash, tags: &impl Tags) -> bool {
        self.owner(group) == Some(self.me)
            && tags.tag(group).is_some_and(|tag| {
                let standing = self.standing(&tag);
                self.is_authority(&tag)
                    && self.copyists(group).iter().all(|holder| standing.contains(holder))
            })
    }

    /// One that may drop its copy no longer counts as having it, from before it is told; nor does one
    /// that was not sent what has been stored.
    pub fn strike_off(&self, group: GroupHash, holder: AgentId, tags: &mut impl Tags) {
        if let Some(tag) = tags.tag(group) {
            self.keep_standing(group, tag, |id| id != holder, tags);
        }
    }

    fn drop_copy(&mut self, group: GroupHash, tags: &mut impl Tags, effects: &mut Vec<Effect>) {
        let is_copy = tags.tag(group).is_some_and(|tag| matches!(tag.role, Role::Copy { .. }));
        if is_copy && !self.holders(group).contains(&self.me) {
            tags.set_tag(group, None);
            effects.push(Effect::Delete(group));
        }
    }

    /// No visit to the group is in flight, and what its pages link to is safe.
    ///
    /// The authority is given up here, before the rows go: what says so may be lost on its way, and
    /// then nobody has it until all have scanned again.
    pub fn quiet(&mut self, group: GroupHash, tags: &mut impl Tags, effects: &mut Vec<Effect>) {
        if !self.moves.leaving.contains(&group) {
            return;
        }
        let Some(tag) = tags.tag(group) else { return };
        if let Some((to, authority)) = self.debt(group, &tag) {
            let role = Role::Pending { new: false };
            tags.set_tag(group, Some(Tag { epoch: self.epoch(), role }));
            self.transfer(group, to, self.handover(group, authority), effects);
        }
    }

    /// All rows of the group, and what came after them, have been stored by `to` and by those
    /// that copy from it.
    pub fn transferred(
        &mut self,
        group: GroupHash,
        to: AgentId,
        tags: &mut impl Tags,
        effects: &mut Vec<Effect>,
    ) {
        if !self.moves.transfers.remove(&(group, to)) {
            return;
        }
        let Some(tag) = tags.tag(group) else { return };
        let epoch = self.epoch();
        if self.owner(group) == Some(self.me) {
            if let Role::Authority { mut standing } = tag.role {
                standing.retain(|&(id, _)| id != to);
                standing.push((to, epoch));
                let role = Role::Authority { standing };
                tags.set_tag(group, Some(Tag { role, ..tag }));
            }
            return;
        }
        self.moves.leaving.remove(&group);
        if self.holders(group).contains(&self.me) {
            tags.set_tag(group, Some(Tag { epoch, role: Role::Copy { of: vec![to] } }));
        } else {
            tags.set_tag(group, None);
            effects.push(Effect::Delete(group));
        }
    }
}
