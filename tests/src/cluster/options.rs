//! Options of a cluster, set before its start.

use super::certs::Certs;
use super::member::Member;
use super::{Cluster, ETCD, STANDBY};
use crate::etcd::Etcd;
use simweb::Pace;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

impl Cluster {
    /// Sets a setting of the crawl.
    #[must_use]
    pub fn set(mut self, setting: &str) -> Self {
        self.settings.extend(["--set".to_owned(), setting.to_owned()]);
        self
    }

    /// Gives every agent these arguments.
    #[must_use]
    pub fn with(mut self, arguments: &[&str]) -> Self {
        self.arguments.extend(arguments.iter().map(|&argument| argument.to_owned()));
        self
    }

    /// Sets a variable in the environment of all processes.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets both delays, which the judge checks.
    #[must_use]
    pub fn delays(mut self, delay: Duration, ip_delay: Duration) -> Self {
        let [a, b] = [delay, ip_delay].map(|time| time.as_millis());
        self.settings.extend([format!("--delay={a}ms"), format!("--ip-delay={b}ms")]);
        self.pace = Pace::delays(delay, ip_delay);
        self
    }

    /// Sets the deadline of each wait; the default is [`DEADLINE`](crate::running::DEADLINE).
    #[must_use]
    pub fn within(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Keeps everything in this directory, for example one in memory, where a sync costs nothing.
    ///
    /// # Panics
    /// Panics if no directory can be created there.
    #[must_use]
    pub fn inside(mut self, parent: &Path) -> Self {
        self.dir = tempfile::tempdir_in(parent).expect("a directory");
        self
    }

    /// Accepts error lines that contain this text in the logs of this scenario.
    #[must_use]
    pub fn allow_log_line(mut self, part: &'static str) -> Self {
        self.allowed_log_lines.push(part);
        self
    }

    /// Disables the identification of members in the web's log, which takes longer than a page, and
    /// the longer the more connections there are. Requests of members are then not available.
    #[must_use]
    pub fn anonymous(mut self) -> Self {
        self.anonymous = true;
        self
    }

    /// Enables the coordinator's dashboard, at the same address in all its processes.
    #[must_use]
    pub fn with_dashboard(mut self) -> Self {
        self.http = Some((Ipv4Addr::LOCALHOST, 0).into());
        self
    }

    /// Keeps the coordinator's record in etcd, and adds another coordinator, which is not started.
    ///
    /// # Panics
    /// Panics if etcd does not start.
    #[must_use]
    pub fn with_etcd(mut self) -> Self {
        let etcd = Etcd::start(&self.dir().join(ETCD));
        let gate = |name| self.runtime.block_on(self.net.gate(name)).expect("a free port");
        let (standby, for_etcd) = (gate(STANDBY), gate(ETCD));
        for_etcd.lead_to(etcd.address);
        self.coordinators.insert(STANDBY.to_owned(), Member::new(standby));
        self.etcd = Some((etcd, for_etcd));
        self
    }

    /// Gives certificates and a token to all members.
    ///
    /// # Panics
    /// Panics if they cannot be made.
    #[must_use]
    pub fn with_certs(mut self, nodes: &[&str]) -> Self {
        self.certs = Some(Certs::make(&self.dir().join("certificates"), nodes));
        self
    }

    /// Serves metrics and dashboard over TLS on all addresses, to clients that have the token.
    #[must_use]
    pub fn with_https(mut self) -> Self {
        let everywhere: SocketAddr = (Ipv4Addr::UNSPECIFIED, 0).into();
        self.https = true;
        self.http = Some(everywhere);
        self.with(&["--http", &everywhere.to_string()])
    }
}
