//! Test helpers that run the program as a user does, and run a coordinator for a test.

use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};

/// Returns a path for one test, at which nothing exists.
pub fn absent(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if path.exists() {
        fs::remove_dir_all(&path).expect("remove the directory of an earlier run");
    }
    path
}

/// Creates an empty directory for one test.
pub fn fresh(name: &str) -> PathBuf {
    let path = absent(name);
    fs::create_dir_all(&path).expect("create the directory of the test");
    path
}

/// Returns the command that runs the program with `words` as arguments, in `dir`.
pub fn crivello(dir: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crivello"));
    command.args(words).current_dir(dir);
    command.env_remove("CRIVELLO_COORDINATOR").env_remove("CRIVELLO_LOG");
    // The proxy does not exist, so a request through it would fail.
    for name in ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"]
    {
        command.env(name, "http://127.0.0.1:9");
    }
    command
}

/// Runs the program, checks its exit code, and returns standard output and standard error.
#[track_caller]
pub fn expect(dir: &Path, words: &[&str], code: i32) -> (String, String) {
    let output = crivello(dir, words).stdin(Stdio::null()).output().expect("the program starts");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{words:?}: {stderr}");
    (String::from_utf8_lossy(&output.stdout).into_owned(), stderr)
}

/// Sends a signal to a child.
pub fn signal(child: &Child, signal: Signal) {
    let pid = i32::try_from(child.id())
        .ok()
        .and_then(Pid::from_raw)
        .expect("the process id of the child");
    kill_process(pid, signal).expect("a signal to the child");
}

/// A running coordinator.
pub struct Coordinator {
    child: Child,
    stderr: BufReader<ChildStderr>,
    pub url: String,
    /// Standard error up to the moment when it listens.
    pub start_log: String,
}

impl Coordinator {
    pub fn start(dir: &Path, more: &[&str]) -> Self {
        let words =
            [&["coordinator", "--data", "coordinator", "--listen", "127.0.0.1:0"][..], more]
                .concat();
        let mut child =
            crivello(dir, &words).stderr(Stdio::piped()).spawn().expect("the program starts");
        let mut stderr = BufReader::new(child.stderr.take().expect("piped"));
        let mut start_log = String::new();
        while !start_log.contains("listening on ") {
            assert!(stderr.read_line(&mut start_log).expect("text") > 0, "{start_log}");
        }
        let url = start_log.split("listening on ").nth(1).expect("a URL").trim().to_owned();
        Self { child, stderr, url, start_log }
    }

    /// Sends a signal and waits for the end. Returns the exit code and the rest of standard error.
    pub fn end(mut self, which: Signal) -> (Option<i32>, String) {
        signal(&self.child, which);
        let mut text = String::new();
        self.stderr.read_to_string(&mut text).expect("text");
        (self.child.wait().expect("the exit status of the child").code(), text)
    }
}

/// Kills a coordinator whose test failed.
impl Drop for Coordinator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
