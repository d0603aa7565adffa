//! A whole cluster in the test's own process. The same coordinator and agents communicate over
//! loopback as usual, each with its own directory.
//!
//! Starting, joining and killing take seconds with processes but only a moment here, so many
//! schedules can be run. A kill is [`Crawl::abandon`]: nothing is saved, and nobody is notified.
//! [`crate::Cluster`] does the same with real processes, gates between them and `kill -9`.

use crate::agreement::{pages_answered, pages_due};
use crate::binary;
use crate::permits::{Load, Permits};
use crate::running::{DEADLINE, output_within};
use crivello_agent::{Crawl, JoinOptions};
use crivello_common::config::{Settings, SieveKind, TypedSettings};
use crivello_coordinator::{Coordinator, Listen};
use crivello_proto::auth::NodeAuth;
use simweb::{JudgeLimits, Judgment, Pace, SimWeb, Spec};
use std::collections::{BTreeMap, HashSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;
use test_size::sized;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

/// Interval between two checks of a condition.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// Time after which a dead agent is declared dead.
const LEASE: Duration = Duration::from_secs(2);
/// Maximum number of visits in flight. It is small, like commits, so that a kill repeats few pages.
pub const VISITS_MAX: u64 = 4;
/// Maximum number of pages in a commit.
pub const COMMIT_PAGES_MAX: u64 = 4;
/// Maximum number of pages that a kill may repeat: those of the visits, as many on their way to a
/// commit, those of the open commit, and those of three commits on their way to the replicas.
pub const IN_FLIGHT: u64 = 2 * VISITS_MAX + 4 * COMMIT_PAGES_MAX;

/// Description of a cluster; [`Plan::begin`] starts it.
#[derive(Debug)]
pub struct Plan {
    spec: Spec,
    n_agents: usize,
    delays: (Duration, Duration),
    sieve: SieveKind,
}

/// A running cluster. Dropping it removes everything.
pub struct InProcess {
    /// The web.
    pub web: SimWeb,
    settings: Settings,
    pace: Pace,
    due: HashSet<String>,
    address: SocketAddr,
    coordinator: Option<Coordinator>,
    agents: BTreeMap<String, Crawl>,
    n_names: usize,
    dir: TempDir,
    runtime: Runtime,
    _permits: Permits,
}

impl InProcess {
    /// Plans a cluster of three agents that crawls this web politely.
    #[must_use]
    #[expect(clippy::new_ret_no_self, reason = "a `Plan` is configured before it starts")]
    pub const fn new(spec: Spec) -> Plan {
        let delays = (Duration::from_millis(100), Duration::from_millis(25));
        Plan { spec, n_agents: 3, delays, sieve: SieveKind::Rocksdb }
    }
}

impl Plan {
    /// Sets the number of agents at the start.
    #[must_use]
    pub const fn agents(mut self, n_agents: usize) -> Self {
        self.n_agents = n_agents;
        self
    }

    /// Sets the delays for a host and for an address, which the judge checks.
    #[must_use]
    pub const fn delays(mut self, delay: Duration, ip_delay: Duration) -> Self {
        self.delays = (delay, ip_delay);
        self
    }

    /// Sets the data structure that decides whether a URL is new.
    #[must_use]
    pub const fn sieve(mut self, sieve: SieveKind) -> Self {
        self.sieve = sieve;
        self
    }

    /// Starts web, coordinator and agents, named `1`, `2` and so on, and adds the seeds of the web.
    /// All agents are members when it returns.
    ///
    /// # Panics
    /// Panics if something cannot be started.
    #[must_use]
    pub fn begin(self) -> InProcess {
        // At full size a cluster has half of the permits.
        let permits = Permits::take(sized(Load::Medium, Load::Half));
        let runtime = Runtime::new().expect("a runtime");
        let web = runtime.block_on(SimWeb::start(self.spec.clone())).expect("the web starts");
        let settings = self.settings(&web);
        let pace = Pace::delays(self.delays.0, self.delays.1);
        let due = pages_due(&web);
        let mut cluster = InProcess {
            web,
            settings,
            pace,
            due,
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            coordinator: None,
            agents: BTreeMap::new(),
            n_names: 0,
            dir: tempfile::tempdir().expect("a directory"),
            runtime,
            _permits: permits,
        };
        cluster.start_coordinator();
        for _ in 0..self.n_agents {
            cluster.add();
        }
        cluster.seed();
        cluster
    }
}

impl Plan {
    fn settings(&self, web: &SimWeb) -> Settings {
        let [delay, ip_delay] = [self.delays.0, self.delays.1].map(|time| time.as_millis());
        let text = format!(
            r#"
            [identity]
            contact = "https://crivello.example/bot"
            [dns]
            servers = ["{}"]
            [fetch]
            allow-networks = {:?}
            visits-max = {VISITS_MAX}
            [politeness]
            delay = "{delay}ms"
            ip-delay = "{ip_delay}ms"
            [state]
            commit-pages-max = {COMMIT_PAGES_MAX}
            commit-interval = "50ms"
            [cluster]
            lease = "{}ms"
            "#,
            web.dns(),
            web.networks(),
            LEASE.as_millis(),
        );
        let settings = Settings::from_toml("settings of the test", &text);
        let mut settings = settings.unwrap_or_else(|errors| panic!("{errors}"));
        settings.fixed.state.sieve = self.sieve;
        settings
    }
}

impl InProcess {
    /// Starts the coordinator, or resumes it from its state at the same address.
    ///
    /// # Panics
    /// Panics if it does not start.
    pub fn start_coordinator(&mut self) {
        assert!(self.coordinator.is_none(), "the coordinator is running");
        let listen = Listen { at: self.address, auth: NodeAuth::default(), token: None };
        let home = self.dir.path().join("coordinator");
        let started = self.runtime.block_on(Coordinator::start(
            &home,
            &self.settings,
            TypedSettings::new(),
            listen,
        ));
        let coordinator =
            started.unwrap_or_else(|error| panic!("cannot start the coordinator: {error}"));
        self.address = coordinator.address();
        self.coordinator = Some(coordinator);
    }

    /// Stops the coordinator.
    ///
    /// # Panics
    /// Panics if it does not run, or does not end in order.
    pub fn stop_coordinator(&mut self) {
        let coordinator = self.coordinator.take().expect("the coordinator is running");
        let stopped = self.runtime.block_on(coordinator.stop());
        stopped.unwrap_or_else(|error| panic!("cannot stop the coordinator: {error}"));
    }

    /// Adds an agent and returns its name. It is a member when this returns.
    ///
    /// # Panics
    /// Panics if it cannot join.
    pub fn add(&mut self) -> String {
        self.n_names += 1;
        let name = self.n_names.to_string();
        self.join(&name);
        name
    }

    /// Starts an agent, with its disk if it was a member before, and joins it.
    ///
    /// # Panics
    /// Panics if it cannot join.
    pub fn join(&mut self, name: &str) {
        let options = JoinOptions {
            coordinator: self.url(),
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            advertise: None,
            dir: self.disk(name),
            name: Some(name.to_owned()),
            weight: 1,
            auth: NodeAuth::default(),
            tables: None,
        };
        let crawl = Crawl::join(&options, &CancellationToken::new());
        let crawl = crawl.unwrap_or_else(|error| panic!("{name} cannot join: {error}"));
        assert!(self.agents.insert(name.to_owned(), crawl).is_none(), "{name} is running");
    }

    fn take(&mut self, name: &str) -> Crawl {
        self.agents.remove(name).unwrap_or_else(|| panic!("{name} is not running"))
    }

    /// Ends an agent like a kill; its disk stays.
    ///
    /// # Panics
    /// Panics if it does not run.
    pub fn kill(&mut self, name: &str) {
        self.take(name).abandon();
    }

    /// Deletes the disk of an agent that was killed.
    ///
    /// # Panics
    /// Panics if it runs, or if its disk cannot be deleted.
    pub fn delete_disk(&self, name: &str) {
        assert!(!self.agents.contains_key(name), "{name} is running");
        std::fs::remove_dir_all(self.disk(name)).expect("delete the directory");
    }

    /// Drains an agent and waits until it has left.
    ///
    /// # Panics
    /// Panics if it does not leave.
    pub fn drain(&mut self, name: &str) {
        let crawl = self.take(name);
        crawl.drain().unwrap_or_else(|why| panic!("{name} cannot be drained: {why}"));
        let ended = crawl.wait(DEADLINE);
        assert!(ended.is_some(), "{name} was not drained in time");
        let _ = crawl.finish();
    }

    /// Stops an agent with its state saved, and starts it again.
    pub fn restart(&mut self, name: &str) {
        let _ = self.take(name).finish();
        self.join(name);
    }

    /// Returns the names of the running agents.
    pub fn names(&self) -> Vec<String> {
        self.agents.keys().cloned().collect()
    }

    /// Returns the directory of an agent.
    pub fn disk(&self, name: &str) -> PathBuf {
        self.dir.path().join(format!("agent-{name}"))
    }

    /// Returns the URL of the coordinator.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Runs a subcommand of the binary, which must succeed. Returns its output.
    ///
    /// # Panics
    /// Panics if it fails.
    pub fn run_ok(&self, words: &[&str]) -> String {
        let mut command = Command::new(binary());
        command.args(words).args(["--coordinator", &self.url()]).env("NO_COLOR", "1");
        let output = output_within(&mut command, DEADLINE);
        let [stdout, stderr] = [&output.stdout, &output.stderr].map(|b| String::from_utf8_lossy(b));
        assert!(output.status.success(), "{words:?}: {stdout}{stderr}\n{}", self.account());
        stdout.into_owned()
    }

    fn seed(&self) {
        let seeds = self.web.seeds();
        let words: Vec<&str> = std::iter::once("seed").chain(seeds.iter().map(|s| &**s)).collect();
        self.run_ok(&words);
    }

    /// Returns the pages answered so far.
    pub fn pages(&self) -> HashSet<String> {
        pages_answered(&self.web)
    }

    /// Returns the share of the due pages that has been answered.
    pub fn share(&self) -> f64 {
        self.pages().len() as f64 / self.due.len() as f64
    }

    /// Waits until a condition holds.
    ///
    /// # Panics
    /// Panics if it does not hold before the deadline, and reports the state of the cluster.
    pub fn until(&self, what: &str, mut is_so: impl FnMut(&Self) -> bool) {
        let begun = self.web.log().now();
        while !is_so(self) {
            let waited = self.web.log().now().since(begun);
            assert!(waited < DEADLINE, "never: {what}\n{}", self.account());
            std::thread::sleep(LOOK_INTERVAL);
        }
    }

    /// Waits until the cluster reports that it is done, stops it, and judges it by the web's log.
    /// Each due page was fetched at the promised pace, and at most `repeats_max` were fetched
    /// again.
    ///
    /// # Panics
    /// Panics if that is not the case.
    pub fn finish(mut self, repeats_max: u64) -> Judgment {
        self.run_ok(&["wait", "--timeout", "90s"]);
        let missing: Vec<_> = self.due.difference(&self.pages()).take(10).cloned().collect();
        assert!(missing.is_empty(), "`wait` returned without {missing:?}");
        for name in self.names() {
            let _ = self.take(&name).finish();
        }
        self.stop_coordinator();
        let judge = self.web.judge(JudgeLimits::default(), self.pace.clone());
        let report = judge.allow_repeats(repeats_max).judge(&self.web.log().entries());
        assert!(report.is_clean(), "{report}");
        report
    }

    /// Returns the state of the whole cluster, for the message of a failure.
    pub fn account(&self) -> String {
        let pages = self.pages();
        let agents = self.agents.iter().map(|(name, crawl)| {
            let ended = crawl.wait(Duration::ZERO);
            format!("agent {name}: {:?}, {:?}", crawl.snapshot(), ended)
        });
        let agents: Vec<String> = agents.collect();
        format!("{} of {} pages\n{}", pages.len(), self.due.len(), agents.join("\n"))
    }
}
