//! Construction of a crawl: creates, connects and starts its threads and queues.

use crate::app::crawl::Crawl;
use crate::app::crawl_state::CrawlState;
use crate::app::error::AgentError;
use crate::cluster::{ClusterSession, Outbox, Replication};
use crate::engines::fetchers::{FetchSink, Fetchers, within_open_files};
use crate::engines::ip_leases::{LeaseParts, LeaseQueue};
use crate::engines::near_merger::start_near_merger;
use crate::engines::own_payloads::start_payload_sets;
use crate::engines::parsers::ParserThread;
use crate::engines::peer_payloads::{
    PayloadPeers, PayloadQuestions, PeerPayloadsReader, QUESTIONS_QUEUE,
};
use crate::engines::scheduler::Scheduler;
use crate::engines::seeding::SeedIntake;
use crate::engines::writer::{KeptArchive, Stores, Writer};
use crate::fetch::{DnsResolver, FetchContext};
use crate::limits::{WRITER_QUEUE, results_max};
use crate::messages::SchedulerQueues;
use crate::observe::index::start_index;
use crate::observe::metrics::{AgentMetrics, Sources};
use crate::observe::trace_export;
use crate::observe::upload::start_upload;
use crate::observe::webhook::start_webhook;
use crate::process::duplicates::Duplicates;
use crate::process::known::KnownPayloads;
use crate::process::links::LinkRules;
use crate::process::near::NearIndex;
use crate::process::payloads::{OwnPayloads, PeerPayloads};
use crate::process::{EarlierPages, ResponseProcessor, RulesInForce};
use crate::report::SeedCounts;
use crate::shared::Shared;
use crate::shared::lifecycle::Lifecycle;
use crate::shared::panic_guard::spawn;
use crate::workbench::Workbench;
use arc_swap::ArcSwap;
use crivello_common::config::Settings;
use crivello_common::metrics::{Timer, WORK_BUCKETS};
use crivello_common::time::Clock;
use crivello_common::uploads::TableMaker;
use crivello_common::view::AgentId;
use crivello_webhook::WebhookSender;
use crossbeam::channel::bounded;
use parking_lot::Mutex;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use tokio::runtime::Runtime;
use tokio::sync::mpsc::channel;

/// The parts of which a crawl is made.
pub struct Build {
    pub settings: Settings,
    pub clock: Clock,
    pub state: CrawlState,
    pub archive: KeptArchive,
    /// Maker of the tables of archive files that are uploaded.
    pub tables: Option<TableMaker>,
}

impl Build {
    /// Starts the crawl, as a member of a cluster or alone. Its tasks run in `runtime`; the caller
    /// must then give that to it with [`Crawl::keep_runtime`]. With `payload_peers` pages may become revisits of other
    /// agents' captures, if the settings say so.
    pub fn crawl(
        self,
        runtime: &Runtime,
        seeds: SeedCounts,
        session: Option<ClusterSession>,
        lease_queue: Option<LeaseQueue>,
        payload_peers: Option<PayloadPeers>,
        replication: impl FnOnce(Shared, Outbox) -> Replication,
    ) -> Result<Crawl, AgentError> {
        let Self { settings, clock, state, archive, tables } = self;
        let CrawlState { home, disk, hasher, mut crawldb, outbox, ranks } = state;
        let rules = LinkRules::compile(&settings.live, &settings.fixed, hasher)?
            .ranked(ranks.in_force().clone());
        let rules: RulesInForce = Arc::new(ArcSwap::from_pointee(rules));
        let look_ups = Timer::new(clock, WORK_BUCKETS);
        // They may have changed since the state was opened.
        crawldb.reconfigure(&settings.live);
        let crawldb = crawldb.timed(look_ups.clone());
        let crawldb = session.iter().fold(crawldb, |crawldb, session| crawldb.sharing(session.id));
        home.record_settings(&disk, &settings)?;
        let settings = within_open_files(settings);
        let (crawl_id, totals) = (&home.identity.crawl_id, crawldb.totals().clone());
        let shared = Shared::new(&settings, clock, (crawl_id, hasher), totals, home.closed_at);
        let shared = Shared { ranks, ..shared };
        if session.is_some() && settings.live.limits.pages_max.is_some() {
            shared.page_budget.wait();
        }
        let visits = shared.settings.fetch.visits_max as usize;
        let queues =
            Arc::new(SchedulerQueues::new(visits, 2 * shared.settings.dns.queries_max as usize));
        let store = &settings.fixed.store;
        let known = KnownPayloads::open(&disk, &store.known, store.accept_sha1)?;
        let payload_peers = payload_peers.filter(|_| store.peer_revisits);
        let digests_memory = settings.fixed.state.digests_memory.0;
        let peers = payload_peers.as_ref().map(|_| Arc::new(PeerPayloads::new(digests_memory)));
        let duplicates = Duplicates::new(disk.clone()).with_known(known).with_peers(peers.clone());
        let duplicates = Arc::new(duplicates);
        let own_payloads = payload_peers.as_ref().map(|_| {
            let oldest_original = duplicates.oldest_original().clone();
            Arc::new(OwnPayloads::new(disk.clone(), oldest_original, digests_memory))
        });
        let n_tables = settings.fixed.state.near_tables;
        let near = Arc::new(NearIndex::open(disk.clone(), n_tables, home.dir.join("warc"))?);
        let (to_writer, inbox) = bounded(WRITER_QUEUE);
        let (to_parsers, results) = bounded(results_max(visits));
        let (ask, questions) = payload_peers.as_ref().map(|_| channel(QUESTIONS_QUEUE)).unzip();
        let questions = questions.zip(peers).zip(payload_peers.as_ref());
        let questions = questions.map(|((questions, peers), PayloadPeers { outgoing, .. })| {
            let (outgoing, shared) = (outgoing.clone(), shared.clone());
            PayloadQuestions { questions, outgoing, peers, shared, results: to_parsers.clone() }
        });
        let sink =
            FetchSink { shared: shared.clone(), queues: queues.clone(), results: to_parsers };
        let block_list = shared.live.block_and_pause_list.clone();
        let dns = Arc::new(DnsResolver::new(&settings, clock, block_list.clone()));
        let min_host_delay = shared.live.min_host_delay.clone();
        let context =
            FetchContext::new(&settings, clock, Arc::new(sink), block_list, min_host_delay)?
                .referring_from(duplicates.oldest_original().clone());
        let context = Arc::new(context);
        let agent = session.as_ref().map_or(AgentId(0), |session| session.id);
        let webhook = start_webhook(runtime.handle(), &home, agent, &shared)?;
        let index = start_index(&home, &shared)?;
        let readers = webhook.as_ref().map(WebhookSender::received).into_iter();
        let readers = readers.chain(index.as_ref().map(|index| index.indexed.clone())).collect();
        let uploader = start_upload(runtime.handle(), &home, agent, &shared, readers, tables)?;
        let meter = AgentMetrics::new(Sources {
            crawl_id: home.identity.crawl_id.clone(),
            dir: home.dir.clone(),
            shared: shared.clone(),
            queues: queues.clone(),
            disk: disk.clone(),
            context: context.clone(),
            dns: dns.clone(),
            look_ups,
        });

        let workbench = Workbench::new(&settings, hasher, clock.now(), home.is_unclean());
        let lease_parts = lease_queue.map(|queue| LeaseParts {
            queue,
            strategy: shared.settings.cluster.strategy,
            hasher,
            clock,
            live: shared.live.clone(),
            measured: shared.measured.clone(),
            workbench: queues.clone(),
        });
        let lease_sender = lease_parts.map(|task| task.start(runtime));
        let writer = to_writer.clone();
        let scheduler =
            Scheduler::new(shared.clone(), queues.clone(), workbench, writer, lease_sender);
        let stores = Stores {
            disk: disk.clone(),
            crawldb,
            archive,
            dir: home.dir.clone(),
            duplicates: duplicates.clone(),
            near: near.clone(),
            payloads: own_payloads.clone(),
            uploaded: uploader.iter().flat_map(|up| up.stored_before().to_vec()).collect(),
        };
        let replication = replication(shared.clone(), outbox);
        let writer = Writer::new(shared.clone(), queues.clone(), inbox, stores, replication);
        let n_parsers = match settings.fixed.state.parser_threads {
            0 => cores(),
            n => n as usize,
        };
        let parser = |_| {
            let (fixed, rules) = (shared.settings.clone(), rules.clone());
            let earlier = EarlierPages { duplicates: duplicates.clone(), near: near.clone() };
            let processor = ResponseProcessor::new(fixed, &settings.live, hasher, rules, earlier);
            ParserThread::new(shared.clone(), results.clone(), to_writer.clone(), processor)
                .asking(ask.clone())
        };
        let parsers = (0..n_parsers).map(parser).collect();
        let threads = start_threads(&shared.lifecycle, writer, scheduler, parsers);
        let mut threads = threads.inspect_err(|_| shared.lifecycle.abandon())?;
        let (index, indexer) = index.map(|index| (index.api, index.thread)).unzip();
        threads.extend(indexer);
        let merger = start_near_merger(&shared.lifecycle, near);
        threads.push(merger.inspect_err(|_| shared.lifecycle.abandon())?);
        if let Some(own) = &own_payloads {
            let thread = start_payload_sets(&shared, own.clone());
            threads.push(thread.inspect_err(|_| shared.lifecycle.abandon())?);
        }
        if let Some(((PayloadPeers { me, outgoing, views, own }, questions), payloads)) =
            payload_peers.zip(questions).zip(own_payloads)
        {
            let (peers, shared) = (questions.peers.clone(), shared.clone());
            runtime.spawn(PeerPayloadsReader { me, outgoing, views, peers, shared }.run());
            runtime.spawn(questions.run());
            // From now on other agents may refer to the captures of this one.
            let _ = own.set(payloads);
        }
        runtime.spawn(trace_export::collect(shared.lifecycle.clone(), shared.tracer.clone()));
        let fetchers = Fetchers { shared: shared.clone(), queues: queues.clone(), context, dns };
        runtime.spawn(fetchers.run());
        Ok(Crawl {
            home,
            disk,
            seeds: SeedIntake::new(
                shared.lifecycle.clone(),
                shared.pipeline.clone(),
                rules.clone(),
                to_writer,
                seeds,
            ),
            rules,
            queues,
            shared,
            threads: Mutex::new(threads),
            runtime: Mutex::default(),
            meter,
            exporter: OnceLock::new(),
            webhook: Mutex::new(webhook),
            uploader: Mutex::new(uploader),
            index,
            session,
        })
    }
}

/// Starts the threads of a crawl.
fn start_threads(
    lifecycle: &Arc<Lifecycle>,
    writer: Writer,
    scheduler: Scheduler,
    parsers: Vec<ParserThread>,
) -> std::io::Result<Vec<JoinHandle<()>>> {
    let mut threads = vec![
        spawn(lifecycle, "writer", move || writer.run())?,
        spawn(lifecycle, "scheduler", move || scheduler.run())?,
    ];
    for (n, parser) in parsers.into_iter().enumerate() {
        threads.push(spawn(lifecycle, &format!("parser-{n}"), move || parser.run())?);
    }
    Ok(threads)
}

/// Creates the tokio runtime of the fetchers and of all other tasks.
pub fn fetcher_runtime() -> std::io::Result<Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(cores())
        .thread_name("fetcher")
        .enable_all()
        .build()
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
