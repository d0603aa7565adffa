//! A cluster of real processes on this machine: a coordinator and agents, which reach each other
//! through gates that can be closed, and a simulated web in this process.
//!
//! A scenario starts a cluster, seeds it, disturbs it when a share of the pages is fetched, waits
//! until it has nothing more to do, stops it, and has the web's log and the archives judged. It
//! uses nothing internal of the crawler, only command lines, exit codes and the requests that
//! arrived. It waits for states, never for a time.

mod certs;
mod commands;
mod member;
mod net;
mod observe;
mod options;
mod process;
mod verdict;

pub use certs::Certs;
pub use member::{COORDINATOR, ETCD, STANDBY};
pub use net::{Gate, Net, Way};
pub use process::{End, Process, Stutter};
pub use verdict::Ended;

use crate::etcd::Etcd;
use crate::permits::{Load, Permits};
use crate::running::DEADLINE;
use crate::scene::{arguments_for, binary, directory};
use member::Member;
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

/// Default lease: time after which a dead agent is declared dead. With a much shorter one, agents
/// that only get no CPU time on a busy machine would be declared dead as well.
const LEASE: &str = "2s";
/// Time after which another coordinator becomes active, in seconds; the least of etcd.
const ETCD_LEASE: &str = "2";

/// A cluster and the web that it crawls. Dropping it removes everything.
pub struct Cluster {
    coordinators: BTreeMap<String, Member>,
    agents: BTreeMap<String, Member>,
    /// etcd and its gate, if there are several coordinators.
    etcd: Option<(Etcd, Gate)>,
    net: Net,
    /// The web.
    pub web: SimWeb,
    dir: TempDir,
    runtime: Runtime,
    settings: Vec<String>,
    /// Arguments of every agent.
    arguments: Vec<String>,
    /// Environment of all processes, in addition to the test's own.
    environment: Vec<(String, String)>,
    pace: Pace,
    deadline: Duration,
    /// URLs that must be fetched, computed on first use.
    due: OnceCell<HashSet<String>>,
    /// Members by the number of their process, including ended ones, each with its start in the time of
    /// the web's log. In an hour of faults, the system gives the same number again.
    names: HashMap<u32, Vec<(u64, String)>>,
    /// Agents whose disks were deleted.
    lost: HashSet<String>,
    allowed_log_lines: Vec<&'static str>,
    certs: Option<Certs>,
    /// True if metrics and dashboard are served over TLS.
    https: bool,
    /// Address of the dashboard; port 0 until it is known.
    http: Option<SocketAddr>,
    /// True if the web's log does not identify the members.
    anonymous: bool,
    _permits: Permits,
}

impl Cluster {
    /// Starts the web, but not yet the cluster.
    ///
    /// # Panics
    /// Panics if the web cannot be started.
    #[must_use]
    pub fn new(spec: Spec) -> Self {
        // At full size a cluster has half of the permits.
        let permits = Permits::take(sized(Load::Medium, Load::Half));
        let runtime = Runtime::new().expect("a runtime");
        let web = runtime.block_on(SimWeb::start(spec)).expect("the web starts");
        let net = Net::new();
        let settings = arguments_for(&web);
        let gate = runtime.block_on(net.gate(COORDINATOR)).expect("a free port");
        Self {
            coordinators: BTreeMap::from([(COORDINATOR.to_owned(), Member::new(gate))]),
            agents: BTreeMap::new(),
            etcd: None,
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

    /// Returns the address of the dashboard.
    ///
    /// # Panics
    /// Panics if there is no dashboard.
    pub fn dashboard(&self) -> SocketAddr {
        self.http.expect("a cluster with a dashboard")
    }

    /// Returns the certificates and the secrets.
    ///
    /// # Panics
    /// Panics if the cluster has none.
    pub const fn certs(&self) -> &Certs {
        self.certs.as_ref().expect("a cluster with certificates")
    }

    /// Starts the coordinator and `n_agents` agents, `a`, `b` and so on, and waits until all of
    /// them are active members.
    ///
    /// # Panics
    /// Panics if one of them cannot be started.
    #[must_use]
    pub fn start(mut self, n_agents: u8) -> Self {
        self.start_coordinator();
        let names = (0..n_agents).map(|i| char::from(b'a' + i).to_string());
        let names: Vec<String> = names.collect();
        names.iter().for_each(|name| self.launch(name));
        names.iter().for_each(|name| self.wait_for_state(name, "active"));
        self
    }

    /// Starts the cluster like [`Self::start`], adds the seeds, and waits for this share of the due
    /// pages like [`Self::wait_for_share`].
    ///
    /// # Panics
    /// Panics if a process cannot be started, on a timeout, or if too few pages are left.
    #[must_use]
    pub fn start_until(self, n_agents: u8, share: f64) -> Self {
        let mut cluster = self.start(n_agents);
        cluster.seed();
        cluster.wait_for_share(share);
        cluster
    }

    /// Starts the coordinator, or resumes it from its state.
    ///
    /// # Panics
    /// Panics if it does not start.
    pub fn start_coordinator(&mut self) {
        self.launch_coordinator(COORDINATOR);
        self.wait_until_listening(COORDINATOR);
        if self.http.is_some() {
            self.until("the dashboard is served", |cluster| {
                let output = cluster.process(COORDINATOR).log();
                let at = output.split_once("dashboard at ");
                let at = at.and_then(|(_, rest)| rest.split_once("://")?.1.split_once('/'));
                cluster.http = at.map(|(at, _)| at.parse().expect("an address")).or(cluster.http);
                at.is_some()
            });
        }
    }

    /// Starts one of several coordinators, which may stand by.
    ///
    /// # Panics
    /// Panics if it runs already or cannot be started.
    pub fn launch_coordinator(&mut self, name: &str) {
        let mut command = self.command("coordinator");
        command.args(["--listen", "127.0.0.1:0", "--data"]).arg(self.disk(name));
        if let Some((_, gate)) = &self.etcd {
            let url = format!("http://{}", gate.address);
            command.args(["--etcd", &url, "--etcd-lease", ETCD_LEASE, "--keys"]);
            command.arg(self.dir().join("keys"));
        }
        command.args(&self.settings);
        if !self.settings.iter().any(|setting| setting.starts_with("cluster.lease=")) {
            command.args(["--set", &format!("cluster.lease={LEASE}")]);
        }
        match self.http {
            Some(at) => command.args(["--http", &at.to_string()]),
            None => command.arg("--no-http"),
        };
        self.begin(name, command);
    }

    /// Adds an agent and waits until it is an active member.
    ///
    /// # Panics
    /// Panics if it does not start, or does not become a member.
    pub fn add(&mut self, name: &str) {
        self.launch(name);
        self.wait_for_state(name, "active");
    }

    /// Starts an agent, for the first time or again.
    ///
    /// # Panics
    /// Panics if it does not start.
    pub fn launch(&mut self, name: &str) {
        self.launch_only(name);
        self.wait_until_listening(name);
    }

    /// Starts an agent, and does not wait until it listens.
    ///
    /// # Panics
    /// Panics if it runs already or cannot be started.
    pub fn launch_only(&mut self, name: &str) {
        if !self.agents.contains_key(name) {
            let gate = self.runtime.block_on(self.net.gate(name)).expect("a free port");
            self.agents.insert(name.to_owned(), Member::new(gate));
        }
        let mut command = self.command("agent");
        command.args(["--coordinator", &self.url(), "--name", name]);
        command.args(["--listen", "127.0.0.1:0", "--data"]).arg(self.disk(name));
        command.args(["--advertise", &self.agents[name].gate.address.to_string()]);
        command.args(&self.arguments);
        self.begin(name, command);
    }

    /// Starts a process.
    fn begin(&mut self, name: &str, mut command: Command) {
        let member = self.member(name);
        assert!(member.process.is_none(), "{name} is already running");
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
        // The process has twice the deadline, so that the test's own waits fail first and report
        // the state.
        let process = Process::start(&mut command, self.log(name, n_lives), self.deadline * 2);
        self.net.introduce(process.id(), name);
        if !self.anonymous {
            self.web.callers().add(process.id());
        }
        let started = self.web.log().now().0;
        self.names.entry(process.id()).or_default().push((started, name.to_owned()));
        self.member(name).process = Some(process);
    }

    /// Waits until a process listens, and connects its gate to the address.
    ///
    /// # Panics
    /// Panics if the process ends or never listens.
    pub fn wait_until_listening(&mut self, name: &str) {
        self.until(&format!("{name} listens"), |cluster| {
            let member = cluster.member(name);
            let process = member.process.as_mut().expect("the process was started");
            let at = process.listening_address();
            at.iter().for_each(|&at| member.gate.lead_to(at));
            assert!(at.is_some() || !process.has_ended(), "{name}: {}", process.log());
            at.is_some()
        });
    }

    fn member(&mut self, name: &str) -> &mut Member {
        let member = self.coordinators.get_mut(name).or_else(|| self.agents.get_mut(name));
        member.unwrap_or_else(|| panic!("there is no member {name}"))
    }

    /// Returns the running process of a member.
    ///
    /// # Panics
    /// Panics if it does not run.
    pub fn process(&mut self, name: &str) -> &mut Process {
        let process = &mut self.member(name).process;
        process.as_mut().unwrap_or_else(|| panic!("{name} is not running"))
    }

    /// Removes the process of a member and closes its gate.
    fn take(&mut self, name: &str) -> Process {
        let member = self.member(name);
        member.gate.close();
        member.process.take().unwrap_or_else(|| panic!("{name} is not running"))
    }

    /// Kills a member like `kill -9`; its disk stays.
    ///
    /// # Panics
    /// Panics if it does not run.
    pub fn kill9(&mut self, name: &str) {
        let _ = self.take(name).kill();
    }

    /// Deletes the disk of an agent that does not run.
    ///
    /// # Panics
    /// Panics if it runs.
    pub fn delete_disk(&mut self, name: &str) {
        assert!(self.member(name).process.is_none(), "{name} is running");
        std::fs::remove_dir_all(self.disk(name)).expect("delete the directory");
        self.lost.insert(name.to_owned());
    }

    /// Stops an agent with SIGINT and starts it again with its disk.
    ///
    /// # Panics
    /// Panics if it does not end, or not in order.
    pub fn restart(&mut self, name: &str) {
        self.process(name).signal(Signal::INT);
        let _ = self.end(name);
        self.launch(name);
    }

    /// Suspends a process (SIGSTOP) until [`Self::thaw`].
    pub fn freeze(&mut self, name: &str) {
        self.process(name).signal(Signal::STOP);
    }

    /// Resumes a suspended process.
    pub fn thaw(&mut self, name: &str) {
        self.process(name).signal(Signal::CONT);
    }

    /// Sets the state of the connections that `from` makes to `to`.
    pub fn set_way(&self, from: &str, to: &str, way: Way) {
        self.net.set(from, to, way);
    }

    /// Sets the state of all connections to and from a member.
    pub fn set_ways(&self, name: &str, way: Way) {
        for other in self.everyone().filter(|other| other != name) {
            self.set_way(&other, name, way);
            self.set_way(name, &other, way);
        }
    }

    fn everyone(&self) -> impl Iterator<Item = String> {
        self.agents.keys().chain(self.coordinators.keys()).cloned()
    }

    /// Returns the directory of a member.
    pub fn disk(&self, name: &str) -> PathBuf {
        self.dir().join(name)
    }

    fn log(&self, name: &str, life: u32) -> PathBuf {
        self.dir().join(format!("{name}-{life}.log"))
    }

    /// Returns the directory of the whole cluster.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Returns the URLs of the coordinators.
    pub fn url(&self) -> String {
        let scheme = if self.certs.is_some() { "https" } else { "http" };
        let url = |member: &Member| format!("{scheme}://{}", member.gate.address);
        self.coordinators.values().map(url).collect::<Vec<_>>().join(",")
    }

    /// Returns etcd.
    ///
    /// # Panics
    /// Panics if there is none.
    pub fn etcd(&mut self) -> &mut Etcd {
        &mut self.etcd.as_mut().expect("a cluster with etcd").0
    }

    fn command(&self, subcommand: &str) -> Command {
        let mut command = Command::new(binary());
        command.arg(subcommand).env("NO_COLOR", "1").env_remove("CRIVELLO_COORDINATOR");
        command.env_remove("OTEL_EXPORTER_OTLP_ENDPOINT");
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        for variable in ["CRIVELLO_TOKEN_FILE", "CRIVELLO_NODE_SECRET_FILE"] {
            command.env_remove(variable);
        }
        command
    }
}
