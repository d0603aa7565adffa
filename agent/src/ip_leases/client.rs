//! Between the workbench, the lender and the other agents: who says what to whom, epoch by epoch.

use super::lendable::lessor_of;
use super::lessor::Lessor;
use super::{LeaseBatch, LeaseInUse, LeaseNotice, LeaseReport, LeaseRequest, ReportedLease, TERM};
use crate::messages::Delivery;
use crivello_common::assignment::Owners;
use crivello_common::time::Timestamp;
use crivello_common::view::{AgentId, AgentState};
use std::collections::BTreeMap;
use std::mem::take;
use std::sync::Arc;
use std::time::Duration;

/// Notes and news of one batch: half a megabyte on the wire.
const BATCH_MAX: usize = 16_384;

/// See the module.
#[derive(Debug)]
pub struct IpLeaseClient {
    me: AgentId,
    lessor: Lessor,
    owners: Option<Arc<Owners>>,
    /// What the workbench uses in this epoch; `None` until it has said so.
    held: Option<Vec<LeaseInUse>>,
    is_clear: bool,
    bags: BTreeMap<AgentId, Bag>,
    /// The last batch that was taken from each agent in this epoch.
    taken: BTreeMap<AgentId, u64>,
    news: Vec<LeaseNotice>,
    last_number: u64,
}

/// What one agent is to hear.
#[derive(Debug, Default)]
struct Bag {
    must_report: bool,
    notes: Vec<LeaseRequest>,
    news: Vec<LeaseNotice>,
    /// The batch that is on its way, and what must not be lost of it.
    flying: Option<(u64, Flight)>,
}

#[derive(Debug)]
struct Flight {
    reports: bool,
    notes: Vec<LeaseRequest>,
}

impl IpLeaseClient {
    /// One that knows no view yet.
    #[must_use]
    pub fn new(me: AgentId, ip_delay: Duration) -> Self {
        Self {
            me,
            lessor: Lessor::new(me, ip_delay),
            owners: None,
            held: None,
            is_clear: false,
            bags: BTreeMap::new(),
            taken: BTreeMap::new(),
            news: Vec::new(),
            last_number: 0,
        }
    }

    /// An address rests for so long from now on.
    pub const fn set_ip_delay(&mut self, ip_delay: Duration) {
        self.lessor.set_ip_delay(ip_delay);
    }

    /// The epoch in force; 0 before the first.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.owners.as_ref().map_or(0, |owners| owners.view().epoch)
    }

    /// A later view comes into force. Until [`Self::uses`] has told what the workbench has in use,
    /// nothing is said. What was on its way is forgotten.
    pub fn begin(&mut self, owners: Arc<Owners>) {
        self.lessor.begin(Arc::clone(&owners));
        self.bags.clear();
        for agent in &owners.view().agents {
            if agent.id != self.me && agent.state != AgentState::Dead {
                self.bags.insert(agent.id, Bag { must_report: true, ..Bag::default() });
            }
        }
        self.owners = Some(owners);
        self.held = None;
        self.is_clear = false;
        self.taken.clear();
        self.news.clear();
    }

    /// The turns that the workbench goes on using in this epoch.
    pub fn uses(&mut self, held: Vec<LeaseInUse>, now: Timestamp) {
        self.held = Some(held);
        self.tell_myself(now);
    }

    /// Nobody who was declared dead fetches by a promise of this agent any more.
    pub fn clear(&mut self, now: Timestamp) {
        if !self.is_clear {
            self.is_clear = true;
            self.bags.values_mut().for_each(|bag| bag.must_report = true);
            self.tell_myself(now);
        }
    }

    fn tell_myself(&mut self, now: Timestamp) {
        if let Some(report) = self.report(self.me, now) {
            self.lessor.told(self.me, &report, now);
            self.post();
        }
    }

    /// What is to be said to an agent on entering the epoch.
    fn report(&self, to: AgentId, now: Timestamp) -> Option<LeaseReport> {
        let (owners, held) = (self.owners.as_ref()?, self.held.as_ref()?);
        let his = held.iter().filter(|turn| lessor_of(owners, turn.address) == Some(to));
        let held = his.map(|&LeaseInUse { address, asked }| ReportedLease {
            address,
            asked,
            left: (asked + TERM).since(now),
        });
        let held = held.collect();
        Some(LeaseReport { held, is_clear: self.is_clear })
    }

    /// The workbench says something, under the epoch in force.
    pub fn note(&mut self, note: LeaseRequest, now: Timestamp) {
        let (LeaseRequest::Acquire { address, .. } | LeaseRequest::Return { address, .. }) = note;
        // Until the workbench has heard of the epoch, it speaks of the last.
        let (Some(owners), Some(_)) = (&self.owners, &self.held) else { return };
        match lessor_of(owners, address) {
            Some(lessor) if lessor == self.me => {
                self.lessor.hear(self.me, note, now);
                self.post();
            }
            Some(lessor) => {
                if let Some(bag) = self.bags.get_mut(&lessor) {
                    bag.notes.push(note);
                }
            }
            None => {}
        }
    }

    /// Another agent says something under the epoch in force. Batches that come late or twice are
    /// dropped.
    pub fn hear(&mut self, from: AgentId, batch: LeaseBatch, now: Timestamp) {
        let taken = self.taken.entry(from).or_default();
        if batch.number <= *taken {
            return;
        }
        *taken = batch.number;
        if let Some(report) = &batch.report {
            self.lessor.told(from, report, now);
        }
        for note in batch.notes {
            self.lessor.hear(from, note, now);
        }
        self.news.extend(batch.news);
        self.post();
    }

    /// What falls due without anybody's doing.
    pub fn tick(&mut self, now: Timestamp) {
        self.lessor.tick(now);
        self.post();
    }

    /// When [`Self::tick`] has something to do.
    #[must_use]
    pub fn next_time(&self) -> Option<Timestamp> {
        self.lessor.next_time()
    }

    fn post(&mut self) {
        for (to, news) in self.lessor.take_news() {
            if to == self.me {
                self.news.push(news);
            } else if let Some(bag) = self.bags.get_mut(&to) {
                bag.news.push(news);
            }
        }
    }

    /// Turns that other agents have from this one.
    #[must_use]
    pub fn lent(&self) -> usize {
        self.lessor.lent_to_others(self.me)
    }

    /// What the workbench must hear, in order.
    #[must_use]
    pub fn take_news(&mut self) -> Vec<LeaseNotice> {
        take(&mut self.news)
    }

    /// Batches to be sent now; none to an agent that has not answered the last.
    /// Each is to be answered with [`Self::sent`].
    #[must_use]
    pub fn take_batches(&mut self, now: Timestamp) -> Vec<(AgentId, LeaseBatch)> {
        let mut batches = Vec::new();
        if self.held.is_none() {
            return batches;
        }
        let free = self.bags.iter().filter(|(_, bag)| bag.flying.is_none());
        for to in free.map(|(&to, _)| to).collect::<Vec<_>>() {
            let report = if self.bags[&to].must_report { self.report(to, now) } else { None };
            let Some(bag) = self.bags.get_mut(&to) else { continue };
            bag.must_report = false;
            let notes = bag.notes.drain(..bag.notes.len().min(BATCH_MAX)).collect();
            let news = bag.news.drain(..bag.news.len().min(BATCH_MAX)).collect();
            let batch = LeaseBatch { number: self.last_number + 1, report, notes, news };
            if !batch.is_empty() {
                self.last_number += 1;
                let flight = Flight { reports: batch.report.is_some(), notes: batch.notes.clone() };
                bag.flying = Some((batch.number, flight));
                batches.push((to, batch));
            }
        }
        batches
    }

    /// What became of a batch. What must not be lost is said again.
    pub fn sent(&mut self, to: AgentId, number: u64, delivery: Delivery) {
        let Some(bag) = self.bags.get_mut(&to) else { return };
        let Some((_, flight)) = bag.flying.take_if(|(flying, _)| *flying == number) else { return };
        match delivery {
            Delivery::Taken => {}
            Delivery::Refused => {
                bag.must_report |= flight.reports;
                bag.notes.splice(..0, flight.notes);
            }
            Delivery::Unknown => {
                bag.must_report |= flight.reports;
                bag.notes.splice(..0, flight.notes);
                // Who asks, asks again: an agent out of reach is not asked for more and more.
                bag.notes.retain(|note| matches!(note, LeaseRequest::Return { .. }));
            }
        }
    }
}
