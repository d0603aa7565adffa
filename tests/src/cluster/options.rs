//! What a cluster is to be like, said before it is started.

use super::Cluster;
use simweb::Pace;
use std::net::Ipv4Addr;
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

    /// Both delays, which the judge will insist on.
    #[must_use]
    pub fn delays(mut self, delay: Duration, ip_delay: Duration) -> Self {
        let [a, b] = [delay, ip_delay].map(|time| time.as_millis());
        self.settings.extend([format!("--delay={a}ms"), format!("--ip-delay={b}ms")]);
        self.pace = Pace::delays(delay, ip_delay);
        self
    }

    /// Whatever takes longer than this has failed; [`DEADLINE`](crate::running::DEADLINE) unless told.
    #[must_use]
    pub fn within(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// An error that belongs to this scenario: a line that holds this is no failure.
    #[must_use]
    pub fn allow_log_line(mut self, part: &'static str) -> Self {
        self.allowed_log_lines.push(part);
        self
    }

    /// Has the web not look up which member each connection is of: that takes longer than a page, the
    /// more so the more connections there are. Nobody can ask who fetched what.
    #[must_use]
    pub fn anonymous(mut self) -> Self {
        self.anonymous = true;
        self
    }

    /// The coordinator serves its dashboard, at the same address in all its lives.
    #[must_use]
    pub fn with_dashboard(mut self) -> Self {
        self.http = Some((Ipv4Addr::LOCALHOST, 0).into());
        self
    }
}
