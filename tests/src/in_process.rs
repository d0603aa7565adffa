//! A whole cluster in the test's own process: the same coordinator and agents, which speak to each
//! other over loopback as they would elsewhere, each in a directory of its own.
//!
//! What takes a process seconds, to start, to join, to be killed, takes a moment here, so that many
//! schedules can be played. A kill is [`Crawl::abandon`]: nothing is saved, nobody is told. For the
//! same with real processes, gates between them and `kill -9` there is [`crate::Cluster`].

use crate::agreement::{pages_answered, pages_due};
use crate::binary;
use crate::permits::{Load, Permits};
use crate::running::{DEADLINE, output_within};
use crivello_agent::{Crawl, JoinOptions};
use crivello_common::config::Settings;
use crivello_coordinator::{Coordinator, Listen};
use simweb::{Judgment, Limits, Pace, SimWeb, Spec};
use std::collections::{BTreeMap, HashSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;
use test_size::sized;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

/// Between two looks at something that is waited for.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// A dead agent is declared so after this.
const LEASE: Duration = Duration::from_secs(2);
/// Small, as are commits, so that what a kill may repeat is little.
pub const VISITS_MAX: u64 = 4;
/// Pages of one commit.
pub const COMMIT_PAGES_MAX: u64 = 4;
/// What a kill may repeat: visits, the pages of as many on their way to a commit, those of the open
/// commit, and of three commits on their way to the copies.
pub const IN_FLIGHT: u64 = 2 * VISITS_MAX + 4 * COMMIT_PAGES_MAX;

/// What a cluster is to be; [`Plan::begin`] starts it.
#[derive(Debug)]
pub struct Plan {
    spec: Spec,
    n_agents: usize,
    delays: (Duration, Duration),
}

/// See the module. Everything is gone when it is dropped.
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
    /// A cluster of three agents, politely crawling this web.
    #[must_use]
    #[expect(clippy::new_ret_no_self, reason = "a plan first, as of a house")]
    pub const fn new(spec: Spec) -> Plan {
        let delays = (Duration::from_millis(100), Duration::from_millis(25));
        Plan { spec, n_agents: 3, delays }
    }
}

impl Plan {
    /// So many agents, to begin with.
    #[must_use]
    pub const fn agents(mut self, n_agents: usize) -> Self {
        self.n_agents = n_agents;
        self
    }

    /// For a host, and for an address; the judge will insist on them.
    #[must_use]
    pub const fn delays(mut self, delay: Duration, ip_delay: Duration) -> Self {
        self.delays = (delay, ip_delay);
        self
    }

    /// Starts web, coordinator and agents, `1`, `2` and so on, all of which are members when this
    /// returns, and gives them the seeds of the web.
    ///
    /// # Panics
    /// When something cannot be started.
    #[must_use]
    pub fn begin(self) -> InProcess {
        // At full size nothing else runs beside a cluster.
        let permits = Permits::take(sized(Load::Half, Load::All));
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
        settings.unwrap_or_else(|errors| panic!("{errors}"))
    }
}

impl InProcess {
    /// Starts the coordinator, or resumes from its state at the same address.
    ///
    /// # Panics
    /// When it does not start.
    pub fn start_coordinator(&mut self) {
        assert!(self.coordinator.is_none(), "it runs");
        let listen = Listen { at: self.address, tls: None, token: None };
        let home = self.dir.path().join("coordinator");
        let started = self.runtime.block_on(Coordinator::start(&home, &self.settings, listen));
        let coordinator = started.unwrap_or_else(|error| panic!("no coordinator: {error}"));
        self.address = coordinator.address();
        self.coordinator = Some(coordinator);
    }

    /// Ends the coordinator.
    ///
    /// # Panics
    /// When it does not run, or does not end in order.
    pub fn stop_coordinator(&mut self) {
        let coordinator = self.coordinator.take().expect("it runs");
        let stopped = self.runtime.block_on(coordinator.stop());
        stopped.unwrap_or_else(|error| panic!("the coordinator: {error}"));
    }

    /// One more agent, a member when this returns: its name.
    ///
    /// # Panics
    /// When it cannot join.
    pub fn add(&mut self) -> String {
        self.n_names += 1;
        let name = self.n_names.to_string();
        self.join(&name);
        name
    }

    /// Has an agent join, with its disk where it was a member before.
    ///
    /// # Panics
    /// When it cannot.
    pub fn join(&mut self, name: &str) {
        let options = JoinOptions {
            coordinator: self.url(),
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            advertise: None,
            dir: self.disk(name),
            name: Some(name.to_owned()),
            weight: 1,
            tls: None,
            token: None,
        };
        let crawl = Crawl::join(&options, &CancellationToken::new());
        let crawl = crawl.unwrap_or_else(|error| panic!("{name} cannot join: {error}"));
        assert!(self.agents.insert(name.to_owned(), crawl).is_none(), "{name} runs");
    }

    fn take(&mut self, name: &str) -> Crawl {
        self.agents.remove(name).unwrap_or_else(|| panic!("{name} does not run"))
    }

    /// Ends an agent as a kill would; its disk stays.
    ///
    /// # Panics
    /// When it does not run.
    pub fn kill(&mut self, name: &str) {
        self.take(name).abandon();
    }

    /// Deletes the disk of an agent that was killed.
    ///
    /// # Panics
    /// When it cannot be deleted.
    pub fn delete_disk(&self, name: &str) {
        assert!(!self.agents.contains_key(name), "{name} runs");
        std::fs::remove_dir_all(self.disk(name)).expect("a disk can be deleted");
    }

    /// Has an agent hand over what it has to crawl, and waits until it has left.
    ///
    /// # Panics
    /// When it does not.
    pub fn drain(&mut self, name: &str) {
        let crawl = self.take(name);
        crawl.drain().unwrap_or_else(|why| panic!("{name} cannot be drained: {why}"));
        let ended = crawl.wait(DEADLINE);
        assert!(ended.is_some(), "{name} is never drained");
        let _ = crawl.finish();
    }

    /// Has an agent save and end, and join again.
    pub fn restart(&mut self, name: &str) {
        let _ = self.take(name).finish();
        self.join(name);
    }

    /// Those that run, by name.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.agents.keys().cloned().collect()
    }

    /// The directory of an agent.
    #[must_use]
    pub fn disk(&self, name: &str) -> PathBuf {
        self.dir.path().join(format!("agent-{name}"))
    }

    /// Where the coordinator is reached.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Runs a subcommand that must succeed, as people would.
    ///
    /// # Panics
    /// When it does not.
    pub fn tell(&self, words: &[&str]) -> String {
        let mut command = Command::new(binary());
        command.args(words).args(["--coordinator", &self.url()]).env("NO_COLOR", "1");
        let output = output_within(&mut command, DEADLINE);
        let [said, trouble] = [&output.stdout, &output.stderr].map(|b| String::from_utf8_lossy(b));
        assert!(output.status.success(), "{words:?}: {said}{trouble}\n{}", self.account());
        said.into_owned()
    }

    fn seed(&self) {
        let seeds = self.web.seeds();
        let words: Vec<&str> = std::iter::once("seed").chain(seeds.iter().map(|s| &**s)).collect();
        self.tell(&words);
    }

    /// The pages answered so far, each once.
    #[must_use]
    pub fn pages(&self) -> HashSet<String> {
        pages_answered(&self.web)
    }

    /// The share of the pages due that has been answered.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.pages().len() as f64 / self.due.len() as f64
    }

    /// Waits until something is so.
    ///
    /// # Panics
    /// When it is not in good time; says how everything stands.
    pub fn until(&self, what: &str, mut is_so: impl FnMut(&Self) -> bool) {
        let begun = self.web.log().now();
        while !is_so(self) {
            let waited = self.web.log().now().since(begun);
            assert!(waited < DEADLINE, "never: {what}\n{}", self.account());
            std::thread::sleep(LOOK_INTERVAL);
        }
    }

    /// Waits until the cluster says that it is done, ends it, and lets the web's log be judged: each
    /// page due was fetched, and at most `repeats_max` of them again, at the pace that was promised.
    ///
    /// # Panics
    /// When it is not so.
    pub fn finish(mut self, repeats_max: u64) -> Judgment {
        self.tell(&["wait", "--timeout", "90s"]);
        let missing: Vec<_> = self.due.difference(&self.pages()).take(10).cloned().collect();
        assert!(missing.is_empty(), "it says that it is done, without {missing:?}");
        for name in self.names() {
            let _ = self.take(&name).finish();
        }
        self.stop_coordinator();
        let judge = self.web.judge(Limits::default(), self.pace.clone());
        let report = judge.allow_repeats(repeats_max).judge(&self.web.log().entries());
        assert!(report.is_clean(), "{report}");
        report
    }

    /// How everything stands: for a failure's words.
    #[must_use]
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
