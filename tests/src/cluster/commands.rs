//! The commands that people run on a cluster.

use super::certs::PEOPLE;
use super::{Cluster, End};
use crate::running::output_of;
use rustix::process::Signal;
use serde_json::Value;
use std::time::Duration;

/// Exit code of a wait that has timed out.
const NOT_YET: i32 = 75;

impl Cluster {
    /// Runs a subcommand. Returns its exit code, standard output and standard error.
    pub fn ask(&self, words: &[&str]) -> (Option<i32>, String, String) {
        self.ask_with("", words)
    }

    /// Runs a subcommand with this standard input, as [`Self::ask`] does.
    ///
    /// # Panics
    /// Panics if the input cannot be written to a file.
    pub fn ask_with(&self, input: &str, words: &[&str]) -> (Option<i32>, String, String) {
        let (subcommand, words) = words.split_first().expect("a subcommand");
        let mut command = self.command(subcommand);
        let path = self.dir().join("input.txt");
        std::fs::write(&path, input).expect("the input is written");
        let input = std::fs::File::open(&path).expect("the input");
        command.args(words).args(["--coordinator", &self.url()]);
        if let Some(certs) = &self.certs {
            command.args(certs.of(PEOPLE));
        }
        let output = output_of(&mut command, input.into(), self.deadline);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    }

    /// Runs a subcommand that must succeed. Returns its standard output.
    ///
    /// # Panics
    /// Panics if it fails.
    pub fn run_ok(&self, words: &[&str]) -> String {
        let (code, stdout, stderr) = self.ask(words);
        assert_eq!(code, Some(0), "{words:?}: {stdout}{stderr}\n{}", self.account());
        stdout
    }

    /// Adds the seeds of the web to the crawl.
    ///
    /// # Panics
    /// Panics if the cluster does not accept them.
    pub fn seed(&self) {
        let path = self.dir().join("seeds.txt");
        let text: String = self.web.seeds().iter().map(|seed| format!("{seed}\n")).collect();
        std::fs::write(&path, text).expect("the seeds are written");
        self.run_ok(&["seed", &path.display().to_string()]);
    }

    /// Waits until the cluster reports that it has nothing more to do, and checks that all due
    /// pages have been answered.
    ///
    /// # Panics
    /// Panics on a timeout, or if pages are missing, and reports the state of the cluster.
    pub fn wait(&self) {
        // Shorter than the deadline, so that the state of a hanging cluster is read before it is
        // stopped.
        let patience = format!("{}s", (self.deadline * 3 / 4).as_secs());
        let (code, stdout, stderr) = self.ask(&["wait", "--timeout", &patience]);
        assert_eq!(code, Some(0), "wait: {stdout}{stderr}\n{}", self.account());
        // Pages that the cluster fetches after its report are missing now.
        let pages = self.pages();
        let missing = self.due().difference(&pages).count();
        assert_eq!(
            missing,
            0,
            "`wait` returned before all due pages were fetched\n{}",
            self.account()
        );
    }

    /// Returns whether the cluster still has more to do after `time`.
    pub fn has_more_to_do_for(&self, time: Duration) -> bool {
        let patience = format!("{}ms", time.as_millis());
        let (code, _, stderr) = self.ask(&["wait", "--timeout", &patience]);
        assert!(matches!(code, Some(0 | NOT_YET)), "{code:?}: {stderr}\n{}", self.account());
        code == Some(NOT_YET)
    }

    /// Returns the output of `crivello agents --json`, or `Null` if the coordinator is not
    /// available.
    pub fn listing(&self) -> Value {
        let (code, stdout, _) = self.ask(&["agents", "--json"]);
        if code == Some(0) { serde_json::from_str(&stdout).expect("JSON") } else { Value::Null }
    }

    /// Returns the epoch of the view in force.
    pub fn epoch(&self) -> Option<u64> {
        self.listing()["epoch"].as_u64()
    }

    /// Returns the state of an agent in the view, or `None` if it is not a member.
    pub fn state(&self, name: &str) -> Option<String> {
        let listing = self.listing();
        let agent = listing["agents"].as_array()?.iter().find(|agent| agent["name"] == name)?;
        agent["state"].as_str().map(str::to_owned)
    }

    /// Waits until an agent is in this state.
    ///
    /// # Panics
    /// Panics on a timeout, or if the agent ends before it becomes active.
    pub fn wait_for_state(&mut self, name: &str, state: &str) {
        self.until(&format!("{name} is {state}"), |cluster| {
            let runs = cluster.member(name).process.as_mut();
            let ended = state == "active" && runs.is_none_or(|process| process.has_ended());
            assert!(!ended, "{name} has ended\n{}", cluster.account());
            cluster.state(name).as_deref() == Some(state)
        });
    }

    /// Drains an agent and waits until it has left.
    ///
    /// # Panics
    /// Panics if it does not end with 0, or is still a member afterwards.
    pub fn drain(&mut self, name: &str) {
        self.run_ok(&["drain", name]);
        let end = self.end(name);
        assert_eq!(end.status.code(), Some(0), "{}", self.account());
        assert_eq!(self.state(name), None, "{}", self.account());
    }

    /// Stops everything with the state saved. Returns the usage of each process, those of the
    /// agents first.
    ///
    /// # Panics
    /// Panics if a process does not end, or not in order.
    pub fn stop(&mut self) -> Vec<End> {
        let agents = self.agents.iter().filter(|(_, agent)| agent.process.is_some());
        let agents: Vec<String> = agents.map(|(name, _)| name.clone()).collect();
        for name in &agents {
            assert!(!self.process(name).has_ended(), "{name} has ended\n{}", self.account());
        }
        self.run_ok(&["stop"]);
        let mut ends: Vec<End> = agents.iter().map(|name| self.end(name)).collect();
        let coordinators = self.coordinators.iter().filter(|(_, member)| member.process.is_some());
        for name in coordinators.map(|(name, _)| name.clone()).collect::<Vec<_>>() {
            self.process(&name).signal(Signal::TERM);
            ends.push(self.end(&name));
        }
        ends
    }

    /// Waits for the end of a process that was asked to stop. Exit code 130 is a stop with the
    /// state saved.
    ///
    /// # Panics
    /// Panics if it does not end, or not in order.
    pub fn end(&mut self, name: &str) -> End {
        self.until(&format!("{name} has ended"), |cluster| cluster.process(name).has_ended());
        let end = self.take(name).wait();
        let code = end.status.code();
        assert!(matches!(code, Some(0 | 130)), "{name}: {}\n{}", end.status, self.account());
        self.member(name).in_order = true;
        end
    }
}
