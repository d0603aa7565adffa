//! The API of a running member of a cluster: status, explanations, traces, seeds.

use crate::api::{
    AgentApi, HostArcsApi, HostsQuery, IndexApi, QueryError, QueryFuture, SeedAnswer, SeedBatch,
    Subject, TailSource,
};
use crate::cluster::{ClusterStatus, InboundMsg};
use crate::crawldb;
use crate::messages::{
    ArchivedPages, BlockCount, ChangeSignal, HostRequest, LinkKind, SignalSource,
};
use crate::observe::explain::Explainer;
use crate::observe::running_agent::RunningAgent;
use crate::shared::snapshot::snapshot;
use crate::storage::ranks::RankStore;
use crate::url_tracing::{Span, TraceId};
use crivello_common::assignment::Owners;
use crivello_common::discard::DiscardTally;
use crivello_common::view::{AgentId, LostArchive, View};
use crivello_proto::{cluster_view, v1};
use futures_util::FutureExt;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};
use tokio::sync::oneshot;

/// Implementation of [`AgentApi`] for the agent of this process.
#[derive(Default)]
pub struct ControlHandler {
    pub status: Arc<ClusterStatus>,
    explainer: OnceLock<Arc<Explainer>>,
    /// True while a count of all rows runs; only one runs at a time.
    counts: Arc<AtomicBool>,
}

impl ControlHandler {
    /// Attaches the agent once it has joined.
    pub fn attach(&self, agent: RunningAgent) {
        let _ = self.explainer.set(Arc::new(Explainer::new(agent)));
    }

    fn agent(&self) -> Option<&RunningAgent> {
        self.explainer.get().map(|explainer| &explainer.agent)
    }

    /// Returns the explainer, and the view in force.
    fn explainer(&self) -> Result<(Arc<Explainer>, Option<Arc<View>>), QueryError> {
        let explainer = self.explainer.get().ok_or(QueryError::NotNow)?;
        Ok((explainer.clone(), self.status.state().view))
    }
}

impl AgentApi for ControlHandler {
    fn status(&self) -> v1::StatusResponse {
        let Some(here) = self.agent() else { return v1::StatusResponse::default() };
        let state = self.status.state();
        let (view, shared) = (state.view.as_deref(), &here.shared);
        let me = view.and_then(|view| view.agent(here.id));
        let ranks = shared.ranks.in_force().get();
        v1::StatusResponse {
            id: here.id.0,
            name: here.name.clone(),
            crawl_id: here.crawl_id.clone(),
            process: here.process,
            epoch: view.map_or(0, |view| view.epoch),
            run: v1::RunState::from(view.map(|view| view.run).unwrap_or_default()).into(),
            state: v1::AgentState::from(me.map(|me| me.state).unwrap_or_default()).into(),
            idle: state.idle,
            work: self.status.work(),
            fence_open: shared.fetch_deadline.is_open(shared.clock.now()),
            outbox: state.outbox,
            handoffs: state.handoffs,
            replication: shared.settings.cluster.replication,
            settings_revision: shared.live.in_force(),
            progress: Some(snapshot(shared)),
            host_ranks: ranks.as_ref().map(|ranks| ranks.digest().to_owned()).unwrap_or_default(),
            hosts_ranked: ranks.map_or(0, |ranks| ranks.n_hosts() as u64),
        }
    }

    fn details(&self) -> Option<v1::DetailsResponse> {
        self.agent()?.meter.details()
    }

    fn blocks(&self) -> Vec<BlockCount> {
        let here = self.agent();
        here.map(|here| here.shared.live.blocks.lock().clone()).unwrap_or_default()
    }

    fn archived(&self, lost: LostArchive, answer: oneshot::Sender<Option<ArchivedPages>>) {
        let Some(here) = self.agent() else { return };
        let Some(view) = self.status.state().view else { return };
        let (me, strategy) = (here.id, here.shared.settings.cluster.strategy);
        let disk = here.disk.clone();
        let count = move |wanted: &dyn Fn() -> bool| {
            let owners = Owners::new(strategy, view).ok()?;
            crawldb::archived(&disk, lost, |group| owners.owner(group) == Some(me), wanted).ok()
        };
        if self.counts.swap(true, Relaxed) {
            return;
        }
        // The count may take minutes, so it has its own thread.
        let counts = self.counts.clone();
        let counting = std::thread::Builder::new().name("archived".to_owned());
        let counted = counting.spawn(move || {
            let counted = count(&|| !answer.is_closed());
            let _ = answer.send(counted);
            counts.store(false, Relaxed);
        });
        if counted.is_err() {
            self.counts.store(false, Relaxed);
        }
    }

    fn explain(
        &self,
        subject: Subject,
        archive_file: Option<u32>,
    ) -> QueryFuture<v1::ExplainResponse> {
        let explainer = self.explainer();
        async move {
            let (explainer, view) = explainer?;
            explainer.explain(view, subject, archive_file).await
        }
        .boxed()
    }

    fn hosts(&self, wanted: HostsQuery) -> QueryFuture<v1::HostsResponse> {
        let explainer = self.explainer();
        async move {
            let (explainer, view) = explainer?;
            explainer.hosts(view, wanted).await
        }
        .boxed()
    }

    fn fetches(&self, most: usize, failed_only: bool) -> Vec<v1::FetchSummary> {
        let explainer = self.explainer.get();
        explainer.map_or_else(Vec::new, |explainer| explainer.fetches(most, failed_only))
    }

    fn archive(&self) -> Option<TailSource> {
        let here = self.agent()?;
        let end = here.shared.archive_end.subscribe();
        let is_open = end.borrow().is_some();
        is_open.then(|| TailSource { dir: here.archive.clone(), end })
    }

    fn ranks(&self) -> Option<RankStore> {
        self.agent().map(|here| here.shared.ranks.clone())
    }

    fn host_arcs(&self) -> Option<Arc<dyn HostArcsApi>> {
        self.agent()?.host_arcs.clone()
    }

    fn index(&self) -> Option<Arc<dyn IndexApi>> {
        self.agent()?.index.clone()
    }

    fn traces(&self, trace_id: Option<u128>, limit: usize) -> Vec<v1::Span> {
        let Some(here) = self.agent() else { return Vec::new() };
        let spans = here.shared.tracer.recent(trace_id.map(TraceId), limit);
        spans.iter().map(|span| span_to_proto(span, here.id)).collect()
    }

    fn cluster_view(&self) -> QueryFuture<v1::ClusterView> {
        let (agent, view) = (self.agent(), self.status.state().view);
        let book = agent.map(|here| Arc::clone(&here.book)).unwrap_or_default();
        let path = agent.map(|here| here.view_file.clone());
        async move {
            let bytes = tokio::fs::read(path.ok_or(QueryError::NotNow)?).await;
            let known = bytes.ok().and_then(|bytes| cluster_view::decode(&bytes).ok());
            let mut known = known.ok_or(QueryError::NotNow)?;
            // The file may be written a moment later.
            if let Some(view) = view {
                known.view = book.message(view.epoch).or_else(|| Some(view.as_ref().into()));
            }
            Ok(known)
        }
        .boxed()
    }

    fn seed(&self, batch: SeedBatch, answer: oneshot::Sender<SeedAnswer>) {
        // If the sender is dropped, the answer is [`SeedAnswer::NotNow`].
        let Some(here) = self.agent() else { return };
        let SeedBatch { urls, fetch_again, hosts } = batch;
        let (mut found, mut refused, mut tally) = (Vec::new(), Vec::new(), DiscardTally::default());
        let (rules, mut signals) = (here.rules.load(), Vec::new());
        for (place, url) in urls.into_iter().enumerate() {
            match rules.admit(url, 0, LinkKind::Page) {
                Ok(known) if fetch_again => {
                    let source = SignalSource::Person;
                    signals.push(ChangeSignal { url: known.key(), source });
                }
                Ok(seed) => found.push(seed),
                Err(reason) => {
                    // Only seeds are discarded.
                    tally.add(reason, u64::from(!fetch_again));
                    refused.push((place, reason));
                }
            }
        }
        let at = here.shared.clock.now();
        let request =
            |name: String| HostRequest { host: rules.host_key(&name), name: name.into(), at };
        let host_requests = hosts.into_iter().map(request).collect();
        let tally = Box::new(tally);
        let seeds = InboundMsg::Seeds { found, signals, host_requests, tally, refused, answer };
        here.inbox.offer(seeds);
    }
}

fn span_to_proto(span: &Span, agent: AgentId) -> v1::Span {
    let attributes = span.attributes.iter();
    v1::Span {
        trace_id: span.trace.0.to_be_bytes().to_vec().into(),
        span_id: span.id.0,
        parent_id: span.parent.map_or(0, |id| id.0),
        name: span.stage.name().to_owned(),
        begin_ns: span.begin.0.saturating_mul(1_000),
        end_ns: span.end.0.saturating_mul(1_000),
        attributes: attributes
            .map(|(name, value)| ((*name).to_owned(), value.to_string()))
            .collect(),
        is_error: span.is_error,
        agent: agent.0,
    }
}
