//! `crivello tail`: each capture is printed once, in the order of its agent's archive, whatever ends and starts
//! again meanwhile; a reader that takes nothing disturbs nobody.

use crivello_tests::warc::listed;
use crivello_tests::{Cluster, binary, seed};
use serde_json::Value;
use simweb::{PageKind, Robots, Spec};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const AGENTS: [&str; 3] = ["a", "b", "c"];

/// A command that is killed when it is dropped.
struct Reader(Child);

impl Drop for Reader {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn follow(cluster: &Cluster, out: Stdio) -> Reader {
    let mut command = Command::new(binary());
    command.args(["tail", "--json", "--all", "--coordinator", &cluster.url()]);
    let errors = File::create(cluster.dir().join("tail-errors")).expect("a file");
    Reader(command.stdout(out).stderr(errors).spawn().expect("tail starts"))
}

/// File name, offset and URL of a capture. Files of two agents may have the same name.
type Place = (String, u64, String);

/// Returns the places of all lines of the indexes.
fn indexed(cluster: &Cluster) -> BTreeSet<Place> {
    let mut places = BTreeSet::new();
    for name in AGENTS {
        let dir = cluster.disk(name).join("warc");
        for path in [listed(&dir, ".cdxj"), listed(&dir, ".cdxj.part")].concat() {
            for line in fs::read_to_string(path).unwrap_or_default().lines() {
                let json =
                    line.splitn(3, ' ').nth(2).and_then(|json| serde_json::from_str(json).ok());
                places.extend(json.as_ref().map(place));
            }
        }
    }
    places
}

fn place(capture: &Value) -> Place {
    let text = |name: &str| capture[name].as_str().expect("a text").to_owned();
    (text("filename"), text("offset").parse().expect("a number"), text("url"))
}

/// Checks that captures are printed once, with those of an agent in their order, and returns their places.
fn once(printed: &str) -> BTreeSet<Place> {
    let (mut places, mut last) = (BTreeSet::new(), BTreeMap::new());
    // The last line may be incomplete.
    let whole = printed.rsplit_once('\n').map_or("", |(whole, _)| whole);
    for line in whole.lines() {
        assert!(!line.chars().any(char::is_control), "{line:?}");
        let capture: Value = serde_json::from_str(line).expect("JSON");
        let at = place(&capture);
        let before = last.insert(capture["agent"].as_u64(), at.clone());
        assert!(before.is_none_or(|before| before < at), "out of order: {line}");
        assert!(places.insert(at), "printed twice: {line}");
    }
    places
}

#[test]
fn each_capture_is_printed_once_while_agents_are_killed_and_started_again() {
    let web = Spec::new(seed()).size(24, 1, 50).ips(12).robots(Robots::standard());
    let web = web.portion(0.1, PageKind::Duplicate).portion(0.05, PageKind::Status(404));
    let mut cluster = Cluster::new(web)
        .delays(Duration::from_millis(250), Duration::from_millis(20))
        .set("state.commit-interval=50ms")
        .set("store.file-size-max=1MiB")
        .start(3);
    let followed = cluster.dir().join("followed");
    let file = File::create(&followed).expect("a file");
    let follower = follow(&cluster, file.into());
    // Nobody reads this pipe.
    let stuck = follow(&cluster, Stdio::piped());
    cluster.seed();
    let state = cluster.dir().join("tail-state").display().to_string();
    let resume = ["tail", "--json", "--all", "--no-follow", "--state", &state];
    let mut resumed = String::new();
    for (name, share) in [("b", 0.2), ("c", 0.5)] {
        cluster.wait_for_share(share);
        resumed += &cluster.run_ok(&resume);
        cluster.kill9(name);
        cluster.launch(name);
        cluster.wait_for_state(name, "active");
        resumed += &cluster.run_ok(&resume);
        assert!(!resumed.is_empty());
    }
    cluster.wait();
    cluster.until("all captures are printed", |cluster| {
        resumed += &cluster.run_ok(&resume);
        let printed = fs::read_to_string(&followed).expect("the output");
        let expected = indexed(cluster);
        once(&resumed) == expected && once(&printed) == expected
    });
    // A place that was printed is one at which another reader goes on.
    let lines: Vec<&str> = resumed.lines().collect();
    let capture: Value = serde_json::from_str(lines[lines.len() / 2]).expect("JSON");
    let agent = &capture["agent"];
    let of_agent = |lines: &[&str]| {
        let agent = format!("{{\"agent\": {agent},");
        lines
            .iter()
            .filter(|line| line.starts_with(&agent))
            .map(|line| (*line).to_owned())
            .collect::<Vec<_>>()
    };
    let position = capture["position"].as_str().expect("a position");
    let rest = cluster.run_ok(&["tail", "--json", "--no-follow", "--after", position]);
    let rest: Vec<&str> = rest.lines().collect();
    assert_eq!(of_agent(&rest), of_agent(&lines[lines.len() / 2 + 1..]));
    assert_eq!(rest.len(), of_agent(&rest).len(), "agents without a place begin now");
    let (code, _, stderr) = cluster.ask(&["tail", "--after", "1:2"]);
    assert!(code == Some(64) && stderr.contains("AGENT:FILE:OFFSET"), "{stderr}");
    drop((follower, stuck));
    let _ = cluster.finish(1_000);
}
