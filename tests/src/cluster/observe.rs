//! What is seen of a cluster from outside: the web's log, who asked what, and the last words of
//! its processes.

use super::Cluster;
use super::process::log_tail;
use crate::agreement::{pages_answered, pages_due};
use crate::is_page;
use crate::warc::listed;
use crate::watch::{Watched, metrics_address};
use crivello_common::time::Timestamp;
use simweb::{Entry, Judge, Limits};
use std::collections::HashSet;
use std::time::Duration;

/// Between two looks at something that is waited for.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

impl Cluster {
    /// The bytes that members have sent each other.
    #[must_use]
    pub fn bytes_between_members(&self) -> u64 {
        self.net.carried()
    }

    /// The pages answered so far, each once.
    #[must_use]
    pub fn pages(&self) -> HashSet<String> {
        pages_answered(&self.web)
    }

    /// The pages that are due in all.
    #[must_use]
    pub fn due(&self) -> &HashSet<String> {
        self.due.get_or_init(|| pages_due(&self.web))
    }

    /// Waits until this share of the pages due has been answered, and sees to it that enough is
    /// left for what comes next to happen in the middle of the crawl.
    ///
    /// # Panics
    /// When it never is, or when hardly anything is left.
    pub fn wait_for_share(&mut self, share: f64) {
        let n_pages = (self.due().len() as f64 * share) as usize;
        self.until(&format!("{n_pages} pages"), |cluster| cluster.pages().len() >= n_pages);
        let (n, all) = (self.pages().len(), self.due().len());
        assert!(n < all - (all - n_pages) / 2, "at {n} of {all} pages it is too late");
    }

    /// The requests of one agent, in all its lives.
    #[must_use]
    pub fn requests_of(&self, name: &str) -> Vec<Entry> {
        let log = self.web.log().entries().into_iter();
        log.filter(|entry| self.name_of(entry) == Some(name)).collect()
    }

    /// The hosts of which an agent has fetched pages.
    #[must_use]
    pub fn hosts_of(&self, name: &str) -> HashSet<String> {
        let requests = self.requests_of(name).into_iter();
        requests.filter(is_page).map(|entry| entry.host).collect()
    }

    /// The first request since then, by another agent, to a host that this one had visited before.
    #[must_use]
    pub fn successor_of(&self, name: &str, since: Timestamp) -> Option<Entry> {
        let hosts = self.hosts_of(name);
        let log = self.web.log().entries().into_iter().filter(|entry| entry.start > since.0);
        let of_others = log.filter(|entry| self.name_of(entry).is_some_and(|other| other != name));
        of_others.filter(|entry| hosts.contains(&entry.host)).min_by_key(|entry| entry.start)
    }

    /// Whose request this was; `None` when the connection was gone before the web could ask.
    ///
    /// # Panics
    /// When the web was told not to ask.
    #[must_use]
    pub fn name_of(&self, entry: &Entry) -> Option<&str> {
        assert!(!self.anonymous, "the web was told not to look whose a connection is");
        self.names.get(&entry.process?).map(String::as_str)
    }

    /// The judge of this web, by the pace of this crawl.
    #[must_use]
    pub fn judge(&self) -> Judge {
        self.web.judge(Limits::default(), self.pace.clone())
    }

    /// Waits until something is so.
    ///
    /// # Panics
    /// When it is not in good time; says how everything stands.
    pub fn until(&mut self, what: &str, mut is_so: impl FnMut(&mut Self) -> bool) {
        let begun = self.web.log().now();
        while !is_so(self) {
            let waited = self.web.log().now().since(begun);
            assert!(waited < self.deadline, "never: {what}\n{}", self.account());
            std::thread::sleep(LOOK_INTERVAL);
        }
    }

    /// Watches an agent, which was given `--http`.
    ///
    /// # Panics
    /// When it never says where its numbers are.
    pub fn watch(&mut self, name: &str) -> Watched {
        let mut at = None;
        self.until(&format!("{name} tells its numbers"), |cluster| {
            at = metrics_address(&cluster.process(name).said());
            at.is_some()
        });
        Watched::new(self.process(name).id(), at.expect("just seen"))
    }

    /// How everything stands: for a failure's words.
    #[must_use]
    pub fn account(&self) -> String {
        let pages = self.pages();
        let mut missing: Vec<&String> = self.due().difference(&pages).collect();
        missing.sort_unstable();
        let last = self.web.log().entries().into_iter().max_by_key(|entry| entry.start);
        let quiet = last.map(|e| self.web.log().now().since(Timestamp(e.start)));
        let logs = listed(self.dir(), ".log");
        let logs: Vec<String> = logs.iter().map(|log| log_tail(log)).collect();
        let (_, said, trouble) = self.ask(&["agents"]);
        format!(
            "{} of {} pages due, the last request {quiet:?} ago, missing: {:?}\n{said}{trouble}\n{}",
            self.due().len() - missing.len(),
            self.due().len(),
            &missing[..missing.len().min(10)],
            logs.join("\n")
        )
    }
}
