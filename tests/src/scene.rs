//! A scenario: a web in this process, and the crawler in another.

use crate::measure::Usage;
use crate::permits::{Load, Permits};
use crate::running::{DEADLINE, Running};
use crate::watch::{Watched, metrics_address};
use crivello_common::time::Timestamp;
use rand::{Rng, SeedableRng};
use serde_json::Value;
use simweb::{Judge, JudgeLimits, Pace, SimWeb, Spec};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use test_size::sized;
use tokio::runtime::Runtime;

/// Number of seeds from which they are passed in a file instead of as arguments.
const SEED_ARGUMENTS_MAX: usize = 500;
/// Number of log lines that are shown of a crawl that had to be stopped.
const LOG_TAIL_LINES: usize = 20;

/// A web, and a directory for a crawl of it.
pub struct Scene {
    _runtime: Runtime,
    /// The web.
    pub web: SimWeb,
    dir: TempDir,
    out: Option<PathBuf>,
    args: Vec<String>,
    allowed_log_lines: Vec<&'static str>,
    seeds: Vec<String>,
    deadline: Duration,
    _permits: Permits,
}

/// A crawl that has ended.
#[derive(Debug)]
pub struct Ended {
    /// Exit code; `None` if it was killed.
    pub code: Option<i32>,
    /// Contents of the `--report` file; `Null` if there is none.
    pub report: Value,
    /// Standard error.
    pub stderr: String,
    /// Usage of the process.
    pub usage: Usage,
}

impl Ended {
    /// Checks that the crawl ended successfully.
    ///
    /// # Panics
    /// Panics if it did not.
    #[must_use]
    #[track_caller]
    pub fn succeeded(self) -> Self {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        self
    }

    /// Returns a count in the report, by its path, such as `totals/pages` or `skipped/robots`; 0 if
    /// it is absent.
    pub fn count(&self, path: &str) -> u64 {
        self.report.pointer(&format!("/{path}")).and_then(Value::as_u64).unwrap_or(0)
    }
}

/// Creates a directory for everything, which is kept if `CRIVELLO_TEST_KEEP` is set.
#[expect(clippy::print_stdout, reason = "output of a failed test")]
pub(crate) fn directory() -> TempDir {
    let keep = std::env::var_os("CRIVELLO_TEST_KEEP").is_some();
    let dir = tempfile::Builder::new().disable_cleanup(keep).tempdir().expect("a directory");
    if keep {
        println!("{} is kept", dir.path().display());
    }
    dir
}

/// Returns the seed of a random scenario: from `CRIVELLO_TEST_SEED`, or a random one. It is
/// printed, so that a failure can be repeated.
#[must_use]
#[expect(clippy::print_stdout, reason = "output of a failed test")]
pub fn seed() -> u64 {
    let seed = std::env::var("CRIVELLO_TEST_SEED")
        .ok()
        .and_then(|s| s.parse().ok())
        .unwrap_or_else(|| rand::rngs::SmallRng::from_os_rng().random());
    println!("CRIVELLO_TEST_SEED={seed}");
    seed
}

/// Returns the path of the `crivello` binary that was built beside this test.
///
/// # Panics
/// Panics if it was not built.
#[must_use]
pub fn binary() -> PathBuf {
    let exe = std::env::current_exe().expect("the path of this test");
    let dir = exe.ancestors().nth(2).expect("the target directory two levels above the test");
    let path = dir.join("crivello");
    assert!(path.exists(), "{} is missing: `make build` first", path.display());
    path
}

/// Returns the arguments that every crawl of this web needs.
pub(crate) fn arguments_for(web: &SimWeb) -> Vec<String> {
    let mut args =
        vec!["--contact=https://crivello.example/bot".to_owned(), format!("--dns={}", web.dns())];
    args.extend(web.networks().iter().map(|network| format!("--allow-network={network}")));
    args
}

impl Scene {
    /// Starts the web. The crawl will use its seeds.
    ///
    /// # Panics
    /// Panics if the web cannot be started.
    #[must_use]
    pub fn new(spec: Spec) -> Self {
        let permits = Permits::take(sized(Load::Light, Load::Medium));
        let runtime = Runtime::new().expect("a runtime");
        let web = runtime.block_on(SimWeb::start(spec)).expect("the web starts");
        let args = arguments_for(&web);
        let seeds = web.seeds();
        Self {
            _runtime: runtime,
            web,
            dir: directory(),
            out: None,
            args,
            allowed_log_lines: Vec::new(),
            seeds,
            deadline: DEADLINE,
            _permits: permits,
        }
    }

    /// Adds an argument of `crivello crawl`.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<String>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Sets a setting.
    #[must_use]
    pub fn set(self, setting: &str) -> Self {
        self.arg("--set").arg(setting)
    }

    /// Replaces the web's name server by another one.
    #[must_use]
    pub fn dns(mut self, address: SocketAddr) -> Self {
        self.args.retain(|arg| !arg.starts_with("--dns="));
        self.arg(format!("--dns={address}"))
    }

    /// Sets both delays.
    #[must_use]
    pub fn delays(self, delay: &str, ip_delay: &str) -> Self {
        self.arg(format!("--delay={delay}")).arg(format!("--ip-delay={ip_delay}"))
    }

    /// Replaces the web's seeds.
    #[must_use]
    pub fn seeds(mut self, seeds: &[&str]) -> Self {
        self.seeds = seeds.iter().map(|&seed| seed.to_owned()).collect();
        self
    }

    /// Accepts warnings and errors that contain this text in the log of this scenario.
    #[must_use]
    pub fn allow_log_line(mut self, part: &'static str) -> Self {
        self.allowed_log_lines.push(part);
        self
    }

    /// Sets the time after which the crawl is stopped and has failed; the default is [`DEADLINE`].
    #[must_use]
    pub fn within(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Returns the directory of the crawl.
    pub fn out(&self) -> PathBuf {
        self.out.clone().unwrap_or_else(|| self.dir.path().join("crawl"))
    }

    /// Sets the directory of the crawl.
    #[must_use]
    pub fn out_in(mut self, out: &Path) -> Self {
        self.out = Some(out.to_owned());
        self
    }

    /// Returns the crawler's standard error so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("stderr")).unwrap_or_default()
    }

    /// Waits until the crawler has logged this text.
    ///
    /// # Panics
    /// Panics if the crawler ends without it.
    pub fn wait_for_log(&self, child: &mut Child, words: &str) {
        while !self.log().contains(words) {
            let ended = child.try_wait().expect("the exit status of the crawler");
            let in_time = ended.is_none() || self.log().contains(words);
            assert!(in_time, "{words:?} was never logged, {ended:?}: {}", self.log());
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Watches the running crawler, which must have been started with `--http`.
    ///
    /// # Panics
    /// Panics if it ends before it has printed the address of its metrics.
    pub fn watch(&self, child: &mut Child) -> Watched {
        self.wait_for_log(child, "metrics at ");
        loop {
            if let Some(at) = metrics_address(&self.log()) {
                return Watched::new(child.id(), at);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits until the web's log has this many requests, or the crawler has ended.
    ///
    /// # Panics
    /// Panics if the crawler cannot be waited for.
    pub fn wait_for_requests(&self, child: &mut Child, n_requests: usize) {
        while self.web.log().len() < n_requests
            && child.try_wait().expect("the exit status of the crawler").is_none()
        {
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Returns the directory that contains the crawl.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Returns the command, without starting it.
    ///
    /// # Panics
    /// Panics if the seeds need a file that cannot be written.
    pub fn command(&self) -> Command {
        let mut command = Command::new(binary());
        command.arg("crawl");
        if self.seeds.len() > SEED_ARGUMENTS_MAX {
            let list = self.dir.path().join("seeds.txt");
            std::fs::write(&list, self.seeds.join("\n")).expect("the seeds are written");
            command.arg("--seeds").arg(list);
        } else {
            command.args(&self.seeds);
        }
        command
            .arg("--out")
            .arg(self.out())
            .arg("--report")
            .arg(self.dir.path().join("report.json"))
            .args(&self.args)
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        command
    }

    /// Starts or resumes the crawl.
    ///
    /// # Panics
    /// Panics if it cannot be started.
    #[must_use]
    pub fn start(&self) -> Running {
        self.start_as(self.command())
    }

    /// Starts a command made from [`Self::command`].
    ///
    /// # Panics
    /// Panics if it cannot be started.
    #[must_use]
    pub fn start_as(&self, mut command: Command) -> Running {
        let log = std::fs::File::create(self.dir.path().join("stderr")).expect("a file");
        let _ = std::fs::remove_file(self.dir.path().join("report.json"));
        Running::new(command.stderr(log).spawn().expect("the crawler starts"), self.deadline)
    }

    /// Waits for the end of the crawl, and checks its log.
    ///
    /// # Panics
    /// Panics if the log has an unexpected warning or error, or if the crawl had to be stopped.
    pub fn end(&self, child: Running) -> Ended {
        let (status, usage, overdue) = child.wait_measured().expect("the exit status of the child");
        let read = |name: &str| std::fs::read_to_string(self.dir.path().join(name));
        let stderr = read("stderr").unwrap_or_default();
        let report = read("report.json").ok().and_then(|json| serde_json::from_str(&json).ok());
        assert!(!overdue, "{}", self.overdue(&stderr, report.as_ref()));
        for line in stderr.lines() {
            let loud = line.contains(" WARN ") || line.contains("ERROR") || line.contains("panic");
            let expected = self.allowed_log_lines.iter().any(|part| line.contains(part));
            assert!(!loud || expected, "unexpected in the log: {line}\n\n{stderr}");
        }
        Ended { code: status.code(), report: report.unwrap_or(Value::Null), stderr, usage }
    }

    /// Describes the activity of a crawl that had to be stopped.
    fn overdue(&self, stderr: &str, report: Option<&Value>) -> String {
        let log = self.web.log().entries();
        let last = log.last().map_or_else(String::new, |entry| {
            let quiet = self.web.log().now().since(Timestamp(entry.end));
            format!(", the last of them {quiet:?} ago: {} {}", entry.status, entry.url())
        });
        let lines: Vec<&str> = stderr.lines().collect();
        format!(
            "the crawl had not ended after {:?} and was stopped\nthe web: {} requests{last}\n\
             the crawler's last words:\n{}\nits report: {}",
            self.deadline,
            log.len(),
            lines[lines.len().saturating_sub(LOG_TAIL_LINES)..].join("\n"),
            report.map_or_else(|| "none; the crawler was killed".to_owned(), Value::to_string),
        )
    }

    /// Runs a crawl from start to end.
    pub fn crawl(&self) -> Ended {
        self.end(self.start())
    }

    /// Returns a judge of this web.
    pub fn judge(&self, limits: JudgeLimits, pace: Pace) -> Judge {
        self.web.judge(limits, pace)
    }

    /// Has the web's log judged.
    ///
    /// # Panics
    /// Panics on a violation.
    pub fn assert_clean(&self, judge: &Judge) -> simweb::Judgment {
        let report = judge.judge(&self.web.log().entries());
        assert!(report.is_clean(), "{report}");
        report
    }
}
