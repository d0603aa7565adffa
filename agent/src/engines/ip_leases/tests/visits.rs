//! The web's view of visits, which checks the invariants.

use super::world::{CALM, Event, SETTLED, World};
use crate::messages::{Verdict, Visit, VisitTask};
use crate::workbench::tests::fixture::ms;
use crivello_common::politeness::VisitSignal;
use crivello_common::time::Timestamp;
use crivello_common::view::AgentId;
use std::net::IpAddr;
use std::time::Duration;

impl World {
    pub(super) fn begins(&mut self, by: AgentId, life: u64, visit: Visit) {
        let (now, ip) = (self.now, visit.address);
        self.visits += 1;
        let other = self.flying.insert(ip, (by, life));
        assert!(other.is_none(), "agents {by} and {other:?} visit {ip} at the same time ({now})");
        let gap = self.ended.get(&ip).map(|&ended| now.since(ended));
        let delay = self.settings.live.politeness.ip_delay;
        assert!(gap.is_none_or(|gap| gap >= delay), "{ip}: {gap:?} after the last visit, at {now}");
        let lasts = match self.rng.below(20) {
            // The lease of such a long visit is renewed.
            0 if now.since(self.start) < CALM => ms(self.rng.below(25_000)),
            _ => ms(1 + self.rng.below(200)),
        };
        if now.since(self.start) >= SETTLED {
            *self.settled.entry((by, ip)).or_default() += 1;
        }
        if let Some(node) = self.living(by, life) {
            node.visits.insert(ip, now);
        }
        let (visit, answers) = (Box::new(visit), now + lasts);
        self.at(Duration::ZERO, Event::Ends { by, life, visit, began: now, answers });
    }

    /// Ends a visit when the server is done or its lease has ended, whichever comes first.
    pub(super) fn ends(
        &mut self,
        by: AgentId,
        life: u64,
        visit: Box<Visit>,
        began: Timestamp,
        answers: Timestamp,
    ) {
        let now = self.now;
        let Some(node) = self.living(by, life) else { return };
        let ahead = node.ahead;
        let turn = visit.deadline.end() - ahead;
        if now < answers && now < turn {
            let wait = answers.min(turn).since(now);
            return self.at(wait, Event::Ends { by, life, visit, began, answers });
        }
        node.visits.remove(&visit.address);
        let VisitTask::Pages { urls, .. } = visit.task else { panic!("robots") };
        let is_cut = now < answers;
        node.workbench.release(
            Verdict {
                host: visit.host,
                address: visit.address,
                requests: 1,
                ended: now + ahead,
                served: now.since(began),
                signal: VisitSignal::Healthy,
                returned: if is_cut { urls } else { Vec::new() },
                pages: u32::from(!is_cut),
                answered: !is_cut,
                robots: None,
                certified: false,
            },
            now + ahead,
        );
        self.cut += u64::from(is_cut);
        self.over(visit.address, by);
    }

    pub(super) fn over(&mut self, ip: IpAddr, by: AgentId) {
        let flying = self.flying.remove(&ip);
        assert_eq!(flying.map(|(id, _)| id), Some(by));
        self.ended.insert(ip, self.now);
    }
}
