//! A signal ends a crawl in order: exit code 130, the command that goes on, and it does go on.

use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
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
    kill_process(pid, signal).expect("our own child can be signaled");
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
        assert!(stderr.contains("--seeds -   (with the same input again)"), "{stderr}");
        let mut again = Command::new(env!("CARGO_BIN_EXE_crivello"))
            .args(["crawl", "--seeds", "-", "--out"])
            .arg(&out)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program runs");
        // A seed that needs no network: its address may not be visited.
        writeln!(again.stdin.take().expect("piped"), "http://127.0.0.1/").expect("it reads");
        let (code, stderr) = ended(again);
        assert_eq!(code, Some(0), "{stderr}");
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

#[test]
fn a_second_signal_leaves_although_nobody_reads_what_is_said() {
    let out = fresh("unread");
    let (reader, writer) = std::io::pipe().expect("a pipe");
    // The smallest pipe there is, and not a byte of room in it.
    let size = rustix::pipe::fcntl_setpipe_size(&writer, 4_096).expect("a size");
    (&writer).write_all(&vec![b' '; size]).expect("room");
    let mut child = Command::new(env!("CARGO_BIN_EXE_crivello"))
        .args(["crawl", "--seeds", "-", "--contact", "me@a.example", "--out"])
        .arg(&out)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(writer)
        .spawn()
        .expect("the program runs");
    while !out.join("crawl.toml").exists() {
        thread::sleep(Duration::from_millis(10));
    }
    // Whoever names this line holds the screen from then on.
    writeln!(child.stdin.as_ref().expect("piped"), "not a url").expect("it reads");
    // Of two kinds, so that the system does not take them for one.
    signal(&child, Signal::INT);
    signal(&child, Signal::TERM);
    assert_eq!(child.wait().expect("a child ends").code(), Some(130));
    drop(reader);
}

#[test]
fn seeds_are_visited_as_they_come() {
    let out = fresh("trickle");
    let server = TcpListener::bind("127.0.0.1:0").expect("bound");
    let mut child = Command::new(env!("CARGO_BIN_EXE_crivello"))
        .args(["crawl", "--seeds", "-", "--contact", "me@a.example", "--ip-delay", "0s"])
        .args(["--allow-network", "127.0.0.0/8", "--out"])
        .arg(&out)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program runs");
    let mut stdin = child.stdin.take().expect("piped");
    // More is to come, and the next line has begun.
    write!(stdin, "http://{}/\nhttp://", server.local_addr().expect("bound")).expect("it reads");
    let _visitor = server.accept().expect("a visitor");
    child.kill().expect("our own child can be killed");
    child.wait().expect("a child ends");
}

#[test]
fn a_report_that_cannot_be_written_hides_no_end() {
    let (out, place) = (fresh("unreported"), fresh("reports"));
    fs::create_dir(&place).expect("made");
    let mut child = Command::new(env!("CARGO_BIN_EXE_crivello"))
        .args(["crawl", "--seeds", "-", "--contact", "me@a.example", "--report"])
        .arg(place.join("report.json"))
        .arg("--out")
        .arg(&out)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    while !out.join("crawl.toml").exists() {
        thread::sleep(Duration::from_millis(10));
    }
    fs::remove_dir(&place).expect("nothing was left in it");
    let stdin = child.stdin.take();
    signal(&child, Signal::INT);
    let (code, stderr) = ended(child);
    drop(stdin);
    assert_eq!(code, Some(130), "{stderr}");
    assert!(stderr.contains("To go on: ") && stderr.contains("report.json"), "{stderr}");
}
