//! The turns' own task: between the scheduler, the other agents and the member, one word after the
//! other. What other agents want of hosts here comes the same way.

#[cfg(test)]
mod tests;

use crate::cluster::{InboundMsg, Inbox};
use crate::ip_leases::IpLeaseClient;
use crate::messages::{Ack, Delivery, LeaseCommand, LeaseEvent, LeaseSender, SchedulerQueues};
use crate::peers::{Brought, Outgoing};
use crate::shared::Shared;
use crivello_common::assignment::Owners;
use crivello_common::time::Timestamp;
use crivello_common::view::{AgentId, View};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

/// It looks up at least this often.
const NAP_MAX: Duration = Duration::from_millis(100);
/// Between two looks at how many turns are lent.
const COUNT_EVERY: Duration = Duration::from_millis(200);

/// The task that keeps the IP leases, with its queues.
pub struct LeaseTask {
    pub me: AgentId,
    pub words: mpsc::UnboundedReceiver<LeaseCommand>,
    pub line: LeaseSender,
    pub outgoing: Arc<Outgoing>,
    pub inbox: Inbox,
}

impl LeaseTask {
    /// Begins; ends with the runtime.
    pub fn open(
        self,
        runtime: &Runtime,
        shared: Shared,
        workbench: Arc<SchedulerQueues>,
    ) -> LeaseSender {
        let line = self.line.clone();
        let queues = IpLeaseClient::new(self.me, shared.live.latest().live.politeness.ip_delay);
        runtime.spawn(
            Task { room: self, queues, shared, workbench, counted_at: Timestamp::ZERO }.run(),
        );
        line
    }
}

struct Task {
    room: LeaseTask,
    queues: IpLeaseClient,
    shared: Shared,
    workbench: Arc<SchedulerQueues>,
    counted_at: Timestamp,
}

impl Task {
    async fn run(mut self) {
        loop {
            let now = self.shared.clock.now();
            let nap = self.queues.next_time().map_or(NAP_MAX, |at| at.since(now).min(NAP_MAX));
            match tokio::time::timeout(nap, self.room.words.recv()).await {
                Ok(Some(word)) => {
                    self.keep_up();
                    self.hear(word);
                }
                Ok(None) => return,
                Err(_) => {}
            }
            while let Ok(word) = self.room.words.try_recv() {
                self.hear(word);
            }
            self.keep_up();
            let now = self.shared.clock.now();
            self.queues.tick(now);
            self.speak(now);
            if now.since(self.counted_at) >= COUNT_EVERY {
                self.counted_at = now;
                self.shared.measured.ip_leases_lent.store(self.queues.lent() as u64, Relaxed);
            }
        }
    }

    /// Addresses rest as the latest settings say.
    fn keep_up(&mut self) {
        self.queues.set_ip_delay(self.shared.live.latest().live.politeness.ip_delay);
    }

    fn hear(&mut self, word: LeaseCommand) {
        let now = self.shared.clock.now();
        match word {
            LeaseCommand::Notes(notes) => {
                for note in notes {
                    self.queues.note(note, now);
                }
            }
            LeaseCommand::Uses { epoch, held } => {
                if epoch == self.queues.epoch() {
                    self.queues.uses(held, now);
                }
            }
            LeaseCommand::View(view) => self.begin(view),
            LeaseCommand::Clear { epoch } => {
                if epoch == self.queues.epoch() {
                    self.queues.clear(now);
                }
            }
            LeaseCommand::Batch { from, epoch, batch, reply } => {
                let same = epoch == self.queues.epoch();
                if same {
                    self.queues.hear(from, batch, now);
                }
                let _ = reply.send(if same { Ack::Done } else { Ack::OtherEpoch });
            }
            LeaseCommand::PeerRobots(request) => {
                // Without room the answer is dropped, and that is one.
                let _ = self.workbench.remote_robots.from_peers.push(request);
                self.workbench.wake();
            }
            LeaseCommand::Sent { to, number, delivery } => self.queues.sent(to, number, delivery),
        }
    }

    fn begin(&mut self, view: Arc<View>) {
        let epoch = view.epoch;
        match Owners::new(self.shared.settings.cluster.strategy, view) {
            Ok(owners) if epoch > self.queues.epoch() => {
                self.queues.begin(Arc::new(owners));
                self.workbench.lease_events.push(LeaseEvent::Epoch(epoch));
                self.workbench.wake();
            }
            // Ownership has checked it.
            _ => tracing::error!(epoch, "a view that cannot be came; turns stay as they were"),
        }
    }

    fn speak(&mut self, now: Timestamp) {
        let news = self.queues.take_news();
        if !news.is_empty() {
            for news in news {
                self.workbench.lease_events.push(LeaseEvent::News(news));
            }
            self.workbench.wake();
        }
        let epoch = self.queues.epoch();
        for (to, batch) in self.queues.take_batches(now) {
            let number = batch.number;
            let (outgoing, inbox) = (self.room.outgoing.clone(), self.room.inbox.clone());
            let line = self.room.line.clone();
            tokio::spawn(async move {
                let brought = outgoing.turns(to, epoch, batch).await;
                let delivery = match brought {
                    Ok(Brought::Taken) => Delivery::Taken,
                    Ok(Brought::Refused(view)) => {
                        if let Some(view) = view {
                            inbox.deliver(InboundMsg::View(view)).await;
                        }
                        Delivery::Refused
                    }
                    Err(_) => Delivery::Unknown,
                };
                if delivery != Delivery::Taken {
                    tokio::time::sleep(NAP_MAX).await;
                }
                line.send(LeaseCommand::Sent { to, number, delivery });
            });
        }
    }
}
