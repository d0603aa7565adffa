//! The sources of explanations, except the workbench.

use super::disk_view;
use crate::explain::{Holding, OriginFacts};
use crate::messages::{Lists, RobotsRecord, Role};
use crate::process::links::LinkRules;
use crate::shared::Shared;
use crate::storage::{Database, DiskError};
use crate::workbench::asked_again;
use crivello_common::assignment::Owners;
use crivello_common::config::Settings;
use crivello_common::hash::GroupHash;
use crivello_common::identity::KeyedHasher;
use crivello_common::time::Timestamp;
use crivello_common::url::Origin;
use crivello_common::view::{AgentId, AgentState};
use crivello_proto::v1::HoldKind;
use std::path::PathBuf;
use std::sync::Arc;

/// Disk, rules and settings of an agent.
pub struct Sources {
    pub me: AgentId,
    pub disk: Arc<Database>,
    pub rules: Arc<LinkRules>,
    pub settings: Settings,
    pub hasher: KeyedHasher,
    pub lists: Lists,
    /// The directory of the archive.
    pub archive: PathBuf,
    /// `None` if the crawl is not running.
    pub shared: Option<Shared>,
}

impl Sources {
    /// Returns the known robots.txt of a host, each with the time of the next request.
    pub fn robots(
        &self,
        known: Vec<(Origin, RobotsRecord)>,
        last_ended: Timestamp,
    ) -> Vec<OriginFacts> {
        let facts = known.into_iter().map(|(origin, record)| {
            let next_request = asked_again(&record, last_ended, &self.settings.live.politeness);
            OriginFacts { origin, record, next_request }
        });
        facts.collect()
    }

    /// Returns the kind of this agent's hold on a group, by the view and by the group's state on
    /// disk.
    pub fn holding(&self, owners: Option<&Owners>, group: GroupHash) -> Result<Holding, DiskError> {
        let tag = disk_view::group(&self.disk, group)?.and_then(|state| state.tag);
        let Some(owners) = owners else {
            // There is no cluster, or the process has ended: the role on disk is all that is known.
            let kind = match tag.map(|tag| tag.role) {
                None | Some(Role::Authority { .. }) => HoldKind::Authority,
                Some(Role::Replica { .. }) => HoldKind::Replica,
                Some(Role::Pending { .. }) => HoldKind::Pending,
            };
            return Ok(Holding { kind, owner: None });
        };
        let owner = owners.owner(group);
        let me = owners.view().agent(self.me).filter(|me| me.state != AgentState::Dead);
        let is_own = owner == Some(self.me);
        // The authority is lost once the agent has been declared dead.
        let is_valid = tag.as_ref().zip(me).is_some_and(|(tag, me)| tag.epoch >= me.joined_epoch);
        let kind = match tag.map(|tag| tag.role) {
            None => HoldKind::None,
            Some(Role::Authority { .. }) if is_own && is_valid => HoldKind::Authority,
            _ if is_own => HoldKind::Pending,
            Some(Role::Replica { .. }) => HoldKind::Replica,
            Some(Role::Authority { .. } | Role::Pending { .. }) => HoldKind::Leaving,
        };
        Ok(Holding { kind, owner })
    }
}
