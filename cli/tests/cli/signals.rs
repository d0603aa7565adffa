//! Tests of signals: they end a crawl in order, with exit code 130 and a command that resumes it,
//! and the crawl can be resumed.

use crate::program::{absent, signal};
use rustix::process::Signal;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// Starts a crawl that is open and waits for seeds.
fn waiting_crawl(out: &Path) -> Child {
    let child = Command::new(env!("CARGO_BIN_EXE_crivello"))
        .args(["crawl", "--seeds", "-", "--contact", "me@a.example", "--out"])
        .arg(out)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    while !out.join("crawl.toml").exists() {
        thread::sleep(Duration::from_millis(10));
    }
    child
}

fn ended(mut child: Child) -> (Option<i32>, String) {
    let mut text = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut text).expect("text");
    (child.wait().expect("the exit status of the child").code(), text)
}

#[test]
fn a_stopped_crawl_prints_how_to_resume_and_resumes() {
    for (name, which) in [("interrupted", Signal::INT), ("terminated", Signal::TERM)] {
        let out = absent(name);
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
            .expect("the program starts");
        // A seed without network access: visits to its address are not allowed.
        writeln!(again.stdin.take().expect("piped"), "http://127.0.0.1/")
            .expect("the program reads its input");
        let (code, stderr) = ended(again);
        assert_eq!(code, Some(0), "{stderr}");
    }
}

#[test]
fn a_second_signal_exits_at_once_and_prints_how_to_resume() {
    let out = absent("left");
    // The server accepts the request and never responds, so the first signal has to wait.
    let silent = TcpListener::bind("127.0.0.1:0").expect("bound");
    let mut child = Command::new(env!("CARGO_BIN_EXE_crivello"))
        .args(["crawl", &format!("http://{}/", silent.local_addr().expect("bound"))])
        .args(["--contact", "me@a.example", "--allow-network", "127.0.0.0/8", "--out"])
        .arg(&out)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let _visitor = silent.accept().expect("a connection of the crawler");
    let mut stderr = BufReader::new(child.stderr.take().expect("piped"));
    signal(&child, Signal::INT);
    let mut text = String::new();
    while !text.contains("stopping: ") {
        assert!(stderr.read_line(&mut text).expect("text") > 0, "{text}");
    }
    signal(&child, Signal::INT);
    stderr.read_to_string(&mut text).expect("text");
    assert_eq!(child.wait().expect("the exit status of the child").code(), Some(130), "{text}");
    assert!(text.contains("exited at once; committed pages are safe. To resume: "), "{text}");
    let command = format!("{} crawl --out {}", env!("CARGO_BIN_EXE_crivello"), out.display());
    assert!(text.contains(&command), "{text}");
}

#[test]
fn a_second_signal_exits_although_nobody_reads_standard_error() {
    let out = absent("unread");
    let (reader, writer) = std::io::pipe().expect("a pipe");
    // The smallest possible pipe, filled completely.
    let size = rustix::pipe::fcntl_setpipe_size(&writer, 4_096).expect("a size");
    (&writer).write_all(&vec![b' '; size]).expect("room");
    let mut child = Command::new(env!("CARGO_BIN_EXE_crivello"))
        .args(["crawl", "--seeds", "-", "--contact", "me@a.example", "--out"])
        .arg(&out)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(writer)
        .spawn()
        .expect("the program starts");
    while !out.join("crawl.toml").exists() {
        thread::sleep(Duration::from_millis(10));
    }
    // Reporting this line blocks while the screen is locked.
    writeln!(child.stdin.as_ref().expect("piped"), "not a url")
        .expect("the program reads its input");
    // Two different signals, so that the system does not merge them.
    signal(&child, Signal::INT);
    signal(&child, Signal::TERM);
    assert_eq!(child.wait().expect("the exit status of the child").code(), Some(130));
    drop(reader);
}

#[test]
fn seeds_are_visited_as_they_arrive() {
    let out = absent("trickle");
    let server = TcpListener::bind("127.0.0.1:0").expect("bound");
    let mut child = Command::new(env!("CARGO_BIN_EXE_crivello"))
        .args(["crawl", "--seeds", "-", "--contact", "me@a.example", "--ip-delay", "0s"])
        .args(["--allow-network", "127.0.0.0/8", "--out"])
        .arg(&out)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("piped");
    // Input continues; the next line is incomplete.
    write!(stdin, "http://{}/\nhttp://", server.local_addr().expect("bound"))
        .expect("the program reads its input");
    let _visitor = server.accept().expect("a connection of the crawler");
    child.kill().expect("kill the child");
    child.wait().expect("the exit status of the child");
}

#[test]
fn an_unwritable_report_does_not_change_the_exit() {
    let (out, dir) = (absent("unreported"), absent("reports"));
    fs::create_dir(&dir).expect("made");
    let mut child = Command::new(env!("CARGO_BIN_EXE_crivello"))
        .args(["crawl", "--seeds", "-", "--contact", "me@a.example", "--report"])
        .arg(dir.join("report.json"))
        .arg("--out")
        .arg(&out)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    while !out.join("crawl.toml").exists() {
        thread::sleep(Duration::from_millis(10));
    }
    fs::remove_dir(&dir).expect("the directory is empty");
    let stdin = child.stdin.take();
    signal(&child, Signal::INT);
    let (code, stderr) = ended(child);
    drop(stdin);
    assert_eq!(code, Some(130), "{stderr}");
    assert!(stderr.contains("To resume: ") && stderr.contains("report.json"), "{stderr}");
}
