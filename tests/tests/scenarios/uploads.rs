//! Copies of archive files in an S3 store, a real server process behind a proxy that cuts connections, answers 503, is
//! slow, changes entity tags and damages bytes, while the crawler is killed: each object is its file, or the table of it,
//! and there is no other.

use crate::python;
use crivello_tests::warc::listed;
use crivello_tests::{Scene, SmallDisk, seed};
use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::Value;
use simweb::Spec;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Permissions};
use std::io::{BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::Duration;
use test_size::sized;

const JUDGE: &str = include_str!("uploads/judge.py");
const SECRET: &str = "uploads/test+secret0123456789";
/// Faults of one scenario.
const FAULTS_MAX: u32 = 40;

/// A server of PyPI's moto, in memory.
struct Moto {
    process: Child,
    at: SocketAddr,
}

impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// An HTTP message.
#[derive(Clone, Default)]
struct Message {
    first: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Message {
    fn read(stream: &mut impl std::io::BufRead, has_body: bool) -> Option<Self> {
        let mut message = Self::default();
        let mut line = String::new();
        while stream.read_line(&mut line).ok()? > 2 {
            match line.trim_end().split_once(": ") {
                Some((name, value)) if !message.first.is_empty() => {
                    message.headers.push((name.to_ascii_lowercase(), value.to_owned()));
                }
                _ => message.first = line.trim_end().to_owned(),
            }
            line.clear();
        }
        let length = message.header("content-length").and_then(|text| text.parse().ok());
        match length {
            _ if !has_body => {}
            Some(length) => {
                message.body = vec![0; length];
                stream.read_exact(&mut message.body).ok()?;
            }
            None if message.first.starts_with("HTTP/") => {
                stream.read_to_end(&mut message.body).ok()?;
            }
            None => {}
        }
        (!message.first.is_empty()).then_some(message)
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    fn set_header(&mut self, name: &str, value: &str) {
        self.headers.retain(|(n, _)| n != name);
        self.headers.push((name.to_owned(), value.to_owned()));
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = format!("{}\r\n", self.first).into_bytes();
        for (name, value) in &self.headers {
            bytes.extend(format!("{name}: {value}\r\n").into_bytes());
        }
        bytes.extend(b"\r\n");
        bytes.extend(&self.body);
        bytes
    }

    fn damage(&mut self) {
        if let Some(byte) = self.body.last_mut() {
            *byte ^= 0x40;
        }
    }
}

impl Moto {
    fn start() -> Option<Self> {
        let programs = python::install("moto[server]==5.2.5")?;
        let at = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port");
        let process = Command::new(programs.join("moto_server"))
            .args(["-H", "127.0.0.1", "-p", &at.port().to_string()])
            .env("S3_UPLOAD_PART_MIN_SIZE", "1")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("moto starts");
        let moto = Self { process, at };
        for _ in 0..600 {
            if TcpStream::connect(at).is_ok() {
                assert!(moto.request("PUT", "/bucket").first.contains(" 200 "));
                return Some(moto);
            }
            sleep(Duration::from_millis(100));
        }
        panic!("moto does not listen");
    }

    fn request(&self, method: &str, path: &str) -> Message {
        let headers = "host: localhost\r\nauthorization: AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0\r\nconnection: close\r\ncontent-length: 0";
        let request = format!("{method} {path} HTTP/1.1\r\n{headers}\r\n\r\n");
        forward(self.at, request.as_bytes(), true).expect("moto answers")
    }

    /// Returns the objects by name.
    fn objects(&self) -> BTreeMap<String, Vec<u8>> {
        let list =
            String::from_utf8(self.request("GET", "/bucket?list-type=2").body).expect("UTF-8");
        assert!(list.contains("<IsTruncated>false</IsTruncated>"), "{list}");
        let names = list.split("<Key>").skip(1).map(|rest| rest.split('<').next().expect("a name"));
        let body = |name: &str| self.request("GET", &format!("/bucket/{name}")).body;
        names.map(|name| (name.to_owned(), body(name))).collect()
    }

    /// Returns the number of uploads that were begun and are not completed.
    fn unfinished(&self) -> usize {
        let list = String::from_utf8(self.request("GET", "/bucket?uploads").body).expect("UTF-8");
        list.matches("<UploadId>").count()
    }
}

fn forward(to: SocketAddr, request: &[u8], has_body: bool) -> Option<Message> {
    let mut stream = TcpStream::connect(to).ok()?;
    stream.write_all(request).ok()?;
    Message::read(&mut BufReader::new(stream), has_body)
}

/// Counts of the proxy's work.
#[derive(Default)]
struct Done {
    faults: BTreeMap<&'static str, u32>,
    begun: u32,
    completed: u32,
}

/// Starts a proxy with faults. Returns its address.
fn proxy(to: SocketAddr, seed: u64, rate: f64) -> (SocketAddr, Arc<Mutex<Done>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = listener.local_addr().expect("an address");
    let (done, dice) = (Arc::<Mutex<Done>>::default(), SmallRng::seed_from_u64(seed));
    let (of_proxy, dice) = (done.clone(), Arc::new(Mutex::new(dice)));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (dice, done) = (dice.clone(), of_proxy.clone());
            std::thread::spawn(move || relay(&stream, to, rate, &dice, &done));
        }
    });
    (at, done)
}

fn relay(
    stream: &TcpStream,
    to: SocketAddr,
    rate: f64,
    dice: &Mutex<SmallRng>,
    done: &Mutex<Done>,
) -> Option<()> {
    const FAULTS: [&str; 8] =
        ["cut", "503", "slow", "etag", "sent bytes", "read bytes", "no answer", "half an answer"];
    let mut request = Message::read(&mut BufReader::new(stream), true)?;
    let fault = {
        let mut dice = dice.lock().expect("the dice");
        let fault = FAULTS[dice.random_range(0..FAULTS.len())];
        dice.random_bool(rate).then_some(fault)
    };
    let begins = request.first.starts_with("POST") && request.first.contains("?uploads");
    let fault = {
        let mut done = done.lock().expect("what is done");
        let is_over = done.faults.values().sum::<u32>() >= FAULTS_MAX;
        // The parts of an upload whose id never arrives cannot be removed.
        let fits = !(begins && matches!(fault, Some("no answer" | "half an answer")));
        let fault = fault.filter(|_| !is_over && fits);
        if let Some(fault) = fault {
            *done.faults.entry(fault).or_default() += 1;
        }
        fault
    };
    let mut out = stream;
    match fault {
        Some("cut") => return None,
        Some("503") => {
            let body = "<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>";
            let head = format!(
                "HTTP/1.1 503 Slow Down\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
                body.len()
            );
            return out.write_all(format!("{head}{body}").as_bytes()).ok();
        }
        Some("slow") => sleep(Duration::from_millis(700)),
        Some("sent bytes") => request.damage(),
        _ => {}
    }
    request.set_header("connection", "close");
    let mut answer = forward(to, &request.bytes(), !request.first.starts_with("HEAD"))?;
    {
        let mut done = done.lock().expect("what is done");
        let is_ok = answer.first.contains(" 200 ");
        done.begun += u32::from(is_ok && begins);
        let completes = request.first.starts_with("POST") && request.first.contains("uploadId=");
        done.completed += u32::from(is_ok && completes);
    }
    answer.set_header("connection", "close");
    match fault {
        Some("etag") if answer.header("etag").is_some() => {
            answer.set_header("etag", "\"0123456789abcdef0123456789abcdef\"");
        }
        Some("read bytes") if request.first.starts_with("GET") => answer.damage(),
        Some("no answer") => return None,
        Some("half an answer") => {
            let bytes = answer.bytes();
            return out.write_all(&bytes[..bytes.len() / 2]).ok();
        }
        _ => {}
    }
    out.write_all(&answer.bytes()).ok()
}

fn write_credentials(dir: &Path) -> String {
    let file = dir.join("credentials");
    fs::write(&file, format!("AWS_ACCESS_KEY_ID=AKIDOFTHETEST\nAWS_SECRET_ACCESS_KEY={SECRET}\n"))
        .expect("written");
    fs::set_permissions(&file, Permissions::from_mode(0o600)).expect("a mode");
    format!("upload.credentials-file={:?}", file.display().to_string())
}

fn scene(seed: u64, endpoint: SocketAddr, delay: &str) -> Scene {
    let mut spec = Spec::new(seed).size(8, 2, 25).ips(16);
    spec.body_bytes = 150_000;
    let scene = Scene::new(spec).delays(delay, "0ms");
    let credentials = write_credentials(scene.dir());
    scene
        .set("upload.url=s3://bucket/crawls/one")
        .set(&format!("upload.endpoint=http://{endpoint}"))
        .set(&credentials)
        .set("upload.part-size=128KiB")
        .set("store.file-size-max=1MiB")
        .set("state.sync-interval=50ms")
        .allow_log_line("archive files cannot be uploaded; they wait")
        .allow_log_line("archive files are not uploaded; the next run does it")
}

/// Returns the files of the archive, by the names that their objects must have.
fn files(scene: &Scene) -> BTreeMap<String, Vec<u8>> {
    let dir = scene.out().join("warc");
    let all = [".warc.gz", ".cdxj"].into_iter().flat_map(|suffix| listed(&dir, suffix));
    let object = |path: std::path::PathBuf| {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        (format!("crawls/one/agent-0/{name}"), fs::read(&path).expect("read"))
    };
    all.map(object).collect()
}

/// Returns the names that the objects of files and of their tables must have.
fn expected_names(files: &BTreeMap<String, Vec<u8>>) -> BTreeSet<String> {
    let table = |name: &String| Some(format!("{}.parquet", name.strip_suffix(".warc.gz")?));
    files.keys().cloned().chain(files.keys().filter_map(table)).collect()
}

/// Checks that the objects are the files and their tables, whose rows are the lines of the indexes.
#[track_caller]
fn assert_same(objects: &BTreeMap<String, Vec<u8>>, files: &BTreeMap<String, Vec<u8>>) {
    assert_eq!(objects.keys().cloned().collect::<BTreeSet<_>>(), expected_names(files));
    let differ: Vec<_> = files.iter().filter(|(name, bytes)| objects[*name] != **bytes).collect();
    assert!(differ.is_empty(), "{} objects differ from their files", differ.len());
    let Some(programs) = python::install("pyarrow==26.0.1 duckdb==2.0.1 warcio==1.8.1") else {
        return;
    };
    let dir = tempfile::tempdir().expect("a directory");
    for (name, bytes) in objects {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, bytes).expect("written");
    }
    let judged = Command::new(programs.join("python"))
        .args(["-c", JUDGE])
        .arg(dir.path())
        .output()
        .expect("python runs");
    assert!(judged.status.success(), "{}", String::from_utf8_lossy(&judged.stderr));
    let n_tables = String::from_utf8_lossy(&judged.stdout).trim().to_owned();
    assert_eq!(n_tables, (files.len() / 2).to_string());
}

#[test]
fn kills_and_faults_lose_nothing_and_store_nothing_twice() {
    let Some(moto) = Moto::start() else { return };
    let n_kills = sized(4, 12);
    let seed = seed();
    let (at, done) = proxy(moto.at, seed, 0.2);
    let scene = scene(seed, at, "20ms").within(Duration::from_secs(300));
    let mut dice = SmallRng::seed_from_u64(seed);
    for n in 0..n_kills {
        let mut child = scene.start();
        let begun = done.lock().expect("what is done").begun;
        scene.wait_for_requests(&mut child, scene.web.log().len() + 30);
        // Two of three in the middle of an upload.
        for _ in 0..300 {
            let is_begun = done.lock().expect("what is done").begun > begun;
            if n % 3 == 0 || is_begun || child.try_wait().expect("waited for").is_some() {
                break;
            }
            sleep(Duration::from_millis(10));
        }
        sleep(Duration::from_millis(dice.random_range(0..150)));
        if child.try_wait().expect("waited for").is_none() {
            child.kill().expect("kill the crawler");
            let _ = scene.end(child);
        }
    }
    let mut log = scene.log();
    let _ = scene.crawl().succeeded();
    log.push_str(&scene.log());
    // What the last run has not copied in time is copied now, without pages.
    for _ in 0..5 {
        if moto.objects().len() == expected_names(&files(&scene)).len() {
            break;
        }
        let _ = scene.crawl().succeeded();
        log.push_str(&scene.log());
    }
    assert_same(&moto.objects(), &files(&scene));
    let done = done.lock().expect("what is done");
    println!(
        "{:?}, {} uploads begun, {} completed, {} kills",
        done.faults, done.begun, done.completed, n_kills
    );
    assert!(done.begun > done.completed && done.completed > 2);
    assert!(done.faults.len() >= 6, "{:?}", done.faults);
    // A kill may fall between the answer to the begin of an upload and the line in the journal.
    assert!(moto.unfinished() <= n_kills, "{}", moto.unfinished());

    let journal = fs::read_to_string(scene.out().join("uploads.jsonl")).expect("a journal");
    let stored = journal.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let stored: Vec<_> = stored.filter(|line| line["stored"].is_object()).collect();
    // A file that changed after it was stored, as an index that is made again after a kill, has a line for each time.
    let stored: BTreeSet<String> = stored.iter().map(|line| line["object"].to_string()).collect();
    assert_eq!(stored.len(), expected_names(&files(&scene)).len());
    let report = fs::read_to_string(scene.dir().join("report.json")).expect("the report");
    for text in [&log, &journal, &report] {
        assert!(
            !text.contains(SECRET) && !text.contains("AKIDOFTHETEST"),
            "a credential is in {text}"
        );
    }
    let all = Command::new("grep")
        .args(["-rlaF", "-e", SECRET, "-e", "AKIDOFTHETEST"])
        .arg(scene.out())
        .output()
        .expect("grep runs");
    assert_eq!(all.status.code(), Some(1), "{}", String::from_utf8_lossy(&all.stdout));
}

#[test]
fn a_dead_store_stops_nothing_and_the_next_run_copies_all() {
    let Some(moto) = Moto::start() else { return };
    let nobody = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port");
    let seed = seed();
    // The crawl lasts long enough for a look at its numbers.
    let scene = scene(seed, nobody, "150ms").set("upload.end-wait=1s").arg("--http=127.0.0.1:0");
    let mut child = scene.start();
    let watched = scene.watch(&mut child);
    let failing = watched.until(Duration::from_millis(20), |look| {
        look.number("crivello_upload_failing_seconds") > 0.0
            && look.number("crivello_upload_waiting_files") >= 2.0
    });
    assert!(failing.number("crivello_upload_failures_total") >= 1.0);
    let first = scene.end(child).succeeded();
    assert!(first.stderr.contains("archive files cannot be uploaded"), "{}", first.stderr);
    let pages = first.count("totals/pages");
    assert!(pages > 200, "{pages}");
    assert!(moto.objects().is_empty());
    let sealed_then = files(&scene).len();
    let second = scene
        .set(&format!("upload.endpoint=http://{}", moto.at))
        .set("upload.delete-after=true")
        .set("upload.end-wait=60s");
    let expected = files(&second);
    assert_eq!(expected.len(), sealed_then);
    let ended = second.crawl().succeeded();
    assert_eq!(ended.count("totals/pages"), pages);
    assert_same(&moto.objects(), &expected);
    // Only the last file is still here.
    assert_eq!(files(&second).len(), 2);
}

/// A directory as a store, on a disk that is full for a while.
#[test]
fn a_full_store_stops_nothing_is_reported_and_goes_on_when_there_is_space() {
    let Some(disk) = SmallDisk::mount("64m") else { return };
    let ballast = disk.fill(256 << 10);
    let store = disk.path().join("store");
    let spec = Spec { body_bytes: 150_000, ..Spec::new(seed()).size(8, 2, 25).ips(16) };
    let scene = Scene::new(spec)
        .delays("150ms", "0ms")
        .set(&format!("upload.url=file://{}", store.display()))
        .set("store.file-size-max=1MiB")
        .set("state.sync-interval=50ms")
        .allow_log_line("archive files cannot be uploaded; they wait")
        .arg("--http=127.0.0.1:0");
    let mut child = scene.start();
    let watched = scene.watch(&mut child);
    let failing = watched.until(Duration::from_millis(20), |look| {
        look.number("crivello_upload_failing_seconds") > 0.0
            && look.number("crivello_upload_waiting_files") >= 2.0
    });
    assert!(failing.number("crivello_upload_failures_total") >= 1.0);
    // The crawl goes on.
    let n_requests = scene.web.log().len();
    scene.wait_for_requests(&mut child, n_requests + 20);
    fs::remove_file(ballast).expect("removed");
    let ended = scene.end(child).succeeded();
    assert!(ended.stderr.contains("archive files cannot be uploaded"), "{}", ended.stderr);
    assert!(ended.stderr.contains("No space left on device"), "{}", ended.stderr);
    let stored = [".warc.gz", ".cdxj", ".parquet"]
        .into_iter()
        .flat_map(|suffix| listed(&store.join("agent-0"), suffix))
        .map(|path| {
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            (format!("agent-0/{name}"), fs::read(&path).expect("read"))
        })
        .collect();
    // Names are relative to the directory of the store.
    let relative = |(name, bytes): (String, Vec<u8>)| (name.replace("crawls/one/", ""), bytes);
    assert_same(&stored, &files(&scene).into_iter().map(relative).collect());
    let left = fs::read_dir(store.join("agent-0")).expect("a directory").count();
    assert_eq!(left, stored.len(), "files that are no objects are left");
}
