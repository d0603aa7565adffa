//! Construction of a crawl: creates, connects and starts its threads and queues.

use crate::app::cluster_session::ClusterSession;
use crate::app::crawl::Crawl;
use crate::app::error::AgentError;
use crate::cluster::Replication;
use crate::crawldb::{CrawlDb, META_ARCHIVE};
use crate::engines::fetchers::{FetchSink, Fetchers};
use crate::engines::ip_leases::LeaseTask;
use crate::engines::parsers::ParserThread;
use crate::engines::scheduler::Scheduler;
use crate::engines::seeding::SeedIntake;
use crate::engines::writer::{Stores, Writer};
use crate::fetch::{Dns, FetchContext};
use crate::limits::{WRITER_QUEUE, results_max, visits_max};
use crate::messages::SchedulerQueues;
use crate::observe::metrics::{AgentMetrics, Sources};
use crate::observe::trace_export;
use crate::process::ResponseProcessor;
use crate::process::RulesInForce;
use crate::process::duplicates::Duplicates;
use crate::process::links::LinkRules;
use crate::report::SeedCounts;
use crate::shared::Shared;
use crate::shared::panic_guard::spawn;
use crate::storage::crawl_dir::CrawlDir;
use crate::storage::{Batch, Database, DiskError, Family};
use crate::workbench::Workbench;
use arc_swap::ArcSwap;
use crivello_archive::{ArchivePosition, ArchiveWriter, CrawlLabel};
use crivello_common::config::Settings;
use crivello_common::metrics::{Timer, WORK_BUCKETS};
use crivello_common::runtime::open_files;
use crivello_common::time::Clock;
use crossbeam::channel::bounded;
use parking_lot::Mutex;
use std::sync::{Arc, OnceLock};
use tokio::runtime::Runtime;

/// The parts of which a crawl is made.
pub struct Build {
    pub settings: Settings,
    pub clock: Clock,
    pub home: CrawlDir,
    pub disk: Arc<Database>,
    pub runtime: Runtime,
}

impl Build {
    /// Starts the crawl, as a member of a cluster or alone.
    pub fn crawl(
        self,
        seeds: SeedCounts,
        session: Option<ClusterSession>,
        lease_task: Option<LeaseTask>,
        replication: impl FnOnce(Shared, &Database) -> Result<Replication, DiskError>,
    ) -> Result<Crawl, AgentError> {
        let Self { settings, clock, home, disk, runtime } = self;
        let rules: RulesInForce = Arc::new(ArcSwap::from_pointee(LinkRules::compile(
            &settings.live,
            settings.fixed.identity.assign_by,
        )?));
        let look_ups = Timer::new(clock, WORK_BUCKETS);
        let crawldb = CrawlDb::open(disk.clone(), &settings)?.timed(look_ups.clone());
        let crawldb = session.iter().fold(crawldb, |crawldb, session| crawldb.sharing(session.id));
        let archive = open_archive(&home, &disk, &settings)?;
        home.take_over(&disk, &settings)?;
        let settings = within_open_files(settings);
        let shared = shared(&settings, clock, &crawldb, &home, session.is_some());
        let visits = shared.settings.fetch.visits_max as usize;
        let queues =
            Arc::new(SchedulerQueues::new(visits, 2 * shared.settings.dns.queries_max as usize));
        let duplicates = Arc::new(Duplicates::new(disk.clone()));
        let (to_writer, inbox) = bounded(WRITER_QUEUE);
        let (to_parsers, results) = bounded(results_max(visits));
        let sink = FetchSink::new(&shared, queues.clone(), to_parsers);
        let (context, dns) = outside(&settings, &shared, sink)?;
        let reached = (context.clone(), dns.clone());
        let meter = meter(&home, &shared, &queues, &disk, reached, look_ups);

        let workbench = Workbench::new(&settings, clock.now(), home.is_unclean());
        let lease_sender =
            lease_task.map(|task| task.open(&runtime, shared.clone(), queues.clone()));
        let scheduler =
            Scheduler::new(shared.clone(), queues.clone(), workbench, to_writer.clone());
        let scheduler = lease_sender.into_iter().fold(scheduler, Scheduler::sharing);
        let stores = Stores {
            disk: disk.clone(),
            crawldb,
            archive,
            dir: home.dir.clone(),
            duplicates: duplicates.clone(),
        };
        let replication = replication(shared.clone(), &disk)?;
        let writer = Writer::new(shared.clone(), queues.clone(), inbox, stores, replication);
        let mut threads = vec![
            spawn(&shared.lifecycle, "writer", move || writer.run())?,
            spawn(&shared.lifecycle, "scheduler", move || scheduler.run())?,
        ];
        let parser = || {
            let (fixed, rules, duplicates) =
                (shared.settings.clone(), rules.clone(), duplicates.clone());
            let processor = ResponseProcessor::new(fixed, &settings.live, rules, duplicates);
            ParserThread::new(shared.clone(), results.clone(), to_writer.clone(), processor)
        };
        for n in 0..parser_threads(&settings) {
            let parser = parser();
            threads.push(spawn(&shared.lifecycle, &format!("parser-{n}"), move || parser.run())?);
        }
        runtime.spawn(trace_export::collect(shared.clone()));
        let fetchers = Fetchers {
            clock,
            lifecycle: shared.lifecycle.clone(),
            fetch_deadline: shared.fetch_deadline.clone(),
            tracer: shared.tracer.clone(),
            queues: queues.clone(),
            context,
            dns,
        };
        runtime.spawn(fetchers.run());
        Ok(Crawl {
            home,
            disk,
            seeds: SeedIntake::new(&shared, rules.clone(), to_writer, seeds),
            rules,
            queues,
            shared,
            threads: Mutex::new(threads),
            runtime: Mutex::new(Some(runtime)),
            meter,
            exporter: OnceLock::new(),
            session,
        })
    }
}

/// Creates the meter, with the sources of its numbers.
fn meter(
    home: &CrawlDir,
    shared: &Shared,
    queues: &Arc<SchedulerQueues>,
    disk: &Arc<Database>,
    (context, dns): (Arc<FetchContext>, Arc<Dns>),
    look_ups: Timer,
) -> AgentMetrics {
    AgentMetrics::new(Sources {
        crawl_id: home.identity.crawl_id.clone(),
        dir: home.dir.clone(),
        shared: shared.clone(),
        queues: queues.clone(),
        disk: disk.clone(),
        context,
        dns,
        look_ups,
    })
}

/// Creates the HTTP client and the resolver.
fn outside(
    settings: &Settings,
    shared: &Shared,
    sink: FetchSink,
) -> Result<(Arc<FetchContext>, Arc<Dns>), AgentError> {
    let (clock, live) = (shared.clock, &shared.live);
    let context = FetchContext::new(settings, clock, Arc::new(sink))?
        .with_live_settings(live.block_and_pause_list.clone(), live.min_host_delay.clone());
    let dns = Dns::new(settings).timed(clock).with_live_settings(live.block_and_pause_list.clone());
    Ok((Arc::new(context), Arc::new(dns)))
}

fn shared(
    settings: &Settings,
    clock: Clock,
    crawldb: &CrawlDb,
    home: &CrawlDir,
    among_others: bool,
) -> Shared {
    let (crawl_id, totals) = (&home.identity.crawl_id, crawldb.totals().clone());
    let shared = Shared::new(settings, clock, crawl_id, totals, home.closed_at);
    if among_others && settings.live.limits.pages_max.is_some() {
        shared.page_budget.wait();
    }
    shared
}

fn open_archive(
    home: &CrawlDir,
    disk: &Database,
    settings: &Settings,
) -> Result<ArchiveWriter, AgentError> {
    let position = match disk.get(Family::Meta, META_ARCHIVE)? {
        Some(bytes) => Some(ArchivePosition::from_bytes(&bytes)?),
        None => None,
    };
    let id = home.identity.crawl_id.get(..8).and_then(|hex| u32::from_str_radix(hex, 16).ok());
    let label = CrawlLabel {
        id: id.unwrap_or_default(),
        contact: settings.fixed.identity.contact.clone(),
        settings_toml: settings.to_toml(),
    };
    let dir = home.dir.join("warc");
    let mut archive = ArchiveWriter::open(&dir, position.as_ref(), &settings.fixed.store, label)?;
    if position.is_none() {
        // From now on, archive files without a position in the state are an inconsistency.
        let mut batch = Batch::default();
        disk.put(&mut batch, Family::Meta, META_ARCHIVE, &archive.sync()?.to_bytes());
        disk.commit(&batch)?;
        disk.sync()?;
    }
    Ok(archive)
}

/// Creates the tokio runtime of the fetchers and of all other tasks.
pub fn fetcher_runtime() -> std::io::Result<Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(cores())
        .thread_name("fetcher")
        .enable_all()
        .build()
}

/// Lowers `fetch.visits-max` if the system does not let this process open enough files.
fn within_open_files(mut settings: Settings) -> Settings {
    let files = open_files();
    let wanted = settings.fixed.fetch.visits_max;
    let most = visits_max(&settings, files);
    if u64::from(wanted) > most {
        settings.fixed.fetch.visits_max = u32::try_from(most).unwrap_or(wanted);
        tracing::warn!(
            "fetch.visits-max is {most} in this run, not {wanted}: this process may open only \
             {files} files (see `ulimit -n`)"
        );
    }
    settings
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

fn parser_threads(settings: &Settings) -> usize {
    match settings.fixed.state.parser_threads {
        0 => cores(),
        n => n as usize,
    }
}
