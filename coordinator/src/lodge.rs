//! The one thread that owns the members and the journal: it hears one thing after the other.
//!
//! * *Comes in*: [`Ask`]s, through a queue with a bound.
//! * *Goes out*: an answer to each, and the views that were written down.
//! * *Goes wrong*: what cannot be written down has not happened, and whoever asked is told; those
//!   who are heard of stay members all the same.

use crate::allowance::{Allowance, Allowed, Told, living};
use crate::home::Home;
use crate::journal::{Crawl, Journal, Record};
use crate::members::{self, Effect, Event, Members, Refusal};
use crate::metrics::Counts;
use crate::patience::PatientClock;
use crate::settings::{Charter, Revised, Unchanged};
use crivello_common::config::{Edit, Settings};
use crivello_common::time::{Clock, Timestamp};
use crivello_common::view::{AgentId, AgentState, RunState, View};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::Duration;
use tokio::sync::{oneshot, watch};

/// What may wait to be heard: a request of every agent, and some of people.
const ASKS_MAX: usize = 2_048;
/// Looks at the clock in a lease, and at most this part of it passes unheard.
const LOOKS_A_LEASE: u32 = 10;

/// What is asked of the members.
#[derive(Debug)]
pub(crate) enum Request {
    /// That this happen.
    Event(Event),
    /// That a heartbeat be heard, with what it says of pages.
    Beat(Event, Option<(AgentId, Told)>),
    /// An agent ends, for now or for good, with what it fetched in all.
    Leave(Event, Option<(AgentId, Told)>),
    /// That the agent of this name or id be drained.
    Drain(String),
    /// That the agent of this name or id be forgotten, and what only it fetched be fetched again.
    Remove(String, bool),
    /// How everyone is; changes nothing.
    List,
}

#[derive(Debug)]
enum Ask {
    Request(Request, oneshot::Sender<Result<Granted, Denied>>),
    /// That settings be changed, if this revision is in force.
    Edit(Vec<(String, Edit)>, u64, oneshot::Sender<Result<Changed, Denied>>),
    End,
}

/// What came of a request.
#[derive(Clone, Debug)]
pub(crate) struct Granted {
    /// The view in force.
    pub(crate) view: Arc<View>,
    /// The lease that was given, and to whom.
    pub(crate) lease: Option<(AgentId, Duration)>,
    /// All leases: whose, what is left, the epoch its holder goes by. Only for a list.
    pub(crate) leases: Vec<(AgentId, Duration, u64)>,
    /// What the agent may fetch. Only for a heartbeat, in a crawl with a limit of pages.
    pub(crate) pages: Option<Allowed>,
}

/// What came of edits.
#[derive(Clone, Debug)]
pub(crate) struct Changed {
    /// The settings in force.
    pub(crate) revised: Arc<Revised>,
    /// The keys of those changed that take effect only when the agents start again.
    pub(crate) at_restart: Vec<String>,
}

/// Why nothing came of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Denied {
    /// The members say no.
    #[error("{0}")]
    Refused(#[from] Refusal),
    /// The settings stay as they are.
    #[error("{0}")]
    Unchanged(#[from] Unchanged),
    /// It cannot be written down.
    #[error("nothing was changed, because the coordinator's journal cannot be written: {0}")]
    Unwritten(String),
    /// Too much to hear.
    #[error("the coordinator is busy: try again")]
    Busy,
    /// Nobody listens any more.
    #[error("the coordinator is ending")]
    Ending,
}

/// The way to the lodge.
#[derive(Clone, Debug)]
pub(crate) struct Lodge {
    asks: SyncSender<Ask>,
    /// The view in force; ends when the lodge does.
    pub(crate) views: watch::Receiver<Arc<View>>,
    /// What it has done.
    pub(crate) counts: Arc<Counts>,
    /// The settings in force; the same.
    pub(crate) settings: watch::Receiver<Arc<Revised>>,
}

impl Lodge {
    /// Goes on with what `home` holds, on a thread of its own.
    ///
    /// # Errors
    /// When the system has no thread.
    pub(crate) fn open(home: Home, settings: &Settings, clock: Clock) -> std::io::Result<Self> {
        let (lease, now) = (settings.cluster.lease, clock.now());
        let Record { crawl, next_id, view, allowed, drains, lone } = home.record;
        let allowance = settings.limits.pages_max.map(|limit| {
            let unknown = living(&view).into_iter().filter(|id| !allowed.contains_key(id));
            Allowance::new(limit, allowed.clone()).awaiting(unknown.collect())
        });
        let rules = members::Settings { lease, replication: settings.cluster.replication as usize };
        let in_force = home.charter.watch();
        let (views, watched) = watch::channel(Arc::new(view.clone()));
        let (asks, asked) = sync_channel(ASKS_MAX);
        let slice = (lease / LOOKS_A_LEASE).max(Duration::from_millis(1));
        let counts = Arc::<Counts>::default();
        counts.set_limit(settings.limits.pages_max);
        let porter = Porter {
            counts: Arc::clone(&counts),
            journal: home.journal,
            crawl,
            members: Members::restore(rules, view, (drains, lone), next_id, now),
            allowance,
            charter: home.charter,
            views,
            clock,
            time: PatientClock::new(now, 2 * slice),
            slice,
            unwritten: false,
        };
        std::thread::Builder::new()
            .name("members".to_owned())
            .spawn(move || porter.listen(&asked))?;
        Ok(Self { asks, views: watched, counts, settings: in_force })
    }

    /// Asks, and waits for the answer.
    pub(crate) async fn ask(&self, request: Request) -> Result<Granted, Denied> {
        let counts = &self.counts;
        counts.requests.fetch_add(1, Relaxed);
        counts.heartbeats.fetch_add(matches!(request, Request::Beat(..)).into(), Relaxed);
        let heard = self.put(|answer| Ask::Request(request, answer)).await;
        match &heard {
            Err(Denied::Refused(_)) => counts.refusals.fetch_add(1, Relaxed),
            Err(Denied::Busy) => counts.turned_away.fetch_add(1, Relaxed),
            _ => 0,
        };
        heard
    }

    /// Asks that settings be changed; `known` is the revision that must be in force, if it is not 0.
    pub(crate) async fn edit(
        &self,
        edits: Vec<(String, Edit)>,
        known: u64,
    ) -> Result<Changed, Denied> {
        self.put(|answer| Ask::Edit(edits, known, answer)).await
    }

    async fn put<T>(
        &self,
        ask: impl FnOnce(oneshot::Sender<Result<T, Denied>>) -> Ask,
    ) -> Result<T, Denied> {
        let (answer, answered) = oneshot::channel();
        match self.asks.try_send(ask(answer)) {
            Ok(()) => answered.await.unwrap_or(Err(Denied::Ending)),
            Err(TrySendError::Full(_)) => Err(Denied::Busy),
            Err(TrySendError::Disconnected(_)) => Err(Denied::Ending),
        }
    }

    /// Ends the lodge; all who watch it learn it. May wait for the queue.
    pub(crate) fn end(&self) {
        // One that has ended need not be told.
        let _ = self.asks.send(Ask::End);
    }
}

struct Porter {
    counts: Arc<Counts>,
    journal: Journal,
    crawl: Crawl,
    members: Members,
    allowance: Option<Allowance>,
    charter: Charter,
    views: watch::Sender<Arc<View>>,
    clock: Clock,
    time: PatientClock,
    slice: Duration,
    /// Whether the journal could not be written lately.
    unwritten: bool,
}

impl Porter {
    fn listen(mut self, asked: &Receiver<Ask>) {
        loop {
            let heard = asked.recv_timeout(self.pause());
            let now = self.time.look(self.clock.now());
            match heard {
                Ok(Ask::Request(request, answer)) => {
                    // Whoever asked may have gone.
                    let _ = answer.send(self.answer(request, now));
                }
                Ok(Ask::Edit(edits, known, answer)) => {
                    let _ = answer.send(self.edit(&edits, known));
                }
                Err(RecvTimeoutError::Timeout) => {
                    // What cannot be written down now is tried again at the next look.
                    let _ = self.happen(&Event::Tick, now);
                }
                Ok(Ask::End) | Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Until the next look at the clock: no longer than a slice, so that an absence is noticed.
    fn pause(&mut self) -> Duration {
        let now = self.time.look(self.clock.now());
        match self.members.next_expiry() {
            Some(at) if !self.unwritten => at.since(now).min(self.slice),
            _ => self.slice,
        }
    }

    fn answer(&mut self, request: Request, now: Timestamp) -> Result<Granted, Denied> {
        match request {
            Request::Event(event) => self.happen(&event, now),
            Request::Beat(event, told) | Request::Leave(event, told) => {
                let mut granted = self.happen(&event, now)?;
                granted.pages = told.and_then(|(id, told)| self.deal(id, told));
                Ok(granted)
            }
            Request::Drain(agent) => self.happen(&Event::Drain { id: self.find(&agent)? }, now),
            Request::Remove(agent, refetch) => {
                let id = self.find(&agent)?;
                // Before: what is written down with the view is then without it.
                let before = self.allowance.clone();
                if let Some(allowance) = self.allowance.as_mut().filter(|_| refetch) {
                    allowance.forget(id);
                }
                let forgotten = self.happen(&Event::Forget { id, refetch }, now);
                if forgotten.is_err() {
                    self.allowance = before;
                }
                forgotten
            }
            Request::List => {
                let mut listed = self.granted(None, now);
                let of = |id| self.members.lease(id, now).map(|(left, epoch)| (id, left, epoch));
                listed.leases = listed.view.agents.iter().filter_map(|a| of(a.id)).collect();
                Ok(listed)
            }
        }
    }

    fn find(&self, agent: &str) -> Result<AgentId, Refusal> {
        self.members.find(agent).ok_or(Refusal::Unknown)
    }

    /// One step: decided on a copy, written down, then put in force.
    fn happen(&mut self, event: &Event, now: Timestamp) -> Result<Granted, Denied> {
        let mut next = self.members.clone();
        let step = next.step(event, now);
        let is_new = next.view().epoch != self.members.view().epoch;
        if (is_new || next.lone() != self.members.lone())
            && let Err(error) = self.write(&next)
        {
            return self.hear_at_least(event, &error, now);
        }
        if is_new {
            tell(self.members.view(), next.view());
            self.views.send_replace(Arc::new(next.view().clone()));
        }
        self.members = next;
        match step.refusal {
            Some(refusal) => Err(refusal.into()),
            None => Ok(self.granted(step.effects.last(), now)),
        }
    }

    /// Settings are changed: written down, taken up here, then told.
    fn edit(&mut self, edits: &[(String, Edit)], known: u64) -> Result<Changed, Denied> {
        let edited = self.charter.edit(edits, known)?;
        let limit = edited.settings.limits.pages_max;
        let living = || living(self.members.view());
        self.counts.set_limit(limit);
        self.allowance = match (self.allowance.take(), limit) {
            (Some(allowance), Some(limit)) => Some(allowance.limited_to(limit)),
            // What was fetched while there was no limit counts, so all must be heard of.
            (None, Some(limit)) => Some(Allowance::new(limit, BTreeMap::new()).awaiting(living())),
            (_, None) => None,
        };
        // Should that fail, it is said aloud, and written with whatever comes next.
        let _ = self.write(&self.members.clone());
        for key in &edited.changed {
            tracing::info!("{key} is {} now", edited.settings.value(key).unwrap_or_default());
        }
        Ok(Changed { revised: self.charter.publish(), at_restart: edited.at_restart })
    }

    /// Pages for an agent: decided on a copy, written down, then told.
    fn deal(&mut self, id: AgentId, told: Told) -> Option<Allowed> {
        let mut next = self.allowance.clone()?;
        let allowed = next.hear(id, told, &living(self.members.view()));
        let before = std::mem::replace(self.allowance.as_mut()?, next);
        if self.allowance.as_ref()?.dealt() != before.dealt() {
            let members = self.members.clone();
            if self.write(&members).is_err() {
                self.allowance = Some(before);
                return None;
            }
        }
        Some(allowed)
    }

    fn write(&mut self, members: &Members) -> std::io::Result<()> {
        let (crawl, view, next_id) =
            (self.crawl.clone(), members.view().clone(), members.next_id());
        let allowed = self.allowance.as_ref().map(|all| all.dealt().clone()).unwrap_or_default();
        let (drains, lone) = (members.drains().clone(), members.lone().clone());
        let (dealt, begun) = (allowed.values().sum(), self.clock.now());
        let written = self.journal.append(&Record { crawl, next_id, view, allowed, drains, lone });
        match &written {
            Ok(()) => {
                self.counts.writes.observe(self.clock.now().since(begun));
                self.counts.dealt.store(dealt, Relaxed);
            }
            Err(_) => drop(self.counts.write_errors.fetch_add(1, Relaxed)),
        }
        match &written {
            Err(error) if !self.unwritten => {
                tracing::error!("the journal cannot be written, so nothing changes: {error}");
            }
            Ok(()) if self.unwritten => tracing::info!("the journal can be written again"),
            _ => {}
        }
        self.unwritten = written.is_err();
        written
    }

    fn hear_at_least(
        &mut self,
        event: &Event,
        error: &std::io::Error,
        now: Timestamp,
    ) -> Result<Granted, Denied> {
        match *event {
            Event::Heartbeat { id, process, epoch, settled } => {
                let lease = self.members.hear(id, process, (epoch, settled), now)?;
                Ok(self.granted(lease.as_ref(), now))
            }
            _ => Err(Denied::Unwritten(error.to_string())),
        }
    }

    fn granted(&self, effect: Option<&Effect>, now: Timestamp) -> Granted {
        let lease = match effect {
            Some(Effect::Lease { id, until, .. }) => Some((*id, until.since(now))),
            _ => None,
        };
        Granted { view: Arc::clone(&self.views.borrow()), lease, leases: Vec::new(), pages: None }
    }
}

/// Says in the log what is new in a view.
fn tell(before: &View, after: &View) {
    if before.run != after.run {
        let run = match after.run {
            RunState::Running => "goes on",
            RunState::Paused => "is paused",
            RunState::Stopping => "is stopping",
        };
        tracing::info!("the crawl {run}");
    }
    for agent in &after.agents {
        let was = before.agent(agent.id).map(|agent| agent.state);
        if was == Some(agent.state) {
            continue;
        }
        let (name, id) = (&agent.name, agent.id);
        match agent.state {
            AgentState::Active => tracing::info!("agent {name} ({id}) joined"),
            AgentState::Draining => tracing::info!("agent {name} ({id}) is draining"),
            AgentState::Dead => tracing::warn!("agent {name} ({id}) is dead: its lease ran out"),
        }
    }
    for agent in before.agents.iter().filter(|agent| after.agent(agent.id).is_none()) {
        tracing::info!("agent {} ({}) is no member any more", agent.name, agent.id);
    }
}
