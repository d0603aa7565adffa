//! Replay in pywb of PyPI, with our own index: each capture shows the page as it was at that time, also
//! if the server only called it unmodified.

use crate::python;
use crivello_tests::warc::{Archive, listed};
use crivello_tests::{Scene, seed};
use simweb::changes::Changes;
use simweb::{PageKind, Spec};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Duration of each of the three runs.
const RUN: Duration = Duration::from_secs(9);

/// A server that is killed when it is dropped.
pub struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns the status and the body of a page of the server.
pub fn get(port: u16, path: &str) -> Option<(String, Vec<u8>)> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\n\r\n").ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok()?;
    let end = answer.windows(4).position(|w| w == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&answer[..end]).into_owned();
    let status = head.split(' ').nth(1).unwrap_or_default().to_owned();
    Some((status, answer[end + 4..].to_vec()))
}

/// Starts pywb with a collection `site` of the archive in `warc`.
fn pywb(programs: &Path, dir: &Path, warc: &Path) -> (Server, u16) {
    let mut lines = Vec::new();
    for index in listed(warc, ".cdxj") {
        let text = std::fs::read_to_string(index).expect("an index");
        lines.extend(text.lines().map(str::to_owned));
    }
    lines.sort_unstable();
    pywb_with(programs, dir, &listed(warc, ".warc.gz"), &(lines.join("\n") + "\n"))
}

/// Starts pywb with a collection `site` of WARC files and an index.
pub fn pywb_with(programs: &Path, dir: &Path, warcs: &[PathBuf], index: &str) -> (Server, u16) {
    let collection = dir.join("collections/site");
    let init = Command::new(programs.join("wb-manager"))
        .args(["init", "site"])
        .current_dir(dir)
        .output()
        .expect("wb-manager runs");
    assert!(init.status.success(), "{}", String::from_utf8_lossy(&init.stderr));
    for file in warcs {
        let name = file.file_name().expect("a name");
        std::fs::copy(file, collection.join("archive").join(name)).expect("copied");
    }
    std::fs::write(collection.join("indexes/index.cdxj"), index).expect("written");
    let port =
        TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port").port();
    let child = Command::new(programs.join("wayback"))
        .args(["-b", "127.0.0.1", "-p", &port.to_string()])
        .current_dir(dir)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("wayback runs");
    let (server, mut tries) = (Server(child), 0);
    while get(port, "/").is_none() {
        tries += 1;
        assert!(tries < 400, "pywb does not answer");
        std::thread::sleep(Duration::from_millis(300));
    }
    (server, port)
}

/// Each record of a page is complete, or a page whose payload is archived already is a revisit of that.
#[test]
#[ignore = "installs pywb: make nightly"]
fn pywb_replays_each_version_of_a_page_over_three_runs() {
    let Some(programs) = python::install("pywb==2.10.0") else { return };
    for revisits in [false, true] {
        replay(&programs, revisits);
    }
}

fn replay(programs: &Path, revisits: bool) {
    let changes = Changes::between(Duration::from_secs(6), Duration::from_secs(60));
    // Pages with false validators are sent in full although they are the same.
    let changes = Changes { etag_lies: 0.5, last_modified_lies: 0.5, ..changes };
    let spec = Spec::new(seed()).size(1, 1, 12).ips(1).changes(changes);
    let scene = Scene::new(spec.portion(0.2, PageKind::Duplicate))
        .delays("50ms", "0ms")
        .set("recrawl.policy=fixed")
        .set("recrawl.interval=3s")
        .set("recrawl.interval-min=1s")
        .set(&format!("store.revisits={revisits}"));
    for _ in 0..3 {
        let child = scene.start();
        std::thread::sleep(RUN);
        child.stop();
        let _ = scene.end(child);
    }
    let archive = Archive::read(&scene.out());
    let dir = tempfile::tempdir().expect("a directory");
    let (_server, port) = pywb(programs, dir.path(), &scene.out().join("warc"));
    let (mut current, mut payloads) = (BTreeMap::new(), BTreeMap::new());
    let (mut n_not_modified, mut n_same_payload) = (0, 0);
    for record in archive.captures().filter(|record| !record.is_robots()) {
        if record.is_not_modified() {
            n_not_modified += 1;
        } else if record.kind() == "revisit" {
            n_same_payload += 1;
            current.insert(record.url(), payloads[record.must("WARC-Payload-Digest")]);
        } else {
            let (_, body) = record.http();
            payloads.insert(record.must("WARC-Payload-Digest"), body);
            current.insert(record.url(), body);
        }
        let date = record.must("WARC-Date");
        let digits: String = date.chars().filter(char::is_ascii_digit).take(14).collect();
        let replayed = get(port, &format!("/site/{digits}id_/{}", record.url()));
        let (status, body) = replayed.expect("pywb answers");
        assert_eq!(status, "200", "{} at {date}", record.url());
        assert!(body == current[record.url()], "{} at {date} is another version", record.url());
    }
    assert!(n_not_modified > 5, "{n_not_modified} records of answers 304");
    assert_eq!(n_same_payload > 5, revisits, "{n_same_payload} revisits of the same payload");
}
