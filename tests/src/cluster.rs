//! A whole cluster of real processes on this machine: a coordinator and agents, which reach each
//! other through gates that can be shut, over a simulated web in this process.
//!
//! A scenario reads like a sentence: start a cluster, seed it, do something to it when so much is
//! fetched, wait until it has nothing more to do, end it, and let the web's log and the archives
//! be judged. Nothing here looks into the crawler: it sees command lines, exit codes and the
//! requests that arrived. "When" is always a state that is waited for, never a time.

mod certs;
mod commands;
mod net;
mod observe;
mod options;
mod process;
mod verdict;

pub use certs::Certs;
pub use net::{Gate, Net, Way};
pub use process::{End, Process, Stutter};
pub use verdict::Ended;

use crate::permits::{Load, Permits};
use crate::running::DEADLINE;
use crate::scene::binary;
use rustix::process::Signal;
use simweb::{Pace, SimWeb, Spec};
use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;
use test_size::sized;
use tokio::runtime::Runtime;

/// The name of the coordinator among the processes.
pub const COORDINATOR: &str = "coordinator";
/// A dead agent is declared so after this, unless told otherwise. Much less, and an agent that
/// only had no turn on a busy machine would be dead as well.
const LEASE: &str = "2s";

/// One member, whether its process runs or not.
#[derive(Debug)]
struct Member {
    process: Option<Process>,
    gate: Gate,
    /// Processes so far.
    n_lives: u32,
    /// Its last process ended in order.
    in_order: bool,
}

/// A cluster and the web that it crawls. Everything is gone when it is dropped.
pub struct Cluster {
    coordinator: Member,
    agents: BTreeMap<String, Member>,
    net: Net,
    /// The web.
    pub web: SimWeb,
    dir: TempDir,
    runtime: Runtime,
    settings: Vec<String>,
    /// Given to every agent.
    arguments: Vec<String>,
    /// Of all processes, beside the test's own.
    environment: Vec<(String, String)>,
    pace: Pace,
    deadline: Duration,
    /// URLs that must be fetched, once somebody has asked for them.
    due: OnceCell<HashSet<String>>,
    /// Which member each process is, or was.
    names: HashMap<u32, String>,
    /// Agents whose disks were deleted.
    lost: HashSet<String>,
    allowed_log_lines: Vec<&'static str>,
    certs: Option<Certs>,
    /// What is served to browsers is served over TLS.
    https: bool,
    /// Where the dashboard is to be; port 0 until it is known.
    http: Option<SocketAddr>,
    /// The web's log does not say whose a connection is.
    anonymous: bool,
    _permits: Permits,
}

impl Cluster {
    /// Starts the web; the cluster is still to be started.
    ///
    /// # Panics
    /// When the web cannot be started.
    #[must_use]
    pub fn new(spec: Spec) -> Self {
        // At full size nothing else runs beside a cluster.
        let permits = Permits::take(sized(Load::Half, Load::All));
        let runtime = Runtime::new().expect("a runtime");
        let web = runtime.block_on(SimWeb::start(spec)).expect("the web starts");
        let net = Net::new();
        let mut settings = vec![
            "--contact=https://crivello.example/bot".to_owned(),
            format!("--dns={}", web.dns()),
        ];
        settings.extend(web.networks().iter().map(|network| format!("--allow-network={network}")));
        let gate = runtime.block_on(net.gate(COORDINATOR)).expect("a free port");
        Self {
            coordinator: Member { process: None, gate, n_lives: 0, in_order: false },
            agents: BTreeMap::new(),
            net,
            web,
            dir: directory(),
            runtime,
            settings,
            arguments: Vec::new(),
            environment: Vec::new(),
            pace: Pace::default(),
            deadline: DEADLINE,
            due: OnceCell::new(),
            names: HashMap::new(),
            lost: HashSet::new(),
            allowed_log_lines: Vec::new(),
            certs: None,
            https: false,
            http: None,
            anonymous: false,
            _permits: permits,
        }
    }

    /// Where the dashboard is.
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    pub fn dashboard(&self) -> SocketAddr {
        self.http.expect("there is a dashboard")
    }

    /// Starts the coordinator and so many agents, `a`, `b` and so on, and waits until all of them
    /// are members.
    ///
    /// # Panics
    /// When one cannot be started.
    #[must_use]
    pub fn start(mut self, n_agents: u8) -> Self {
        self.start_coordinator();
        let names = (0..n_agents).map(|i| char::from(b'a' + i).to_string());
        let names: Vec<String> = names.collect();
        names.iter().for_each(|name| self.launch(name));
        names.iter().for_each(|name| self.wait_for_state(name, "active"));
        self
    }

    /// Starts the coordinator, or resumes from its state.
    ///
    /// # Panics
    /// When it does not start.
    pub fn start_coordinator(&mut self) {
        let mut command = self.command("coordinator");
        command.args(["--listen", "127.0.0.1:0", "--data"]).arg(self.disk(COORDINATOR));
        command.args(&self.settings);
        if !self.settings.iter().any(|setting| setting.starts_with("cluster.lease=")) {
            command.args(["--set", &format!("cluster.lease={LEASE}")]);
        }
        match self.http {
            Some(at) => command.args(["--http", &at.to_string()]),
            None => command.arg("--no-http"),
        };
        self.begin(COORDINATOR, command);
        if self.http.is_some() {
            self.until("the dashboard is there", |cluster| {
                let said = cluster.process(COORDINATOR).said();
                let at = said.split_once("dashboard at ");
                let at = at.and_then(|(_, rest)| rest.split_once("://")?.1.split_once('/'));
                cluster.http = at.map(|(at, _)| at.parse().expect("an address")).or(cluster.http);
                at.is_some()
            });
        }
    }

    /// One more agent; waits until it is a member.
    ///
    /// # Panics
    /// When it does not start, or does not become one.
    pub fn add(&mut self, name: &str) {
        self.launch(name);
        self.wait_for_state(name, "active");
    }

    /// Starts an agent, for the first time or again.
    ///
    /// # Panics
    /// When it does not start.
    pub fn launch(&mut self, name: &str) {
        if !self.agents.contains_key(name) {
            let gate = self.runtime.block_on(self.net.gate(name)).expect("a free port");
            let member = Member { process: None, gate, n_lives: 0, in_order: false };
            self.agents.insert(name.to_owned(), member);
        }
        let mut command = self.command("agent");
        command.args(["--coordinator", &self.url(), "--name", name]);
        command.args(["--listen", "127.0.0.1:0", "--data"]).arg(self.disk(name));
        command.args(["--advertise", &self.agents[name].gate.address.to_string()]);
        command.args(&self.arguments);
        self.begin(name, command);
    }

    /// Starts a process, and leads its gate to where it says that it listens.
    fn begin(&mut self, name: &str, mut command: Command) {
        let member = self.member(name);
        assert!(member.process.is_none(), "{name} runs already");
        member.n_lives += 1;
        member.in_order = false;
        member.gate.expect();
        let n_lives = member.n_lives;
        if let Some(certs) = &self.certs {
            command.args(certs.of(name));
            if self.https {
                command.args(certs.https_of(name));
            }
        }
        // What waits for it is to give up first, and to say how everything stands.
        let process = Process::start(&mut command, self.log(name, n_lives), self.deadline * 2);
        self.net.introduce(process.id(), name);
        if !self.anonymous {
            self.web.callers().add(process.id());
        }
        self.names.insert(process.id(), name.to_owned());
        self.member(name).process = Some(process);
        self.until(&format!("{name} listens"), |cluster| {
            let member = cluster.member(name);
            let process = member.process.as_mut().expect("it was started");
            let at = process.listening_address();
            at.iter().for_each(|&at| member.gate.lead_to(at));
            assert!(at.is_some() || !process.has_ended(), "{name}: {}", process.said());
            at.is_some()
        });
    }

    fn member(&mut self, name: &str) -> &mut Member {
        if name == COORDINATOR {
            return &mut self.coordinator;
        }
        self.agents.get_mut(name).unwrap_or_else(|| panic!("there is no agent {name}"))
    }

    /// The running process of a member.
    ///
    /// # Panics
    /// When it does not run.
    pub fn process(&mut self, name: &str) -> &mut Process {
        let process = &mut self.member(name).process;
        process.as_mut().unwrap_or_else(|| panic!("{name} does not run"))
    }

    /// The process of a member, which is no longer reached by the others.
    fn take(&mut self, name: &str) -> Process {
        let member = self.member(name);
        member.gate.close();
        member.process.take().unwrap_or_else(|| panic!("{name} does not run"))
    }

    /// Kills a member as `kill -9` does; its disk stays.
    ///
    /// # Panics
    /// When it does not run.
    pub fn kill9(&mut self, name: &str) {
        let _ = self.take(name).kill();
    }

    /// Deletes the disk of an agent that was killed.
    ///
    /// # Panics
    /// When it runs.
    pub fn delete_disk(&mut self, name: &str) {
        assert!(self.member(name).process.is_none(), "{name} runs");
        std::fs::remove_dir_all(self.disk(name)).expect("a disk can be deleted");
        self.lost.insert(name.to_owned());
    }

    /// Has an agent end in order, and starts it again with its disk.
    ///
    /// # Panics
    /// When it does not end, or not in order.
    pub fn restart(&mut self, name: &str) {
        self.process(name).signal(Signal::INT);
        let _ = self.end(name);
        self.launch(name);
    }

    /// Stops a process as it is, until it is thawed.
    pub fn freeze(&mut self, name: &str) {
        self.process(name).signal(Signal::STOP);
    }

    /// Has a frozen process go on.
    pub fn thaw(&mut self, name: &str) {
        self.process(name).signal(Signal::CONT);
    }

    /// What one member says to another when it calls, and what it is answered.
    pub fn set_way(&self, from: &str, to: &str, way: Way) {
        self.net.set(from, to, way);
    }

    /// All ways to and from a member.
    pub fn set_ways(&self, name: &str, way: Way) {
        for other in self.everyone().filter(|other| other != name) {
            self.set_way(&other, name, way);
            self.set_way(name, &other, way);
        }
    }

    fn everyone(&self) -> impl Iterator<Item = String> {
        self.agents.keys().cloned().chain([COORDINATOR.to_owned()])
    }

    /// The directory of a member.
    #[must_use]
    pub fn disk(&self, name: &str) -> PathBuf {
        self.dir().join(name)
    }

    fn log(&self, name: &str, life: u32) -> PathBuf {
        self.dir().join(format!("{name}-{life}.log"))
    }

    /// A directory for everything.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Where the coordinator is reached.
    #[must_use]
    pub fn url(&self) -> String {
        let scheme = if self.certs.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.coordinator.gate.address)
    }

    fn command(&self, subcommand: &str) -> Command {
        let mut command = Command::new(binary());
        command.arg(subcommand).env("NO_COLOR", "1").env_remove("CRIVELLO_COORDINATOR");
        command.env_remove("OTEL_EXPORTER_OTLP_ENDPOINT");
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.env_remove("CRIVELLO_TOKEN_FILE");
        command
    }
}

/// A directory for everything, which stays where `CRIVELLO_TEST_KEEP` is set.
#[expect(clippy::print_stdout, reason = "shown when the test fails")]
fn directory() -> TempDir {
    let keep = std::env::var_os("CRIVELLO_TEST_KEEP").is_some();
    let dir = tempfile::Builder::new().disable_cleanup(keep).tempdir().expect("a directory");
    if keep {
        println!("{} is kept", dir.path().display());
    }
    dir
}
