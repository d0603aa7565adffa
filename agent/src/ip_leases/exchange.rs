//! The exchange of lease messages between the workbench, the local lessor and the other agents, by
//! epoch.

use super::lendable::lessor_of;
use super::lessor::Lessor;
use super::{LeaseBatch, LeaseInUse, LeaseNotice, LeaseReport, LeaseRequest, ReportedLease};
use crate::messages::Delivery;
use crivello_common::assignment::Owners;
use crivello_common::identity::KeyedHasher;
use crivello_common::time::Timestamp;
use crivello_common::view::AgentId;
use std::collections::BTreeMap;
use std::mem::take;
use std::sync::Arc;
use std::time::Duration;

/// Maximum number of requests, and of notices, in a batch: half a megabyte on the wire.
const BATCH_MAX: usize = 16_384;

/// The IP leases of one agent: those that it borrows, and those that it lends.
#[derive(Debug)]
pub struct IpLeaseExchange {
    me: AgentId,
    hasher: KeyedHasher,
    lessor: Lessor,
    owners: Option<Arc<Owners>>,
    /// The leases that the workbench used when the epoch began; `None` until it has reported them.
    held: Option<Vec<LeaseInUse>>,
    is_clear: bool,
    peers: BTreeMap<AgentId, PeerQueue>,
    /// Id of the last batch accepted from each agent in this epoch.
    last_accepted: BTreeMap<AgentId, u64>,
    notices: Vec<LeaseNotice>,
    last_id: u64,
}

/// The messages for one agent.
#[derive(Debug, Default)]
struct PeerQueue {
    must_report: bool,
    requests: Vec<LeaseRequest>,
    notices: Vec<LeaseNotice>,
    in_flight: Option<SentBatch>,
}

/// The unacknowledged batch: its id, and the parts to repeat if it is lost.
#[derive(Debug)]
struct SentBatch {
    id: u64,
    has_report: bool,
    requests: Vec<LeaseRequest>,
}

impl IpLeaseExchange {
    /// Returns a client without a view.
    #[must_use]
    pub fn new(me: AgentId, hasher: KeyedHasher, ip_delay: Duration) -> Self {
        Self {
            me,
            hasher,
            lessor: Lessor::new(me, hasher, ip_delay),
            owners: None,
            held: None,
            is_clear: false,
            peers: BTreeMap::new(),
            last_accepted: BTreeMap::new(),
            notices: Vec::new(),
            last_id: 0,
        }
    }

    /// Sets the delay between visits to an address by different agents.
    pub const fn set_ip_delay(&mut self, ip_delay: Duration) {
        self.lessor.set_ip_delay(ip_delay);
    }

    /// Returns the epoch in force; 0 before the first.
    pub fn epoch(&self) -> u64 {
        self.owners.as_ref().map_or(0, |owners| owners.view().epoch)
    }

    /// Enters the epoch of a later view. Sends nothing until [`Self::on_leases_in_use`]. Unsent
    /// messages of the last epoch are dropped.
    pub fn on_view(&mut self, owners: Arc<Owners>) {
        self.lessor.on_view(Arc::clone(&owners));
        let others = owners.view().living().filter(|agent| agent.id != self.me);
        let queue = || PeerQueue { must_report: true, ..PeerQueue::default() };
        self.peers = others.map(|agent| (agent.id, queue())).collect();
        self.owners = Some(owners);
        self.held = None;
        self.is_clear = false;
        self.last_accepted.clear();
        self.notices.clear();
    }

    /// Records the leases that the workbench still uses in this epoch.
    pub fn on_leases_in_use(&mut self, held: Vec<LeaseInUse>, now: Timestamp) {
        self.held = Some(held);
        self.report_to_self(now);
    }

    /// Records that no agent that was declared dead still fetches by a peer lease of this agent.
    pub fn on_fences_closed(&mut self, now: Timestamp) {
        if !self.is_clear {
            self.is_clear = true;
            self.peers.values_mut().for_each(|peer| peer.must_report = true);
            self.report_to_self(now);
        }
    }

    fn report_to_self(&mut self, now: Timestamp) {
        if let Some(report) = self.report(self.me, now) {
            self.lessor.on_report(self.me, &report, now);
            self.route_notices();
        }
    }

    /// Returns the report for an agent on entry into the epoch.
    fn report(&self, to: AgentId, now: Timestamp) -> Option<LeaseReport> {
        let (owners, held) = (self.owners.as_ref()?, self.held.as_ref()?);
        let of_peer =
            held.iter().filter(|lease| lessor_of(owners, &self.hasher, lease.address) == Some(to));
        let held = of_peer.map(|&LeaseInUse { address, requested_at, term }| ReportedLease {
            address,
            requested_at,
            remaining: (requested_at + term).since(now),
        });
        Some(LeaseReport { held: held.collect(), is_clear: self.is_clear })
    }

    /// Handles a request of the workbench in the epoch in force.
    pub fn on_request(&mut self, request: LeaseRequest, now: Timestamp) {
        let (LeaseRequest::Acquire { address, .. } | LeaseRequest::Return { address, .. }) =
            request;
        // Before the workbench has entered the epoch, its requests are of the last one.
        let (Some(owners), Some(_)) = (&self.owners, &self.held) else { return };
        match lessor_of(owners, &self.hasher, address) {
            Some(lessor) if lessor == self.me => {
                self.lessor.on_request(self.me, request, now);
                self.route_notices();
            }
            Some(lessor) => {
                if let Some(peer) = self.peers.get_mut(&lessor) {
                    peer.requests.push(request);
                }
            }
            None => {}
        }
    }

    /// Handles a batch of another agent in the epoch in force. Late and repeated batches are dropped.
    pub fn on_batch(&mut self, from: AgentId, batch: LeaseBatch, now: Timestamp) {
        let last_accepted = self.last_accepted.entry(from).or_default();
        if batch.id <= *last_accepted {
            return;
        }
        *last_accepted = batch.id;
        if let Some(report) = &batch.report {
            self.lessor.on_report(from, report, now);
        }
        for request in batch.requests {
            self.lessor.on_request(from, request, now);
        }
        self.notices.extend(batch.notices);
        self.route_notices();
    }

    /// Handles everything that is due.
    pub fn tick(&mut self, now: Timestamp) {
        self.lessor.tick(now);
        self.route_notices();
    }

    /// Returns the time at which [`Self::tick`] is due.
    pub fn next_time(&self) -> Option<Timestamp> {
        self.lessor.next_time()
    }

    fn route_notices(&mut self) {
        for (to, notice) in self.lessor.take_notices() {
            if to == self.me {
                self.notices.push(notice);
            } else if let Some(peer) = self.peers.get_mut(&to) {
                peer.notices.push(notice);
            }
        }
    }

    /// Number of leases granted to other agents.
    pub fn lent(&self) -> usize {
        self.lessor.lent_to_others(self.me)
    }

    /// Takes the notices for the workbench, in order.
    #[must_use]
    pub fn take_notices(&mut self) -> Vec<LeaseNotice> {
        take(&mut self.notices)
    }

    /// Takes the batches to send now; none for an agent that has not acknowledged the last one.
    /// [`Self::on_delivery`] must follow for each.
    #[must_use]
    pub fn take_batches(&mut self, now: Timestamp) -> Vec<(AgentId, LeaseBatch)> {
        let mut batches = Vec::new();
        if self.held.is_none() {
            return batches;
        }
        let mut peers = take(&mut self.peers);
        for (&to, peer) in peers.iter_mut().filter(|(_, peer)| peer.in_flight.is_none()) {
            let must_report = take(&mut peer.must_report);
            let report = if must_report { self.report(to, now) } else { None };
            let requests = peer.requests.drain(..peer.requests.len().min(BATCH_MAX)).collect();
            let notices = peer.notices.drain(..peer.notices.len().min(BATCH_MAX)).collect();
            let batch = LeaseBatch { id: self.last_id + 1, report, requests, notices };
            if !batch.is_empty() {
                self.last_id += 1;
                let (has_report, requests) = (batch.report.is_some(), batch.requests.clone());
                peer.in_flight = Some(SentBatch { id: batch.id, has_report, requests });
                batches.push((to, batch));
            }
        }
        self.peers = peers;
        batches
    }

    /// Handles the result of sending a batch. Reports and requests of a lost batch are sent again.
    pub fn on_delivery(&mut self, to: AgentId, id: u64, delivery: Delivery) {
        let Some(peer) = self.peers.get_mut(&to) else { return };
        let Some(sent) = peer.in_flight.take_if(|sent| sent.id == id) else { return };
        if delivery == Delivery::Accepted {
            return;
        }
        peer.must_report |= sent.has_report;
        peer.requests.splice(..0, sent.requests);
        if delivery == Delivery::Unknown {
            // Borrowers repeat their requests: keeping them would fill the queue of an unreachable
            // agent.
            peer.requests.retain(|request| matches!(request, LeaseRequest::Return { .. }));
        }
    }
}
