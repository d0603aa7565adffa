//! A signal ends a crawl in order: exit code 130, the command that goes on, and it does go on.

use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// A directory that does not exist yet.
fn fresh(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if path.exists() {
        fs::remove_dir_all(&path).expect("an old test's directory can be removed");
    }
    path
}

/// A crawl that waits for seeds that never come, once it is open.
fn waiting_crawl(out: &Path) -> Child {
    let child = Command::new(env!("CARGO_BIN_EXE_crivello"))
        .args(["crawl", "--seeds", "-", "--contact", "me@a.example", "--out"])
        .arg(out)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    while !out.join("crawl.toml").exists() {
        thread::sleep(Duration::from_millis(10));
    }
    child
}

fn signal(child: &Child, signal: Signal) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a process has an id");
    kill_process(pid, signal).expect("our own child can be signalled");
}

fn ended(mut child: Child) -> (Option<i32>, String) {
    let mut text = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut text).expect("text");
    (child.wait().expect("a child ends").code(), text)
}

#[test]
fn a_stopped_crawl_says_how_to_go_on_and_goes_on() {
    for (name, which) in [("interrupted", Signal::INT), ("terminated", Signal::TERM)] {
        let out = fresh(name);
        let child = waiting_crawl(&out);
        signal(&child, which);
        let (code, stderr) = ended(child);
        assert_eq!(code, Some(130), "{stderr}");
        let command = format!("{} crawl --out {}", env!("CARGO_BIN_EXE_crivello"), out.display());
        assert!(stderr.contains(&command), "{stderr}");
        let again = Command::new(env!("CARGO_BIN_EXE_crivello"))
            .args(["crawl", "--out"])
            .arg(&out)
            .output()
            .expect("the program runs");
        let stderr = String::from_utf8_lossy(&again.stderr);
        assert_eq!(again.status.code(), Some(0), "{stderr}");
    }
}

#[test]
fn a_second_signal_leaves_at_once_and_says_how_to_go_on() {
    let out = fresh("left");
    // A server that takes the request and never answers, so that the first signal has to wait.
    let silent = TcpListener::bind("127.0.0.1:0").expect("bound");
    let mut child = Command::new(env!("CARGO_BIN_EXE_crivello"))
        .args(["crawl", &format!("http://{}/", silent.local_addr().expect("bound"))])
        .args(["--contact", "me@a.example", "--allow-network", "127.0.0.0/8", "--out"])
        .arg(&out)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let _visitor = silent.accept().expect("a visitor");
    let mut stderr = BufReader::new(child.stderr.take().expect("piped"));
    signal(&child, Signal::INT);
    let mut text = String::new();
    while !text.contains("stopping: ") {
        assert!(stderr.read_line(&mut text).expect("text") > 0, "{text}");
    }
    signal(&child, Signal::INT);
    stderr.read_to_string(&mut text).expect("text");
    assert_eq!(child.wait().expect("a child ends").code(), Some(130), "{text}");
    assert!(text.contains("left at once; what was committed is safe. To go on: "), "{text}");
    let command = format!("{} crawl --out {}", env!("CARGO_BIN_EXE_crivello"), out.display());
    assert!(text.contains(&command), "{text}");
}
