//! Invalid input and environment: settings, seeds, directories, a damaged state, no DNS, no
//! network. Each is reported with the right exit code and leaves existing data unchanged. The
//! crawler never panics, and never silently starts from nothing.

use crivello_tests::warc::{Archive, listed};
use crivello_tests::{Ended, Scene, assert_agreement, binary, output, seed};
use simweb::{Character, DnsWay, JudgeLimits, Pace, Spec};
use std::collections::BTreeMap;
use std::fs;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const DELAY: Duration = Duration::from_millis(20);

fn scene() -> Scene {
    Scene::new(Spec::new(seed()).size(3, 2, 10)).delays("20ms", "0ms")
}

fn assert_finished(scene: &Scene, ended: &Ended) {
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let pace = Pace::delays(DELAY, Duration::ZERO);
    scene.assert_clean(&scene.judge(JudgeLimits::default(), pace));
    assert_agreement(scene, ended);
}

/// Returns the files below a directory with their contents, except RocksDB's log and lock files.
fn contents(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).expect("a directory") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                dirs.push(path);
            } else if !name.starts_with("LOG") && name != "LOCK" {
                files.insert(path.clone(), fs::read(&path).expect("readable"));
            }
        }
    }
    files
}

#[test]
fn settings_that_are_wrong_are_refused_before_anything_is_begun() {
    let scene = scene();
    let cases: [(&[&str], &[&str]); 11] = [
        (&["--set", "politeness.dellay=1s"], &["dellay", "delay"]),
        (&["--set", "politeness.delay=10"], &["politeness.delay", "unit"]),
        (&["--set", "store.file-size-max=100"], &["store.file-size-max", "unit"]),
        (&["--set", "nowhere.at-all=1"], &["nowhere"]),
        (&["--set", "fetch.visits-max=0"], &["fetch.visits-max"]),
        (&["--config", "/dev/null/absent.toml"], &["absent.toml"]),
        (&["--set", "links.admit=url.hosd == 'a'"], &["links.admit", "column 1", "`url.host`"]),
        (&["--set", "links.admit=link.depth < 1.5"], &["links.admit", "column", "double"]),
        (&["--set", "pages.keep=page.status == 200"], &["pages.keep", "string"]),
        (&["--set", "recrawl.weight=url.host"], &["recrawl.weight"]),
        (
            &["--set", r#"links.admit=url.path.matches("((a{100}){100}){100}")"#],
            &["links.admit", "the regular expression needs more than"],
        ),
    ];
    for (args, words) in cases {
        let output = output(scene.command().args(args));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(64), "{args:?}: {stderr}");
        for word in words {
            assert!(stderr.contains(word), "{args:?}: no {word:?} in {stderr}");
        }
        assert!(!scene.out().exists(), "{args:?}: a crawl was started");
    }
    assert!(scene.web.log().is_empty());
}

#[test]
fn a_seed_that_is_no_url_is_named_by_its_line_and_the_rest_goes_on() {
    let scene = scene();
    let file = scene.dir().join("seeds.txt");
    let good = scene.web.seeds();
    let text =
        format!("# mine\n{}\nnot a url\nmailto:me@a.test\n\n{}\n{}\n", good[0], good[1], good[2]);
    fs::write(&file, text).expect("written");
    let scene = scene.seeds(&["what is this"]).arg("--seeds").arg(file.display().to_string());
    let ended = scene.crawl();
    for place in ["seeds.txt:3", "seeds.txt:4", "argument 1"] {
        assert!(ended.stderr.contains(place), "no {place} in {}", ended.stderr);
    }
    assert_eq!((ended.count("seeds/taken"), ended.count("seeds/refused")), (3, 3));
    assert_finished(&scene, &ended);
}

/// An error in the seeds does not tie the directory to another crawl.
#[test]
fn seeds_that_are_all_wrong_are_refused_and_can_be_mended() {
    let wrong: [(&str, &[&str]); 3] = [
        ("not a url\nneither\n", &[]),
        ("", &[]),
        ("http://elsewhere.test/\n", &["--set", "links.include=[{host-suffix='nowhere.test'}]"]),
    ];
    for (text, args) in wrong {
        let scene = scene();
        let (file, good) = (scene.dir().join("seeds.txt"), scene.web.seeds());
        let scene = scene.seeds(&[]).arg("--seeds").arg(file.display().to_string());
        fs::write(&file, text).expect("written");
        let output = scene.command().args(args).output().expect("the program starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(64), "{text:?}: {stderr}");
        assert!(stderr.contains("no seeds"), "{text:?}: {stderr}");
        fs::write(&file, good.join("\n")).expect("written");
        let scene = scene.set("links.include=[]");
        let ended = scene.crawl();
        assert_finished(&scene, &ended);
    }
}

#[test]
fn a_directory_that_cannot_be_used_is_refused() {
    let scene = scene();
    let file = scene.dir().join("a-file");
    fs::write(&file, "mine").expect("written");
    let below = file.join("crawl");
    let mut cases = vec![file.clone(), below];
    // A path to which even root cannot write.
    cases.push(PathBuf::from("/proc/crivello-crawl"));
    for out in cases {
        let scene = Scene::new(Spec::new(1).size(1, 1, 1)).out_in(&out);
        let ended = scene.crawl();
        assert_eq!(ended.code, Some(64), "{}: {}", out.display(), ended.stderr);
        assert!(ended.stderr.contains(&out.display().to_string()), "{}", ended.stderr);
        assert!(scene.web.log().is_empty(), "something was fetched");
    }
    assert_eq!(fs::read_to_string(&file).expect("the file exists"), "mine");
}

#[test]
fn two_processes_on_one_directory_do_not_meet() {
    // Enough pages that the first process still runs, however slowly the second one starts.
    let scene = Scene::new(Spec::new(seed()).size(3, 2, 60)).delays("100ms", "0ms");
    let mut first = scene.start();
    scene.wait_for_requests(&mut first, 20);
    let second = output(Command::new(binary()).args(["crawl", "--out"]).arg(scene.out()));
    assert!(first.try_wait().expect("waited for").is_none(), "the first crawler ended");
    let stderr = String::from_utf8_lossy(&second.stderr);
    assert!(matches!(second.status.code(), Some(64 | 70)), "{:?} {stderr}", second.status);
    assert!(stderr.contains("another process"), "{stderr}");
    let ended = scene.end(first).succeeded();
    let pace = Pace::delays(Duration::from_millis(100), Duration::ZERO);
    scene.assert_clean(&scene.judge(JudgeLimits::default(), pace));
    assert_agreement(&scene, &ended);
}

/// Writes of the owner do not look like damage to another process.
#[test]
fn a_state_that_is_in_use_is_not_called_damaged() {
    let scene = Scene::new(Spec::new(seed()).size(3, 2, 10)).delays("100ms", "0ms");
    let scene = scene.set("state.sync-interval=1h");
    let mut first = scene.start();
    scene.wait_for_requests(&mut first, 5);
    // Simulates a sync by the owner between two reads.
    fs::write(scene.out().join("state/SYNCED"), u64::MAX.to_string()).expect("written");
    let second = Command::new(binary())
        .args(["crawl", "--out"])
        .arg(scene.out())
        .output()
        .expect("the program starts");
    let stderr = String::from_utf8_lossy(&second.stderr);
    assert!(stderr.contains("another process") && !stderr.contains("damaged"), "{stderr}");
    assert_eq!(scene.end(first).code, Some(0));
}

#[test]
fn without_dns_it_ends_and_says_why() {
    // A name server that receives queries and never answers.
    let silent = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let address = silent.local_addr().expect("an address");
    let scene = Scene::new(Spec::new(seed()).size(2, 1, 3)).dns(address).delays("10ms", "0ms");
    let scene = scene
        .allow_log_line("no name could be resolved so far")
        .set("dns.timeout=100ms")
        .set("dns.error-ttl=50ms")
        .set("politeness.backoff-first=20ms")
        .set("politeness.backoff-max=50ms");
    let ended = scene.crawl().succeeded();
    assert_eq!(ended.count("totals/pages"), 0);
    assert_eq!(ended.count("totals/urls_queued"), 0);
    let told = format!("{}{}", ended.report["errors"], ended.report["skipped"]);
    assert!(told.contains("dns"), "{told}");
    assert_eq!(ended.stderr.matches("no name could be resolved").count(), 1, "{}", ended.stderr);
    assert!(scene.web.log().is_empty());
}

#[test]
fn without_a_network_it_ends_and_says_why() {
    // The names resolve, but nothing listens at the addresses.
    let nobody = Character { port: Some(2), ..Character::named("nobody") };
    let gone = Character::named("gone").dns(DnsWay::NoSuchName);
    let spec = Spec::new(seed()).size(1, 1, 1).host("nobody.test", nobody).host("gone.test", gone);
    let scene = Scene::new(spec)
        .delays("10ms", "0ms")
        .set("politeness.backoff-first=20ms")
        .set("politeness.backoff-max=50ms")
        .seeds(&["http://nobody.test:2/", "http://gone.test:2/"]);
    let ended = scene.crawl().succeeded();
    assert_eq!((ended.count("totals/pages"), ended.count("totals/urls_queued")), (0, 0));
    let told = format!("{}{}", ended.report["errors"], ended.report["skipped"]);
    assert!(told.contains("connect") && told.contains("dns"), "{told}");
}

/// A modification of a file.
type Damage = fn(&Path);

/// A crawl that was stopped in the middle, with state both in tables and in the write-ahead log.
struct Stopped {
    scene: Scene,
    kept: PathBuf,
}

impl Stopped {
    fn new() -> Self {
        let scene = Scene::new(Spec::new(seed()).size(3, 2, 40))
            .delays("50ms", "0ms")
            .set("store.file-size-max=1MiB");
        for _ in 0..3 {
            let mut child = scene.start();
            scene.wait_for_requests(&mut child, scene.web.log().len() + 20);
            child.stop();
            assert_eq!(scene.end(child).code, Some(130));
        }
        let kept = scene.dir().join("kept");
        copy(&scene.out(), &kept);
        Self { scene, kept }
    }

    fn restore(&self) {
        fs::remove_dir_all(self.scene.out()).expect("removed");
        copy(&self.kept, &self.scene.out());
    }

    fn resume(&self) -> (Option<i32>, String) {
        let output = output(Command::new(binary()).args(["crawl", "--out"]).arg(self.scene.out()));
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// Returns the files of the state or of the archive whose names begin or end with `suffix`.
    fn files(&self, dir: &str, suffix: &str) -> Vec<PathBuf> {
        let named = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            suffix.is_empty() || name.ends_with(suffix) || name.starts_with(suffix)
        };
        listed(&self.scene.out().join(dir), "").into_iter().filter(named).collect()
    }

    /// Damages files, and checks that the damage is reported, nothing else is changed, and nothing
    /// is fetched.
    fn damage(&self, what: &str, dir: &str, suffix: &str, how: Damage) {
        self.restore();
        let files = self.files(dir, suffix);
        let files: Vec<_> = files
            .into_iter()
            .filter(|path| fs::metadata(path).is_ok_and(|m| m.len() > 0))
            .collect();
        assert!(!files.is_empty(), "{what}: no {suffix} in {dir}");
        files.iter().for_each(|path| how(path));
        // RocksDB modifies its own files whenever it is opened.
        let part = self.scene.out().join(if dir == "warc" { dir } else { "" });
        let before = contents(&part);
        let n_requests = self.scene.web.log().len();
        // The second attempt must not find the damage repaired by the first.
        for attempt in 1..=2 {
            let (code, stderr) = self.resume();
            assert!(matches!(code, Some(64 | 70)), "{what} {attempt}: {code:?} {stderr}");
            let words = ["damaged", "orrupt", "cannot be opened", "missing", "cannot be read"];
            let said = words.iter().any(|word| stderr.contains(word));
            assert!(said && !stderr.contains("panicked"), "{what} {attempt}: {stderr}");
            let named = self.scene.out().display().to_string();
            assert!(
                stderr.contains(&named),
                "{what} {attempt}: the message does not name the directory: {stderr}"
            );
        }
        let after = contents(&part);
        let changed: Vec<_> = before.keys().filter(|p| before.get(*p) != after.get(*p)).collect();
        assert!(changed.is_empty(), "{what}: changed {changed:?}");
        assert_eq!(self.scene.web.log().len(), n_requests, "{what}: something was fetched");
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("created");
    for entry in fs::read_dir(from).expect("a directory") {
        let path = entry.expect("an entry").path();
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).expect("copied");
        }
    }
}

fn delete(path: &Path) {
    fs::remove_file(path).expect("removed");
}

fn halve(path: &Path) {
    let bytes = fs::read(path).expect("readable");
    fs::write(path, &bytes[..bytes.len() / 2]).expect("written");
}

/// Flips one bit in every 64 bytes.
fn flip(path: &Path) {
    let mut bytes = fs::read(path).expect("readable");
    bytes.iter_mut().skip(20).step_by(64).for_each(|byte| *byte ^= 0x10);
    if bytes.len() <= 20 {
        bytes.iter_mut().for_each(|byte| *byte ^= 0x10);
    }
    fs::write(path, bytes).expect("written");
}

#[test]
fn a_damaged_state_is_said_and_left_as_it_is() {
    let stopped = Stopped::new();
    let ways: [(&str, Damage); 3] = [("deleted", delete), ("halved", halve), ("flipped", flip)];
    for suffix in [".sst", "MANIFEST", "CURRENT", ".log"] {
        for (way, how) in ways {
            stopped.damage(&format!("{suffix} {way}"), "state", suffix, how);
        }
    }
    stopped.damage("archive deleted", "warc", ".warc.gz", delete);
    stopped.damage("archive halved", "warc", ".warc.gz", halve);
    stopped.damage("index halved", "warc", ".cdxj", halve);
    stopped.damage("index deleted", "warc", ".cdxj", delete);
    // Damages the settings.
    for (what, text) in [("emptied", ""), ("cut", "[identity]\ncontact = \"me@a.example\"\n")] {
        stopped.restore();
        let path = stopped.scene.out().join("crawl.toml");
        fs::write(&path, text).expect("written");
        let before = contents(&stopped.scene.out());
        let (code, stderr) = stopped.resume();
        assert_eq!(code, Some(70), "{what}: {stderr}");
        assert!(stderr.contains("damaged") && stderr.contains("crawl.toml"), "{what}: {stderr}");
        assert!(contents(&stopped.scene.out()) == before, "{what}: changed");
    }
    // Deletes the whole state.
    stopped.restore();
    fs::remove_dir_all(stopped.scene.out().join("state")).expect("removed");
    let (code, stderr) = stopped.resume();
    assert_eq!(code, Some(70), "{stderr}");
    assert!(!stopped.scene.out().join("state").exists(), "a new state was created");
    // The undamaged copy is complete and can be resumed.
    stopped.restore();
    let (code, stderr) = stopped.resume();
    assert_eq!(code, Some(0), "{stderr}");
    let pace = Pace::delays(Duration::from_millis(50), Duration::ZERO);
    stopped.scene.assert_clean(&stopped.scene.judge(JudgeLimits::default(), pace));
    let _ = Archive::read(&stopped.scene.out());
}
