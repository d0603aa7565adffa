//! Where URLs go: into the own intake, or into the outbox of the peer that owns their group.

use crate::flow::Found;
use crate::ledger::Group;
use crate::peers;
use crivello_common::assignment::Owners;
use crivello_common::view::AgentId;
use std::collections::BTreeMap;

/// See the module.
#[derive(Debug)]
pub struct Routes {
    me: AgentId,
    owners: Owners,
}

impl Routes {
    /// Routes of the agent `me`.
    #[must_use]
    pub const fn new(me: AgentId, owners: Owners) -> Self {
        Self { me, owners }
    }

    /// Takes out of `group` what belongs to peers, and puts it into its outbox rows.
    pub fn divide(&self, group: &mut Group) {
        if self.owners.view().agents.len() == 1 {
            return;
        }
        let mut away: BTreeMap<AgentId, Vec<Found>> = BTreeMap::new();
        let (me, owners) = (self.me, &self.owners);
        let mut keep = |found: &mut Vec<Found>| {
            let mut mine = Vec::with_capacity(found.len());
            for url in found.drain(..) {
                match owners.owner(url.host.group) {
                    Some(owner) if owner != me => away.entry(owner).or_default().push(url),
                    _ => mine.push(url),
                }
            }
            *found = mine;
        };
        keep(&mut group.found);
        for (page, _) in &mut group.pages {
            keep(&mut page.links);
        }
        let epoch = self.owners.view().epoch;
        for (owner, urls) in away {
            group.outbox.push((owner, peers::encode(epoch, me, &urls)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::LinkKind;
    use crivello_common::assignment::StrategyKind;
    use crivello_common::config::AssignBy;
    use crivello_common::url::CrawlUrl;
    use crivello_common::view::{Agent, View};
    use std::sync::Arc;

    fn found(n: usize) -> Found {
        let url = CrawlUrl::parse(&format!("http://www.site{n}.example/")).unwrap();
        let host = url.host_key(AssignBy::Domain);
        Found { host, hash: url.hash(), url, depth: 0, kind: LinkKind::Page }
    }

    #[test]
    fn every_url_stays_or_goes_to_the_owner_of_its_group() {
        let mut view = View::of_one("a");
        let me = view.agents[0].id;
        let other = AgentId(7);
        let slot = view.free_slot(1).unwrap();
        view.agents.push(Agent { id: other, name: "b".into(), slot, ..view.agents[0].clone() });
        let owners = Owners::new(StrategyKind::default(), Arc::new(view)).unwrap();
        let urls: Vec<Found> = (0..200).map(found).collect();
        let (mine, theirs): (Vec<Found>, Vec<Found>) =
            urls.iter().cloned().partition(|url| owners.owner(url.host.group) == Some(me));
        assert!(mine.len() > 50 && theirs.len() > 50);

        let mut group = Group { found: urls, ..Group::default() };
        Routes::new(me, owners).divide(&mut group);
        assert_eq!(group.found, mine);
        let [(owner, bytes)] = &group.outbox[..] else { panic!("one batch, for one peer") };
        assert_eq!(*owner, other);
        let (_, sender, urls) = peers::decode(bytes, AssignBy::Domain).unwrap();
        assert_eq!((sender, urls), (me, theirs));
    }
}
