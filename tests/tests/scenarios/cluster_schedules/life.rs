//! What a node does by itself, some twenty times a second.

use super::disk::{Cause, Item, State};
use super::node::{Then, Wait};
use super::wire::{Body, COPIES, MAIN, Reply};
use super::world::{COORDINATOR, Event, LEASE, Page, World};
use crivello_agent::ownership::{Effect, Ownership, TransferKind};
use crivello_common::hash::GroupHash;
use crivello_common::view::AgentState;
use std::collections::BTreeSet;

impl World {
    pub fn tick(&mut self, node: usize) {
        let now = self.timestamp();
        let life = self.nodes[node].life;
        // Lease.
        let every = LEASE.as_millis() as u64 / 3;
        if self.now >= self.nodes[node].heartbeat {
            self.nodes[node].heartbeat = self.now + every;
            let join = self.nodes[node].ownership.is_none();
            if let Some(wait) = self.travel(node, COORDINATOR) {
                let sent = self.now;
                self.after(wait, Event::AtCoordinator { node, life, sent, join });
            }
        }
        self.renew_peer_leases(node);
        self.route(node);
        // Handoff.
        let mut effects = Vec::new();
        let n = &mut self.nodes[node];
        if let Some(ownership) = &mut n.ownership {
            if self.now >= n.asked + 5_000 {
                n.asked = self.now;
                ownership.ask_again();
            }
            while ownership.step(&mut n.disk.tags, now, &mut effects) {}
        }
        self.carry_out(node, effects);
        self.quiet(node);
        self.visit(node);
        self.transmit(node);
        let n = &self.nodes[node];
        if n.up
            && let (Some(ownership), Some(id)) = (&n.ownership, n.disk.id)
        {
            let draining = ownership
                .view()
                .and_then(|v| v.agent(id))
                .is_some_and(|a| a.state == AgentState::Draining);
            if draining
                && ownership.is_settled()
                && n.disk.tags.0.is_empty()
                && n.disk.outbox.is_empty()
                && n.visits.is_empty()
                && n.streams.values().all(|s| s.queue.is_empty())
            {
                self.leave(node);
            }
        }
        let wait = 20 + self.rng.below(60);
        self.after(wait, Event::Tick { node, life });
    }

    /// What is in the outbox goes where its group is owned now.
    pub fn route(&mut self, node: usize) {
        let items: Vec<(u64, Item)> = {
            let n = &self.nodes[node];
            let idle = n.disk.outbox.iter().filter(|(id, _)| !n.under_way.contains(id));
            idle.take(50).map(|(&id, item)| (id, item.clone())).collect()
        };
        for (id, item) in items {
            let group = self.group(item.page);
            let n = &mut self.nodes[node];
            let Some(ownership) = &n.ownership else { return };
            let Some(owner) = ownership.owner(group) else { return };
            n.under_way.insert(id);
            if Some(owner) == n.disk.id {
                let copies = n.store(group, item.page, item.state, None);
                self.wait(node, copies, Then::Done(id));
            } else {
                let packet = n.send(owner, MAIN, Body::Fact(item.page, item.state));
                n.carried.insert(packet, id);
            }
        }
    }

    pub fn wait(&mut self, node: usize, copies: BTreeSet<u64>, then: Then) {
        if copies.is_empty() {
            self.then(node, &then);
        } else {
            self.nodes[node].waits.push(Wait { copies, then });
        }
    }

    pub fn then(&mut self, node: usize, then: &Then) {
        match *then {
            Then::Reply { to, life, class, id } => {
                if let Some(wait) = self.travel(node, to) {
                    self.after(
                        wait,
                        Event::Answer { from: node, to, life, class, id, reply: Reply::Stored },
                    );
                }
            }
            Then::Done(item) => self.done(node, item),
        }
    }

    /// The owner has it, and so have those that copy it.
    pub fn done(&mut self, node: usize, item: u64) {
        let Some(item) = self.nodes[node].disk.outbox.remove(&item) else { return };
        match item.cause {
            Cause::Seed => {
                self.accepted.insert(item.page);
            }
            Cause::Outcome => {
                // With the owner; here too, if the rows are still here.
                let group = self.group(item.page);
                let n = &mut self.nodes[node];
                let here =
                    n.disk.rows.get(&group).is_some_and(|rows| rows.contains_key(&item.page));
                if here
                    && n.merge(group, item.page, State::Fetched)
                    && let Some(ownership) = &mut n.ownership
                {
                    ownership.store_as_former_owner(group, &mut n.disk.tags);
                }
            }
            Cause::Link(page) => self.maybe_safe(node, page),
        }
    }

    /// A page is done with once all that it links to is safe.
    pub fn maybe_safe(&mut self, node: usize, page: Page) {
        let group = self.group(page);
        let n = &mut self.nodes[node];
        let open = n.disk.outbox.values().any(|item| match item.cause {
            Cause::Link(from) => from == page,
            Cause::Outcome => item.page == page,
            Cause::Seed => false,
        });
        let pending =
            n.disk.rows.get(&group).and_then(|rows| rows.get(&page)) == Some(&State::Pending);
        if !open && pending {
            n.put(page, State::Fetched, Cause::Outcome);
        }
    }

    pub fn carry_out(&mut self, node: usize, effects: Vec<Effect>) {
        for effect in effects {
            let n = &mut self.nodes[node];
            match effect {
                Effect::Send { to, message } => {
                    n.send(to, MAIN, Body::Say(message));
                }
                Effect::Quiet(group) => {
                    n.quieting.insert(group);
                }
                Effect::Transfer { to, group, end } => {
                    // What is not safe yet is to be fetched again, as far as others know.
                    let rows = n.disk.rows.get(&group).into_iter().flatten();
                    let rows = rows.map(|(&page, &state)| {
                        (page, if state == State::Pending { State::Queued } else { state })
                    });
                    let rows = rows.collect();
                    let class = if end == TransferKind::Replica { COPIES } else { MAIN };
                    let id = n.send(to, class, Body::Rows(group, rows, end));
                    n.transfers.insert(id, (group, to));
                }
                Effect::Delete(group) => {
                    n.disk.rows.remove(&group);
                }
            }
        }
    }

    pub fn quiet(&mut self, node: usize) {
        let mut effects = Vec::new();
        let n = &mut self.nodes[node];
        let Some(ownership) = &mut n.ownership else { return };
        for group in std::mem::take(&mut n.quieting) {
            let busy = n.visits.contains_key(&group)
                || n.disk
                    .rows
                    .get(&group)
                    .is_some_and(|rows| rows.values().any(|&s| s == State::Pending));
            if busy {
                n.quieting.insert(group);
            } else {
                ownership.quiet(group, &mut n.disk.tags, &mut effects);
            }
        }
        self.carry_out(node, effects);
    }

    pub fn visit(&mut self, node: usize) {
        let now = self.timestamp();
        let candidates: Vec<(GroupHash, Page)> = {
            let n = &self.nodes[node];
            let groups = n.disk.rows.iter().filter(|(group, _)| !n.visits.contains_key(group));
            groups
                .filter_map(|(&group, rows)| {
                    rows.iter().find(|&(_, &s)| s == State::Queued).map(|(&p, _)| (group, p))
                })
                .collect()
        };
        for (group, page) in candidates {
            let n = &mut self.nodes[node];
            let Some(ownership) = &mut n.ownership else { return };
            if !ownership.may_fetch(group, &mut n.disk.tags, now) {
                continue;
            }
            n.visits.insert(group, page);
            let life = n.life;
            if let Some((other, p)) = self.visited.insert(group, (node, page)) {
                let epoch = self.nodes[node].ownership.as_ref().map(Ownership::epoch);
                self.wrong = Some(format!(
                    "n{node} (epoch {epoch:?}) visits {group:?} while n{other} does (page {p})"
                ));
                return;
            }
            let ends = self.now + 1 + self.rng.below(3_000);
            let at = self.fence(node).min(ends);
            self.at(at, Event::VisitEnds { node, life, page, ends });
        }
    }

    /// When the node's fence closes.
    pub fn fence(&self, node: usize) -> u64 {
        let n = &self.nodes[node];
        let Some(ownership) = &n.ownership else { return 0 };
        let others = ownership
            .view()
            .into_iter()
            .flat_map(|v| &v.agents)
            .filter(|a| Some(a.id) != n.disk.id && a.state != AgentState::Dead)
            .map(|a| a.id);
        (ownership.fence.until(others).0.saturating_sub(1_000_000_000)) / 1_000
    }

    pub fn visit_ends(&mut self, node: usize, page: Page, ends: u64) {
        let group = self.group(page);
        if self.nodes[node].visits.get(&group) != Some(&page) {
            return;
        }
        if self.now < ends {
            let at = self.fence(node).min(ends);
            if at > self.now {
                let life = self.nodes[node].life;
                return self.at(at, Event::VisitEnds { node, life, page, ends });
            }
        }
        self.nodes[node].visits.remove(&group);
        self.visited.remove(&group);
        if self.now < ends {
            return self.say(|| format!("n{node} stops at its fence: {page}"));
        }
        *self.fetched.entry(page).or_default() += 1;
        let times = self.fetched[&page];
        self.say(|| format!("n{node} fetched {page} of {group:?} ({times})"));
        let children: BTreeSet<Page> = self.children(page).into_iter().collect();
        let n = &mut self.nodes[node];
        n.merge(group, page, State::Pending);
        for child in children {
            n.put(child, State::Queued, Cause::Link(page));
        }
        self.maybe_safe(node, page);
    }
}
