//! The turns' own task: between the scheduler, the other agents and the member, one word after the
//! other. What other agents want of hosts here comes the same way.

#[cfg(test)]
mod tests;

use super::envoy::{Envoy, Guest};
use super::member::{Arrival, Door};
use super::scheduler::Desk;
use super::shared::Shared;
use crate::ip_leases::{Fate, TurnDesk};
use crate::messages::{Batch, HeldTurn, TurnNews, TurnNote};
use crate::peers::{Brought, Outgoing, Verdict};
use crivello_common::assignment::Owners;
use crivello_common::time::Timestamp;
use crivello_common::view::{AgentId, View};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, oneshot, watch};

/// It looks up at least this often.
const NAP_MAX: Duration = Duration::from_millis(100);
/// Between two looks at how many turns are lent.
const COUNT_EVERY: Duration = Duration::from_millis(200);

/// What comes to the task.
#[derive(Debug)]
pub enum TurnWord {
    /// From the workbench.
    Notes(Vec<TurnNote>),
    /// What the workbench uses in this epoch.
    Uses { epoch: u64, held: Vec<HeldTurn> },
    /// A view is in force.
    View(Arc<View>),
    /// In this epoch: nobody who was declared dead fetches by a promise of this agent any more.
    Clear { epoch: u64 },
    /// From another agent.
    Batch { from: AgentId, epoch: u64, batch: Batch, answer: oneshot::Sender<Verdict> },
    /// Another agent wants a robots.txt.
    Guest(Guest),
    /// What became of a batch for another agent.
    Sent { to: AgentId, number: u64, fate: Fate },
}

/// What goes to the workbench.
#[derive(Debug)]
pub enum TurnEvent {
    /// As it says.
    News(TurnNews),
    /// A new epoch begins: [`TurnWord::Uses`] is to be said, and what was said before is forgotten.
    Epoch(u64),
}

/// The way to the task, which never waits for anybody. Other agents, and the tasks that send to
/// them, have one word there at a time; the workbench says no more in two seconds than it has
/// addresses, twice.
#[derive(Clone, Debug)]
pub struct TurnLine(mpsc::UnboundedSender<TurnWord>);

impl TurnLine {
    /// One, and its end.
    #[expect(clippy::disallowed_methods, reason = "bounded by what is said to it, see above")]
    pub fn new() -> (Self, mpsc::UnboundedReceiver<TurnWord>) {
        let (line, words) = mpsc::unbounded_channel();
        (Self(line), words)
    }

    /// Says something, unless the task is gone.
    pub fn say(&self, word: TurnWord) {
        let _ = self.0.send(word);
    }
}

/// What the task needs.
pub struct TurnRoom {
    pub me: AgentId,
    pub words: mpsc::UnboundedReceiver<TurnWord>,
    pub line: TurnLine,
    pub outgoing: Arc<Outgoing>,
    pub door: Door,
    pub views: watch::Receiver<Option<Arc<View>>>,
}

impl TurnRoom {
    /// Begins; ends with the runtime.
    pub fn open(self, runtime: &Runtime, shared: Arc<Shared>, bench: Arc<Desk>) -> TurnLine {
        let line = self.line.clone();
        let desk = TurnDesk::new(self.me, shared.settings.politeness.ip_delay);
        let (outgoing, views) = (self.outgoing.clone(), self.views.clone());
        let envoy = Envoy { outgoing, views, shared: shared.clone(), desk: bench.clone() };
        runtime.spawn(envoy.run());
        runtime.spawn(Task { room: self, desk, shared, bench, counted_at: Timestamp::ZERO }.run());
        line
    }
}

struct Task {
    room: TurnRoom,
    desk: TurnDesk,
    shared: Arc<Shared>,
    bench: Arc<Desk>,
    counted_at: Timestamp,
}

impl Task {
    async fn run(mut self) {
        loop {
            let now = self.shared.clock.now();
            let nap = self.desk.next_time().map_or(NAP_MAX, |at| at.since(now).min(NAP_MAX));
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
            self.desk.tick(now);
            self.speak(now);
            if now.since(self.counted_at) >= COUNT_EVERY {
                self.counted_at = now;
                self.shared.gauges.turns_lent.store(self.desk.lent() as u64, Relaxed);
            }
        }
    }

    /// Addresses rest as the latest settings say.
    fn keep_up(&mut self) {
        self.desk.set_ip_delay(self.shared.live.latest().settings.politeness.ip_delay);
    }

    fn hear(&mut self, word: TurnWord) {
        let now = self.shared.clock.now();
        match word {
            TurnWord::Notes(notes) => {
                for note in notes {
                    self.desk.note(note, now);
                }
            }
            TurnWord::Uses { epoch, held } => {
                if epoch == self.desk.epoch() {
                    self.desk.uses(held, now);
                }
            }
            TurnWord::View(view) => self.begin(view),
            TurnWord::Clear { epoch } => {
                if epoch == self.desk.epoch() {
                    self.desk.clear(now);
                }
            }
            TurnWord::Batch { from, epoch, batch, answer } => {
                let same = epoch == self.desk.epoch();
                if same {
                    self.desk.hear(from, batch, now);
                }
                let _ = answer.send(if same { Verdict::Done } else { Verdict::OtherEpoch });
            }
            TurnWord::Guest(guest) => {
                // Without room the answer is dropped, and that is one.
                let _ = self.bench.crossing.guests.push(guest);
                self.bench.ring();
            }
            TurnWord::Sent { to, number, fate } => self.desk.sent(to, number, fate),
        }
    }

    fn begin(&mut self, view: Arc<View>) {
        let epoch = view.epoch;
        match Owners::new(self.shared.settings.cluster.strategy, view) {
            Ok(owners) if epoch > self.desk.epoch() => {
                self.desk.begin(Arc::new(owners));
                self.bench.turns.push(TurnEvent::Epoch(epoch));
                self.bench.ring();
            }
            // Custody has checked it.
            _ => tracing::error!(epoch, "a view that cannot be came; turns stay as they were"),
        }
    }

    fn speak(&mut self, now: Timestamp) {
        let news = self.desk.take_news();
        if !news.is_empty() {
            for news in news {
                self.bench.turns.push(TurnEvent::News(news));
            }
            self.bench.ring();
        }
        let epoch = self.desk.epoch();
        for (to, batch) in self.desk.take_batches(now) {
            let number = batch.number;
            let (outgoing, door) = (self.room.outgoing.clone(), self.room.door.clone());
            let line = self.room.line.clone();
            tokio::spawn(async move {
                let brought = outgoing.turns(to, epoch, batch).await;
                let fate = match brought {
                    Ok(Brought::Taken) => Fate::Taken,
                    Ok(Brought::Refused(view)) => {
                        if let Some(view) = view {
                            door.bring(Arrival::View(view)).await;
                        }
                        Fate::Refused
                    }
                    Err(_) => Fate::Unknown,
                };
                if fate != Fate::Taken {
                    tokio::time::sleep(NAP_MAX).await;
                }
                line.say(TurnWord::Sent { to, number, fate });
            });
        }
    }
}
