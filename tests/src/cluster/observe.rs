//! Observation of a cluster from outside: the web's log, the requests of each member, and the logs
//! of its processes.

use super::Cluster;
use super::process::{log_tail, read_log};
use crate::agreement::{pages_answered, pages_due};
use crate::is_page;
use crate::warc::listed;
use crate::watch::{Watched, metrics_address};
use crivello_common::time::Timestamp;
use simweb::{Entry, Judge, JudgeLimits};
use std::collections::HashSet;
use std::time::Duration;

/// Interval between two checks of a condition.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

impl Cluster {
    /// Returns the number of bytes that members have sent to each other.
    pub fn bytes_between_members(&self) -> u64 {
        self.net.carried()
    }

    /// Returns the number of connections that members have made to each other.
    pub fn connections(&self) -> u64 {
        self.net.opened()
    }

    /// Returns the output of all processes of a member.
    pub fn log_of(&self, name: &str) -> String {
        let member = self.agents.get(name).or_else(|| self.coordinators.get(name));
        let lives = member.map_or(0, |member| member.n_lives);
        (1..=lives).map(|life| read_log(&self.log(name, life))).collect()
    }

    /// Returns the pages answered so far.
    pub fn pages(&self) -> HashSet<String> {
        pages_answered(&self.web)
    }

    /// Returns the pages that must be fetched.
    pub fn due(&self) -> &HashSet<String> {
        self.due.get_or_init(|| pages_due(&self.web))
    }

    /// Waits until this share of the due pages has been answered, and checks that enough is left
    /// for the next event to happen in the middle of the crawl.
    ///
    /// # Panics
    /// Panics on a timeout, or if too few pages are left.
    pub fn wait_for_share(&mut self, share: f64) {
        let n_pages = (self.due().len() as f64 * share) as usize;
        self.until(&format!("{n_pages} pages"), |cluster| cluster.pages().len() >= n_pages);
        let (n, all) = (self.pages().len(), self.due().len());
        assert!(n < all - (all - n_pages) / 2, "too late: {n} of {all} pages are fetched");
    }

    /// Returns the requests of an agent, from all its processes.
    pub fn requests_of(&self, name: &str) -> Vec<Entry> {
        let log = self.web.log().entries().into_iter();
        log.filter(|entry| self.name_of(entry) == Some(name)).collect()
    }

    /// Returns the hosts of which an agent has requested pages.
    pub fn hosts_of(&self, name: &str) -> HashSet<String> {
        let requests = self.requests_of(name).into_iter();
        requests.filter(is_page).map(|entry| entry.host).collect()
    }

    /// Returns the first request after `since` by another agent to a host that this one has
    /// visited.
    pub fn successor_of(&self, name: &str, since: Timestamp) -> Option<Entry> {
        let hosts = self.hosts_of(name);
        let log = self.web.log().entries().into_iter().filter(|entry| entry.start > since.0);
        let of_others = log.filter(|entry| self.name_of(entry).is_some_and(|other| other != name));
        of_others.filter(|entry| hosts.contains(&entry.host)).min_by_key(|entry| entry.start)
    }

    /// Returns the member that sent a request, or `None` if the connection was closed before the
    /// web could identify it.
    ///
    /// # Panics
    /// Panics if the cluster is anonymous.
    pub fn name_of(&self, entry: &Entry) -> Option<&str> {
        assert!(!self.anonymous, "the web does not identify connections: the cluster is anonymous");
        let names = self.names.get(&entry.process?)?;
        // A process sends nothing within its first millisecond, in which it is entered here.
        let is_before = |(started, _): &&(u64, String)| *started <= entry.start;
        names.iter().rev().find(is_before).map(|(_, name)| name.as_str())
    }

    /// Returns the judge of this web at the pace of this crawl.
    pub fn judge(&self) -> Judge {
        self.web.judge(JudgeLimits::default(), self.pace.clone())
    }

    /// Waits until a condition holds.
    ///
    /// # Panics
    /// Panics if it does not hold before the deadline, and reports the state of the cluster.
    pub fn until(&mut self, what: &str, mut is_so: impl FnMut(&mut Self) -> bool) {
        let begun = self.web.log().now();
        while !is_so(self) {
            let waited = self.web.log().now().since(begun);
            assert!(waited < self.deadline, "never: {what}\n{}", self.account());
            std::thread::sleep(LOOK_INTERVAL);
        }
    }

    /// Watches an agent that was started with `--http`.
    ///
    /// # Panics
    /// Panics if the agent never prints the address of its metrics.
    pub fn watch(&mut self, name: &str) -> Watched {
        let mut at = None;
        self.until(&format!("{name} serves metrics"), |cluster| {
            at = metrics_address(&cluster.process(name).log());
            at.is_some()
        });
        Watched::new(self.process(name).id(), at.expect("seen above"))
    }

    /// Returns the state of the whole cluster, for the message of a failure.
    pub fn account(&self) -> String {
        let pages = self.pages();
        let mut missing: Vec<&String> = self.due().difference(&pages).collect();
        missing.sort_unstable();
        let last = self.web.log().entries().into_iter().max_by_key(|entry| entry.start);
        let quiet = last.map(|e| self.web.log().now().since(Timestamp(e.start)));
        let logs = listed(self.dir(), ".log");
        let logs: Vec<String> = logs.iter().map(|log| log_tail(log)).collect();
        let (_, stdout, stderr) = self.ask(&["agents"]);
        format!(
            "{} of {} pages due, the last request {quiet:?} ago, missing: {:?}\n{stdout}{stderr}\n{}",
            self.due().len() - missing.len(),
            self.due().len(),
            &missing[..missing.len().min(10)],
            logs.join("\n")
        )
    }
}
