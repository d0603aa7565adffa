//! One scenario: a web in this process, the crawler in another.

use crate::measure::Usage;
use crate::permits::{Load, Permits};
use crate::running::{DEADLINE, Running};
use crate::watch::{Watched, metrics_address};
use crivello_common::time::Timestamp;
use rand::{Rng, SeedableRng};
use serde_json::Value;
use simweb::{Judge, Limits, Pace, SimWeb, Spec};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// More seeds than this are too many to be typed.
const SEED_ARGUMENTS_MAX: usize = 500;
/// Lines of the log that are shown of a crawl that had to be stopped.
const LOG_TAIL_LINES: usize = 20;

/// A web and a directory to crawl it into.
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
    /// The exit code; `None` when it was killed.
    pub code: Option<i32>,
    /// What `--report` wrote; `Null` when it did not.
    pub report: Value,
    /// What it said on standard error.
    pub stderr: String,
    /// What it used.
    pub usage: Usage,
}

impl Ended {
    /// A count in the report, by its path: `totals/pages`, `skipped/robots`; 0 when it is absent.
    #[must_use]
    pub fn count(&self, path: &str) -> u64 {
        self.report.pointer(&format!("/{path}")).and_then(Value::as_u64).unwrap_or(0)
    }
}

/// The seed of a random scenario: from `CRIVELLO_TEST_SEED`, or drawn; printed either way, so that
/// a failing one can be pasted back.
#[must_use]
#[expect(clippy::print_stdout, reason = "shown when the test fails")]
pub fn seed() -> u64 {
    let seed = std::env::var("CRIVELLO_TEST_SEED")
        .ok()
        .and_then(|s| s.parse().ok())
        .unwrap_or_else(|| rand::rngs::SmallRng::from_os_rng().random());
    println!("CRIVELLO_TEST_SEED={seed}");
    seed
}

/// The `crivello` binary built beside this test.
///
/// # Panics
/// When it was not built.
#[must_use]
pub fn binary() -> PathBuf {
    let exe = std::env::current_exe().expect("a test has a path");
    let dir = exe.ancestors().nth(2).expect("tests are two levels below the target folder");
    let path = dir.join("crivello");
    assert!(path.exists(), "{} is missing: `make build` first", path.display());
    path
}

impl Scene {
    /// Starts the web; the crawl will begin on its seeds.
    ///
    /// # Panics
    /// When the web cannot be started.
    #[must_use]
    pub fn new(spec: Spec) -> Self {
        let permits = Permits::take(Load::Half);
        let runtime = Runtime::new().expect("a runtime");
        let web = runtime.block_on(SimWeb::start(spec)).expect("the web starts");
        let mut args = vec![
            "--contact=https://crivello.example/bot".to_owned(),
            format!("--dns={}", web.dns()),
        ];
        args.extend(web.networks().iter().map(|network| format!("--allow-network={network}")));
        let seeds = web.seeds();
        Self {
            _runtime: runtime,
            web,
            dir: tempfile::tempdir().expect("a directory"),
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

    /// Another name server than the web's own.
    #[must_use]
    pub fn dns(mut self, address: SocketAddr) -> Self {
        self.args.retain(|arg| !arg.starts_with("--dns="));
        self.arg(format!("--dns={address}"))
    }

    /// Both delays.
    #[must_use]
    pub fn delays(self, delay: &str, ip_delay: &str) -> Self {
        self.arg(format!("--delay={delay}")).arg(format!("--ip-delay={ip_delay}"))
    }

    /// Other seeds than the web's own.
    #[must_use]
    pub fn seeds(mut self, seeds: &[&str]) -> Self {
        self.seeds = seeds.iter().map(|&seed| seed.to_owned()).collect();
        self
    }

    /// A warning or an error that belongs to this scenario: a line that holds this is no failure.
    #[must_use]
    pub fn allow_log_line(mut self, part: &'static str) -> Self {
        self.allowed_log_lines.push(part);
        self
    }

    /// A crawl that takes longer than this is stopped, and has failed; [`DEADLINE`] unless told.
    #[must_use]
    pub fn within(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Where the crawl is.
    #[must_use]
    pub fn out(&self) -> PathBuf {
        self.out.clone().unwrap_or_else(|| self.dir.path().join("crawl"))
    }

    /// The crawl is to be in this directory.
    #[must_use]
    pub fn out_in(mut self, out: &Path) -> Self {
        self.out = Some(out.to_owned());
        self
    }

    /// What the running crawler has said so far on standard error.
    #[must_use]
    pub fn said(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("stderr")).unwrap_or_default()
    }

    /// Waits until the running crawler has said this, or has ended.
    ///
    /// # Panics
    /// When it has ended without.
    pub fn wait_for_log(&self, child: &mut Child, words: &str) {
        while !self.said().contains(words) {
            let ended = child.try_wait().expect("the crawler can be waited for");
            let in_time = ended.is_none() || self.said().contains(words);
            assert!(in_time, "never said {words:?}, {ended:?}: {}", self.said());
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Watches the running crawler, which was given `--http`.
    ///
    /// # Panics
    /// When it ends before it has said where its numbers are.
    pub fn watch(&self, child: &mut Child) -> Watched {
        self.wait_for_log(child, "metrics at ");
        loop {
            if let Some(at) = metrics_address(&self.said()) {
                return Watched::new(child.id(), at);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits until the web's log has this many requests, or the crawler has ended.
    ///
    /// # Panics
    /// When the crawler cannot be waited for.
    pub fn wait_for_requests(&self, child: &mut Child, n_requests: usize) {
        while self.web.log().len() < n_requests
            && child.try_wait().expect("the crawler can be waited for").is_none()
        {
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// A directory beside the crawl's.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The command, as yet not started.
    ///
    /// # Panics
    /// When there are so many seeds that they go to a file, and it cannot be written.
    #[must_use]
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

    /// Starts the crawl, or resumes it.
    ///
    /// # Panics
    /// When it cannot be started.
    #[must_use]
    pub fn start(&self) -> Running {
        self.start_as(self.command())
    }

    /// Starts a command that was made from [`Self::command`].
    ///
    /// # Panics
    /// When it cannot be started.
    #[must_use]
    pub fn start_as(&self, mut command: Command) -> Running {
        let log = std::fs::File::create(self.dir.path().join("stderr")).expect("a file");
        let _ = std::fs::remove_file(self.dir.path().join("report.json"));
        Running::new(command.stderr(log).spawn().expect("the crawler starts"), self.deadline)
    }

    /// Waits for its end. A warning or an error in its log that was not expected is a failure.
    ///
    /// # Panics
    /// On such noise, and when it had to be stopped.
    #[must_use]
    pub fn end(&self, child: Running) -> Ended {
        let (status, usage, overdue) = child.wait_measured().expect("it can be waited for");
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

    /// What a crawl was doing that had to be stopped.
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
            report.map_or_else(|| "none, it had to be killed".to_owned(), Value::to_string),
        )
    }

    /// Crawls from start to end.
    #[must_use]
    pub fn crawl(&self) -> Ended {
        self.end(self.start())
    }

    /// The judge of this web.
    #[must_use]
    pub fn judge(&self, limits: Limits, pace: Pace) -> Judge {
        Judge::new(self.web.spec().clone(), limits, pace)
    }

    /// Lets the web's log be judged; a violation is a failure.
    ///
    /// # Panics
    /// On a violation.
    pub fn assert_clean(&self, judge: &Judge) -> simweb::Judgment {
        let report = judge.judge(&self.web.log().entries());
        assert!(report.is_clean(), "{report}");
        report
    }
}
