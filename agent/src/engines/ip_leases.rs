//! The task that manages the IP leases: it passes messages between the scheduler, the other agents
//! and the writer, one at a time. Robots.txt requests of other agents use the same queue.

#[cfg(test)]
mod tests;

use crate::cluster::{InboundMsg, Inbox};
use crate::ip_leases::IpLeaseExchange;
use crate::messages::{Ack, Delivery, LeaseCommand, LeaseEvent, LeaseSender, SchedulerQueues};
use crate::peers::{Outgoing, PeerReply};
use crate::shared::live_settings::LiveSettings;
use crate::shared::measurements::Measurements;
use crivello_common::assignment::{Owners, StrategyKind};
use crivello_common::identity::KeyedHasher;
use crivello_common::time::{Clock, Timestamp};
use crivello_common::view::{AgentId, View};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

/// Longest pause between two ticks.
const PAUSE_MAX: Duration = Duration::from_millis(100);
/// Pause between two counts of the granted leases.
const COUNT_EVERY: Duration = Duration::from_millis(200);

/// Queue of the task that manages the IP leases, and its connections with other agents.
pub struct LeaseQueue {
    pub me: AgentId,
    pub commands: mpsc::UnboundedReceiver<LeaseCommand>,
    pub sender: LeaseSender,
    pub outgoing: Arc<Outgoing>,
    pub inbox: Inbox,
}

/// Parts of the task that manages the IP leases.
pub struct LeaseParts {
    pub queue: LeaseQueue,
    pub strategy: StrategyKind,
    pub hasher: KeyedHasher,
    pub clock: Clock,
    pub live: Arc<LiveSettings>,
    pub measured: Arc<Measurements>,
    pub workbench: Arc<SchedulerQueues>,
}

impl LeaseParts {
    /// Starts the task; it ends with the runtime. Returns the sender to its queue.
    pub fn start(self, runtime: &Runtime) -> LeaseSender {
        let sender = self.queue.sender.clone();
        let ip_delay = self.live.latest().live.politeness.ip_delay;
        let leases = IpLeaseExchange::new(self.queue.me, self.hasher, ip_delay);
        runtime.spawn(Task { parts: self, leases, counted_at: Timestamp::ZERO }.run());
        sender
    }
}

/// The running task.
struct Task {
    parts: LeaseParts,
    leases: IpLeaseExchange,
    counted_at: Timestamp,
}

impl Task {
    async fn run(mut self) {
        loop {
            let now = self.parts.clock.now();
            let pause =
                self.leases.next_time().map_or(PAUSE_MAX, |at| at.since(now).min(PAUSE_MAX));
            match tokio::time::timeout(pause, self.parts.queue.commands.recv()).await {
                Ok(Some(command)) => {
                    self.apply_settings();
                    self.on_command(command);
                }
                Ok(None) => return,
                Err(_) => {}
            }
            while let Ok(command) = self.parts.queue.commands.try_recv() {
                self.on_command(command);
            }
            self.apply_settings();
            let now = self.parts.clock.now();
            self.leases.tick(now);
            self.send_pending(now);
            if now.since(self.counted_at) >= COUNT_EVERY {
                self.counted_at = now;
                self.parts.measured.ip_leases_lent.store(self.leases.lent() as u64, Relaxed);
            }
        }
    }

    /// Applies the `ip-delay` of the latest settings.
    fn apply_settings(&mut self) {
        self.leases.set_ip_delay(self.parts.live.latest().live.politeness.ip_delay);
    }

    fn on_command(&mut self, command: LeaseCommand) {
        let now = self.parts.clock.now();
        match command {
            LeaseCommand::Requests(requests) => {
                for request in requests {
                    self.leases.on_request(request, now);
                }
            }
            LeaseCommand::Uses { epoch, held } => {
                if epoch == self.leases.epoch() {
                    self.leases.on_leases_in_use(held, now);
                }
            }
            LeaseCommand::View(view) => self.on_view(view),
            LeaseCommand::Clear { epoch } => {
                if epoch == self.leases.epoch() {
                    self.leases.on_fences_closed(now);
                }
            }
            LeaseCommand::Batch { from, epoch, batch, reply } => {
                let same = epoch == self.leases.epoch();
                if same {
                    self.leases.on_batch(from, batch, now);
                }
                let _ = reply.send(if same { Ack::Done } else { Ack::OtherEpoch });
            }
            LeaseCommand::PeerRobots(request) => {
                // If the queue is full, the request is dropped, and that answers it.
                let _ = self.parts.workbench.remote_robots.from_peers.push(request);
                self.parts.workbench.wake();
            }
            LeaseCommand::Sent { to, id, delivery } => self.leases.on_delivery(to, id, delivery),
        }
    }

    fn on_view(&mut self, view: Arc<View>) {
        let epoch = view.epoch;
        match Owners::new(self.parts.strategy, view) {
            Ok(owners) if epoch > self.leases.epoch() => {
                self.leases.on_view(Arc::new(owners));
                self.parts.workbench.lease_events.push(LeaseEvent::Epoch(epoch));
                self.parts.workbench.wake();
            }
            // Ownership has checked the view before.
            _ => tracing::error!(epoch, "invalid view received; keeping the current IP leases"),
        }
    }

    fn send_pending(&mut self, now: Timestamp) {
        let notices = self.leases.take_notices();
        if !notices.is_empty() {
            for notice in notices {
                self.parts.workbench.lease_events.push(LeaseEvent::Notice(notice));
            }
            self.parts.workbench.wake();
        }
        let epoch = self.leases.epoch();
        for (to, batch) in self.leases.take_batches(now) {
            let id = batch.id;
            let (outgoing, inbox) =
                (self.parts.queue.outgoing.clone(), self.parts.queue.inbox.clone());
            let sender = self.parts.queue.sender.clone();
            tokio::spawn(async move {
                let reply = outgoing.exchange_ip_leases(to, epoch, batch).await;
                let delivery = match reply {
                    Ok(PeerReply::Accepted) => Delivery::Accepted,
                    Ok(PeerReply::ViewMismatch(view)) => {
                        if let Some(view) = view {
                            inbox.deliver(InboundMsg::View(view)).await;
                        }
                        Delivery::ViewMismatch
                    }
                    Err(_) => Delivery::Unknown,
                };
                if delivery != Delivery::Accepted {
                    tokio::time::sleep(PAUSE_MAX).await;
                }
                sender.send(LeaseCommand::Sent { to, id, delivery });
            });
        }
    }
}
