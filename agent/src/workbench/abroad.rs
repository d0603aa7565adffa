//! Errands between agents. A robots.txt that leads to a host of another agent is asked for by that
//! agent, in that host's turn; each such errand is one hop, and what it brings is followed further
//! by the agent that needs it.

use super::Workbench;
use super::robots_turn::first_hop;
use crate::limits::GUESTS_MAX;
use crate::messages::{RobotsErrand, RobotsFound};
use crivello_common::hash::{GroupHash, HostHash, HostKey};
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use foldhash::{HashMap, HashSet};

/// Stands for a host of another agent that an errand is for.
const NOBODY: HostKey = HostKey { group: GroupHash(0), host: HostHash(0) };

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Abroad {
    /// Own errands, by what another agent was asked for.
    waiting: HashMap<CrawlUrl, Vec<RobotsErrand>>,
    /// Those of `waiting` that nobody was asked for: their hosts are paused.
    held: HashSet<CrawlUrl>,
    to_ask: Vec<CrawlUrl>,
    /// For other agents.
    answers: Vec<(CrawlUrl, RobotsFound)>,
}

impl Abroad {
    /// The errands of `for_host` that wait for an answer of host `at` are needed no more.
    pub fn cancel(&mut self, is_at: impl Fn(&CrawlUrl) -> bool, for_host: HostKey) {
        for (_, errands) in self.waiting.iter_mut().filter(|(url, _)| is_at(url)) {
            errands.retain(|errand| errand.for_host != for_host);
        }
        self.waiting.retain(|_, errands| !errands.is_empty());
        self.held.retain(|url| self.waiting.contains_key(url));
    }

    /// Whether `for_host` waits for what a host says that `is_at` there.
    fn waits(&self, is_at: impl Fn(&CrawlUrl) -> bool, for_host: HostKey) -> bool {
        let mut there = self.waiting.iter().filter(|(url, _)| is_at(url));
        there.any(|(_, errands)| errands.iter().any(|errand| errand.for_host == for_host))
    }

    /// Nobody waits any more.
    pub fn clear(&mut self) {
        self.waiting.clear();
        self.held.clear();
        self.to_ask.clear();
    }
}

impl Workbench {
    /// What other agents must be asked for, each answered by [`Self::heard_from_abroad`].
    #[must_use]
    pub fn take_to_ask(&mut self) -> Vec<CrawlUrl> {
        std::mem::take(&mut self.abroad.to_ask)
    }

    /// What another agent has found there.
    pub fn heard_from_abroad(&mut self, url: &CrawlUrl, found: &RobotsFound, now: Timestamp) {
        // Its agent cannot visit a host that is paused: it is asked again once that is over.
        let in_vain = matches!(found, RobotsFound::Unreachable);
        if in_vain && self.lists.is_paused(url.host()) && self.abroad.waiting.contains_key(url) {
            self.abroad.held.insert(url.clone());
            return;
        }
        self.answers.keep(url, found, now);
        for errand in self.abroad.waiting.remove(url).unwrap_or_default() {
            if !self.is_away(&errand) {
                continue;
            }
            match found {
                RobotsFound::Redirect(target) => self.redirect(&errand, target, now),
                _ => self.conclude(&errand, found, now),
            }
        }
        self.settle_orphans(now);
    }

    /// Another agent wants this robots.txt, of a host that is visited here; answered by
    /// [`Self::take_guest_answers`], once for all who ask until then.
    pub fn ask_for_guest(&mut self, url: CrawlUrl, now: Timestamp) {
        if self.closing {
            return self.abroad.answers.push((url, RobotsFound::Unreachable));
        }
        if let Some(found) = self.answers.get(&url, now) {
            return self.abroad.answers.push((url, found));
        }
        let host = url.host_key(self.settings.identity.assign_by);
        let first = first_hop(NOBODY, &url.host().into(), url.origin());
        self.seek(host, RobotsErrand { url, ..first }, now);
        self.settle_orphans(now);
    }

    /// What was found for other agents.
    #[must_use]
    pub fn take_guest_answers(&mut self) -> Vec<(CrawlUrl, RobotsFound)> {
        std::mem::take(&mut self.abroad.answers)
    }

    /// The errand's host is not visited here: another agent is asked, unless it was another agent
    /// that sent it, or there is none, or too many wait already.
    pub(super) fn send_abroad(&mut self, errand: RobotsErrand) {
        let waiting = &mut self.abroad.waiting;
        let known = waiting.contains_key(&errand.url);
        if errand.for_host == NOBODY || self.sharing.is_none() {
            return self.orphans.push(errand);
        }
        if !known && waiting.len() >= GUESTS_MAX {
            return self.orphans.push(errand);
        }
        if !known && self.lists.is_paused(errand.url.host()) {
            self.abroad.held.insert(errand.url.clone());
        } else if !known {
            self.abroad.to_ask.push(errand.url.clone());
        }
        waiting.entry(errand.url.clone()).or_default().push(errand);
    }

    /// Other hosts may be paused now, and some no more: what was held because of that is asked for.
    pub(super) fn resume_abroad(&mut self) {
        let lists = &self.lists;
        let resumed = self.abroad.held.extract_if(|url| !lists.is_paused(url.host()));
        self.abroad.to_ask.extend(resumed);
    }

    /// Whether the host waits for a host of another agent, at `at`, that is paused.
    pub(super) fn waits_for_paused(&self, id: u32, at: HostKey) -> bool {
        let assign_by = self.settings.identity.assign_by;
        let is_there =
            |url: &CrawlUrl| url.host_key(assign_by) == at && self.lists.is_paused(url.host());
        self.abroad.waits(is_there, self.hosts[id].key)
    }

    /// Whether this was for another agent, which then has its answer.
    pub(super) fn was_for_guest(&mut self, errand: &RobotsErrand, found: &RobotsFound) -> bool {
        let guest = errand.for_host == NOBODY;
        if guest {
            self.abroad.answers.push((errand.url.clone(), found.clone()));
        }
        guest
    }
}
