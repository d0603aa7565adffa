//! Robots errands: where a redirect leads, whom an answer serves, and what becomes of an errand
//! whose host leaves.

use super::Workbench;
use super::host_entry::{HostEntry, Stand};
use super::robots_turn::{Away, RobotsTurn, learn, next_hop, set_record};
use crate::messages::{DeskNote, RobotsAnswer, RobotsErrand, RobotsFound};
use crivello_common::hash::HostKey;
use crivello_common::time::Timestamp;
use crivello_common::url::{CrawlUrl, Origin};
use std::sync::Arc;
use std::time::Duration;

/// A robots.txt that waits longer than this for other hosts' turns is taken as unreachable.
const AWAY_MAX: Duration = Duration::from_secs(600);

impl Workbench {
    /// The answer to an errand that was done at host `at`, for all that wait for the same URL.
    pub(super) fn hear_robots(&mut self, at: u32, answer: RobotsAnswer, now: Timestamp) {
        let RobotsAnswer { errand, found } = answer;
        let key = self.hosts[at].key;
        if errand.for_host != key {
            self.answers.keep(&errand.url, &found, now);
        }
        let mut served = self.hosts[at].take_errands_to(&errand.url);
        served.insert(0, errand);
        for errand in served {
            if self.was_for_guest(&errand, &found)
                || (errand.for_host != key && !self.is_away(&errand))
            {
                continue;
            }
            match &found {
                RobotsFound::Redirect(url) => self.redirect(&errand, url, now),
                _ => self.conclude(&errand, &found, now),
            }
        }
    }

    /// Sends an errand on to where it was redirected.
    pub(super) fn redirect(&mut self, errand: &RobotsErrand, url: &CrawlUrl, now: Timestamp) {
        let Some(errand) = next_hop(errand, url.clone()) else {
            return self.conclude(errand, &RobotsFound::Missing, now);
        };
        let Some(id) = self.hosts.find(&errand.for_host) else {
            return;
        };
        let target = url.host_key(self.settings.identity.assign_by);
        let turn = self.hosts[id].turn.get_or_insert_default();
        if target == errand.for_host {
            turn.away = None;
            turn.errands.push_front(errand);
            return self.rouse(id, now);
        }
        let deadline = turn.away.map_or(now + AWAY_MAX, |away| away.deadline);
        turn.away = Some(Away { origin: errand.for_origin, at: target, deadline });
        if let Some(found) = self.answers.get(url, now) {
            return self.conclude(&errand, &found, now);
        }
        self.seek(target, errand, now);
    }

    /// Has an errand done at host `target`, which is called if it is not here.
    pub(super) fn seek(&mut self, target: HostKey, errand: RobotsErrand, now: Timestamp) {
        if let Some(other) = self.hosts.find(&target) {
            self.hosts[other].turn.get_or_insert_default().errands.push_back(errand);
            return self.rouse(other, now);
        }
        let name = Arc::from(errand.url.host());
        let waiting = self.calls.entry(target).or_default();
        if waiting.is_empty() {
            self.notes.push(DeskNote::Call { host: target, name });
        }
        waiting.push(errand);
    }

    /// The end of an errand: the host it was for knows its rules, or that there are none to be had.
    pub(super) fn conclude(&mut self, errand: &RobotsErrand, found: &RobotsFound, now: Timestamp) {
        let Some(id) = self.hosts.find(&errand.for_host) else {
            return;
        };
        if let Some(turn) = self.hosts[id].turn.as_mut() {
            turn.away = turn.away.filter(|away| away.origin != errand.for_origin);
        }
        self.record_robots(id, errand.for_origin, found, now);
        self.rouse(id, now);
    }

    /// Until when the host waits for its errand elsewhere: a pause over there costs it nothing.
    pub(super) fn put_off(&mut self, id: u32, mut away: Away, now: Timestamp) -> Timestamp {
        if away.deadline > now {
            return away.deadline;
        }
        let here = self.hosts.find(&away.at).map(|at| self.hosts[at].paused);
        if here.unwrap_or_else(|| self.waits_for_paused(id, away.at)) {
            away.deadline = now + AWAY_MAX;
            self.hosts[id].turn.get_or_insert_default().away = Some(away);
        }
        away.deadline
    }

    /// The host's errand elsewhere took too long.
    pub(super) fn expire_away(&mut self, id: u32, now: Timestamp) {
        let key = self.hosts[id].key;
        if let Some(away) = self.hosts[id].turn.as_mut().and_then(|turn| turn.away.take()) {
            self.cancel(away.at, key);
            self.record_robots(id, away.origin, &RobotsFound::Unreachable, now);
        }
    }

    fn record_robots(&mut self, id: u32, origin: Origin, found: &RobotsFound, now: Timestamp) {
        let host = &mut self.hosts[id];
        let record = learn(host.record(origin), found, now);
        self.rules_bytes -= host.rules_bytes();
        set_record(&mut host.robots, origin, record.clone());
        self.rules_bytes += host.rules_bytes();
        self.notes.push(DeskNote::Robots { host: host.key, origin, record });
    }

    /// Settles a host anew that slept or was dry: it has something to do.
    fn rouse(&mut self, id: u32, now: Timestamp) {
        if matches!(self.hosts[id].stand, Stand::Asleep | Stand::Dry) {
            self.detach(id);
            self.settle(id, now);
        }
    }

    pub(super) fn is_away(&self, errand: &RobotsErrand) -> bool {
        let away = self.hosts.find(&errand.for_host).and_then(|id| self.hosts[id].away());
        away.is_some_and(|away| away.origin == errand.for_origin)
    }

    /// Takes back the errands of `for_host` at host `at`.
    pub(super) fn cancel(&mut self, at: HostKey, for_host: HostKey) {
        if let Some(id) = self.hosts.find(&at) {
            if let Some(turn) = self.hosts[id].turn.as_mut() {
                turn.errands.retain(|errand| errand.for_host != for_host);
            }
        } else if let Some(waiting) = self.calls.get_mut(&at) {
            waiting.retain(|errand| errand.for_host != for_host);
            if waiting.is_empty() {
                self.calls.remove(&at);
            }
        } else {
            let assign_by = self.settings.identity.assign_by;
            self.abroad.cancel(|url| url.host_key(assign_by) == at, for_host);
        }
    }

    /// The hosts whose errands were with a host that left take them as unreachable. One by one:
    /// a host given up for it may leave errands of its own.
    pub(super) fn settle_orphans(&mut self, now: Timestamp) {
        while let Some(errand) = self.orphans.pop() {
            let found = RobotsFound::Unreachable;
            if !self.was_for_guest(&errand, &found) && self.is_away(&errand) {
                self.conclude(&errand, &found, now);
            }
        }
    }
}

impl HostEntry {
    /// Its own errand elsewhere.
    pub(super) fn away(&self) -> Option<Away> {
        self.turn.as_ref().and_then(|turn| turn.away)
    }

    /// Errands that waited for this host to come in.
    pub(super) fn expect(&mut self, errands: Vec<RobotsErrand>) {
        if !errands.is_empty() {
            self.turn =
                Some(Box::new(RobotsTurn { errands: errands.into(), ..RobotsTurn::default() }));
        }
    }

    fn take_errands_to(&mut self, url: &CrawlUrl) -> Vec<RobotsErrand> {
        let Some(turn) = self.turn.as_mut() else {
            return Vec::new();
        };
        let (taken, kept): (Vec<_>, Vec<_>) =
            turn.errands.drain(..).partition(|errand| errand.url == *url);
        turn.errands = kept.into();
        taken
    }
}
