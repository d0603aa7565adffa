//! The program as a person calls it, and a coordinator of its own for a test.

use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};

/// A directory of its own for one test.
pub fn fresh(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if path.exists() {
        fs::remove_dir_all(&path).expect("an old test's directory can be removed");
    }
    fs::create_dir_all(&path).expect("a test's directory can be made");
    path
}

/// The program, called with `words` in `dir`.
pub fn crivello(dir: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crivello"));
    command.args(words).current_dir(dir).env_remove("CRIVELLO_COORDINATOR");
    // A proxy that is not there: whoever asked it would get no answer.
    for name in ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"]
    {
        command.env(name, "http://127.0.0.1:9");
    }
    command
}

/// Runs, expects `code`, and returns standard output and standard error.
#[track_caller]
pub fn expect(dir: &Path, words: &[&str], code: i32) -> (String, String) {
    let output = crivello(dir, words).output().expect("the program runs");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{words:?}: {stderr}");
    (String::from_utf8_lossy(&output.stdout).into_owned(), stderr)
}

/// A running coordinator.
pub struct Coordinator {
    child: Child,
    stderr: BufReader<ChildStderr>,
    pub url: String,
    /// What it said when it began.
    pub began: String,
}

impl Coordinator {
    pub fn start(dir: &Path, more: &[&str]) -> Self {
        let words =
            [&["coordinator", "--data", "lodge", "--listen", "127.0.0.1:0"][..], more].concat();
        let mut child =
            crivello(dir, &words).stderr(Stdio::piped()).spawn().expect("the program runs");
        let mut stderr = BufReader::new(child.stderr.take().expect("piped"));
        let mut began = String::new();
        while !began.contains("listening on ") {
            assert!(stderr.read_line(&mut began).expect("text") > 0, "{began}");
        }
        let url = began.split("listening on ").nth(1).expect("said").trim().to_owned();
        Self { child, stderr, url, began }
    }

    /// Sends a signal, waits for the end; the code and the rest of what it said.
    pub fn end(mut self, signal: Signal) -> (Option<i32>, String) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).expect("an id");
        kill_process(pid, signal).expect("our own child can be signaled");
        let mut text = String::new();
        self.stderr.read_to_string(&mut text).expect("text");
        (self.child.wait().expect("a child ends").code(), text)
    }
}

/// Not ended by its test: the test failed.
impl Drop for Coordinator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
