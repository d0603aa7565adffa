//! What people type to a cluster, typed.

use super::certs::PEOPLE;
use super::{COORDINATOR, Cluster, End};
use crate::running::output_within;
use rustix::process::Signal;
use serde_json::Value;
use std::time::Duration;

/// The exit code of a wait whose time is over.
const NOT_YET: i32 = 75;

impl Cluster {
    /// Runs a subcommand; its exit code, what it printed and what it said.
    #[must_use]
    pub fn ask(&self, words: &[&str]) -> (Option<i32>, String, String) {
        let (subcommand, words) = words.split_first().expect("a subcommand");
        let mut command = self.command(subcommand);
        command.args(words).args(["--coordinator", &self.url()]);
        if let Some(certs) = &self.certs {
            command.args(certs.of(PEOPLE));
        }
        let output = output_within(&mut command, self.deadline);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    }

    /// Runs a subcommand that must succeed; what it printed.
    ///
    /// # Panics
    /// When it does not.
    pub fn tell(&self, words: &[&str]) -> String {
        let (code, said, trouble) = self.ask(words);
        assert_eq!(code, Some(0), "{words:?}: {said}{trouble}\n{}", self.account());
        said
    }

    /// Gives the cluster the seeds of the web.
    ///
    /// # Panics
    /// When it does not take them.
    pub fn seed(&self) {
        let path = self.dir().join("seeds.txt");
        let text: String = self.web.seeds().iter().map(|seed| format!("{seed}\n")).collect();
        std::fs::write(&path, text).expect("the seeds are written");
        self.tell(&["seed", &path.display().to_string()]);
    }

    /// Waits until the cluster says that it has nothing more to do. That there is indeed nothing
    /// is for the judge to say.
    ///
    /// # Panics
    /// When it never does; says how everything stands.
    pub fn wait(&self) {
        // So that a cluster that hangs is asked how it stands before it is stopped.
        let patience = format!("{}s", (self.deadline * 3 / 4).as_secs());
        let (code, said, trouble) = self.ask(&["wait", "--timeout", &patience]);
        assert_eq!(code, Some(0), "wait: {said}{trouble}\n{}", self.account());
        // What the cluster fetches after it has said so would be missing now.
        let pages = self.pages();
        let missing = self.due().difference(&pages).count();
        assert_eq!(missing, 0, "it says that it is done, and is not\n{}", self.account());
    }

    /// Whether the cluster says, for as long as it is asked, that there is more to do.
    #[must_use]
    pub fn has_more_to_do_for(&self, time: Duration) -> bool {
        let patience = format!("{}ms", time.as_millis());
        let (code, _, trouble) = self.ask(&["wait", "--timeout", &patience]);
        assert!(matches!(code, Some(0 | NOT_YET)), "{code:?}: {trouble}\n{}", self.account());
        code == Some(NOT_YET)
    }

    /// What `crivello agents --json` prints; `Null` when the coordinator is not there.
    #[must_use]
    pub fn listing(&self) -> Value {
        let (code, said, _) = self.ask(&["agents", "--json"]);
        if code == Some(0) { serde_json::from_str(&said).expect("JSON") } else { Value::Null }
    }

    /// The number of the view in force.
    #[must_use]
    pub fn epoch(&self) -> Option<u64> {
        self.listing()["epoch"].as_u64()
    }

    /// The state of an agent, as the coordinator has it; `None` when it is no member.
    #[must_use]
    pub fn state(&self, name: &str) -> Option<String> {
        let listing = self.listing();
        let agent = listing["agents"].as_array()?.iter().find(|agent| agent["name"] == name)?;
        agent["state"].as_str().map(str::to_owned)
    }

    /// Waits until an agent is in this state.
    ///
    /// # Panics
    /// When it never is.
    pub fn wait_for_state(&mut self, name: &str, state: &str) {
        self.until(&format!("{name} is {state}"), |cluster| {
            let runs = cluster.member(name).process.as_mut();
            let ended = state == "active" && runs.is_none_or(|process| process.has_ended());
            assert!(!ended, "{name} has ended\n{}", cluster.account());
            cluster.state(name).as_deref() == Some(state)
        });
    }

    /// Has an agent hand over what it has to crawl, and waits until it has left.
    ///
    /// # Panics
    /// When it does not end with 0, or is still a member then.
    pub fn drain(&mut self, name: &str) {
        self.tell(&["drain", name]);
        let end = self.end(name);
        assert_eq!(end.status.code(), Some(0), "{}", self.account());
        assert_eq!(self.state(name), None, "{}", self.account());
    }

    /// Has everything save and end; what each process used, those of the agents first.
    ///
    /// # Panics
    /// When something does not end, or not in order.
    pub fn stop(&mut self) -> Vec<End> {
        let agents = self.agents.iter().filter(|(_, agent)| agent.process.is_some());
        let agents: Vec<String> = agents.map(|(name, _)| name.clone()).collect();
        for name in &agents {
            assert!(!self.process(name).has_ended(), "{name} has ended\n{}", self.account());
        }
        self.tell(&["stop"]);
        let mut ends: Vec<End> = agents.iter().map(|name| self.end(name)).collect();
        self.process(COORDINATOR).signal(Signal::TERM);
        ends.push(self.end(COORDINATOR));
        ends
    }

    /// Waits until a process has ended that was told to. 130 is a stop with the state saved.
    ///
    /// # Panics
    /// When it does not end, or not in order.
    pub fn end(&mut self, name: &str) -> End {
        self.until(&format!("{name} has ended"), |cluster| cluster.process(name).has_ended());
        let end = self.take(name).wait();
        let code = end.status.code();
        assert!(matches!(code, Some(0 | 130)), "{name}: {}\n{}", end.status, self.account());
        self.member(name).in_order = true;
        end
    }
}
