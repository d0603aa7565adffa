//! The threads of one crawl and the queues between them: made, connected, started.

use crate::app::join::Seat;
use crate::app::{AgentError, Crawl};
use crate::cluster::Replication;
use crate::crawldb::{CrawlDb, META_ARCHIVE};
use crate::duplicates::Duplicates;
use crate::engines::fetchers::{FetchSink, Fetchers};
use crate::engines::ip_leases::LeaseTask;
use crate::engines::parsers::ParserThread;
use crate::engines::scheduler::Scheduler;
use crate::engines::seeding::SeedIntake;
use crate::engines::writer::{Stores, Writer};
use crate::fetch::{Dns, FetchContext};
use crate::limits::{LEDGER_QUEUE, results_max, visits_max};
use crate::links::LinkRules;
use crate::messages::SchedulerQueues;
use crate::observe::metrics::{Meter, Sources};
use crate::observe::trace_export;
use crate::report::SeedCounts;
use crate::shared::Shared;
use crate::shared::live_settings::RulesInForce;
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

/// What a crawl is made of.
pub struct Build {
    pub settings: Settings,
    pub clock: Clock,
    pub home: CrawlDir,
    pub disk: Arc<Database>,
    pub runtime: Runtime,
}

impl Build {
    /// Starts the crawl, at its `seat` in a cluster or alone.
    pub fn crawl(
        self,
        seeds: SeedCounts,
        seat: Option<Seat>,
        turns: Option<LeaseTask>,
        replication: impl FnOnce(Shared, &Database) -> Result<Replication, DiskError>,
    ) -> Result<Crawl, AgentError> {
        let Self { settings, clock, home, disk, runtime } = self;
        let rules: RulesInForce = Arc::new(ArcSwap::from_pointee(LinkRules::compile(&settings)?));
        let look_ups = Timer::new(clock, WORK_BUCKETS);
        let crawldb = CrawlDb::open(disk.clone(), &settings)?.timed(look_ups.clone());
        let crawldb = seat.iter().fold(crawldb, |crawldb, seat| crawldb.sharing(seat.id));
        let archive = open_archive(&home, &disk, &settings)?;
        home.take_over(&disk, &settings)?;
        let settings = within_open_files(settings);
        let shared = shared(settings, clock, &crawldb, &home, seat.is_some());
        let visits = shared.settings.fetch.visits_max as usize;
        let desk =
            Arc::new(SchedulerQueues::new(visits, 2 * shared.settings.dns.queries_max as usize));
        let duplicates = Arc::new(Duplicates::new(disk.clone()));
        let (to_ledger, inbox) = bounded(LEDGER_QUEUE);
        let (to_parsers, results) = bounded(results_max(visits));
        let sink = FetchSink::new(&shared, desk.clone(), to_parsers);
        let (context, dns) = outside(&shared, sink)?;
        let reached = (context.clone(), dns.clone());
        let meter = meter(&home, &shared, &desk, &disk, reached, look_ups);

        let bench = Workbench::new(&shared.settings, clock.now(), home.is_unclean());
        let turns = turns.map(|turns| turns.open(&runtime, shared.clone(), desk.clone()));
        let scheduler = Scheduler::new(shared.clone(), desk.clone(), bench, to_ledger.clone());
        let scheduler = turns.into_iter().fold(scheduler, Scheduler::sharing);
        let stores = Stores {
            disk: disk.clone(),
            crawldb,
            archive,
            dir: home.dir.clone(),
            duplicates: duplicates.clone(),
        };
        let replication = replication(shared.clone(), &disk)?;
        let writer = Writer::new(shared.clone(), desk.clone(), inbox, stores, replication);
        let mut threads = vec![
            spawn(&shared.lifecycle, "writer", move || writer.run())?,
            spawn(&shared.lifecycle, "scheduler", move || scheduler.run())?,
        ];
        let parser = || {
            let ledger = to_ledger.clone();
            let (rules, duplicates) = (rules.clone(), duplicates.clone());
            ParserThread::new(shared.clone(), results.clone(), ledger, rules, duplicates)
        };
        for n in 0..parser_threads(&shared.settings) {
            let parser = parser();
            threads.push(spawn(&shared.lifecycle, &format!("parser-{n}"), move || parser.run())?);
        }
        runtime.spawn(trace_export::collect(shared.clone()));
        let fetchers = Fetchers {
            clock,
            lifecycle: shared.lifecycle.clone(),
            fetch_deadline: shared.fetch_deadline.clone(),
            tracer: shared.tracer.clone(),
            queues: desk.clone(),
            context,
            dns,
        };
        runtime.spawn(fetchers.run());
        Ok(Crawl {
            home,
            disk,
            seeds: SeedIntake::new(&shared, rules.clone(), to_ledger, seeds),
            rules,
            desk,
            shared,
            threads: Mutex::new(threads),
            runtime: Mutex::new(Some(runtime)),
            meter,
            exporter: OnceLock::new(),
            seat,
        })
    }
}

/// Where its numbers are read from.
fn meter(
    home: &CrawlDir,
    shared: &Shared,
    desk: &Arc<SchedulerQueues>,
    disk: &Arc<Database>,
    (context, dns): (Arc<FetchContext>, Arc<Dns>),
    look_ups: Timer,
) -> Meter {
    Meter::new(Sources {
        crawl_id: home.identity.crawl_id.clone(),
        dir: home.dir.clone(),
        shared: shared.clone(),
        desk: desk.clone(),
        disk: disk.clone(),
        context,
        dns,
        look_ups,
    })
}

/// The ways to the web and to the name servers.
fn outside(shared: &Shared, sink: FetchSink) -> Result<(Arc<FetchContext>, Arc<Dns>), AgentError> {
    let (settings, clock, live) = (&shared.settings, shared.clock, &shared.live);
    let context = FetchContext::new(settings, clock, Arc::new(sink))?
        .heeding(live.barred.clone(), live.rest_min.clone());
    let dns = Dns::new(settings).timed(clock).heeding(live.barred.clone());
    Ok((Arc::new(context), Arc::new(dns)))
}

fn shared(
    settings: Settings,
    clock: Clock,
    ledger: &CrawlDb,
    home: &CrawlDir,
    among_others: bool,
) -> Shared {
    let (crawl_id, totals) = (&home.identity.crawl_id, ledger.totals().clone());
    let shared = Shared::new(settings, clock, crawl_id, totals, home.closed_at);
    if among_others && shared.settings.limits.pages_max.is_some() {
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
        contact: settings.identity.contact.clone(),
        settings_toml: settings.to_toml(),
    };
    let dir = home.dir.join("warc");
    let mut archive = ArchiveWriter::open(&dir, position.as_ref(), &settings.store, label)?;
    if position.is_none() {
        // From now on files in the archive without a position in the state are a contradiction.
        let mut batch = Batch::default();
        disk.put(&mut batch, Family::Meta, META_ARCHIVE, &archive.sync()?.to_bytes());
        disk.commit(&batch)?;
        disk.sync()?;
    }
    Ok(archive)
}

/// Where everything asynchronous happens.
pub fn fetcher_runtime() -> std::io::Result<Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(cores())
        .thread_name("fetcher")
        .enable_all()
        .build()
}

/// Fewer visits at once where the system does not let this process open enough files.
fn within_open_files(mut settings: Settings) -> Settings {
    let files = open_files();
    let wanted = settings.fetch.visits_max;
    let most = visits_max(&settings, files);
    if u64::from(wanted) > most {
        settings.fetch.visits_max = u32::try_from(most).unwrap_or(wanted);
        tracing::warn!(
            "fetch.visits-max is {most} in this run, not {wanted}: the system lets this process \
             open {files} files (see `ulimit -n`)"
        );
    }
    settings
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

fn parser_threads(settings: &Settings) -> usize {
    match settings.state.parser_threads {
        0 => cores(),
        n => n as usize,
    }
}
