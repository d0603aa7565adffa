//! Recovery by a person: the coordinator's directory is lost, or replaced by an old copy; table files
//! of an agent's state are corrupt.
//!
//! Possible failures: a new coordinator refuses the agents; epochs are given out twice; an old copy
//! of the record is taken for the newest one; an agent goes on with rows that it cannot read; its
//! archive is harmed; what it had is not fetched by anyone.

use super::{IN_FLIGHT, cluster, finish, web};
use crivello_tests::Cluster;
use crivello_tests::cluster::COORDINATOR;
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The agents crawl on meanwhile; nothing is fetched twice.
#[test]
fn a_lost_coordinator_is_made_anew_from_the_views_of_its_agents() {
    let mut cluster =
        cluster(web(40)).allow_log_line("is not signed by the coordinator").start_until(3, 0.2);
    let listing = cluster.listing();
    let before = listing["epoch"].as_u64().expect("an epoch");
    let address = |n: usize| listing["agents"][n]["address"].as_str().expect("text").to_owned();
    cluster.kill9(COORDINATOR);
    let data = cluster.disk(COORDINATOR);
    fs::remove_dir_all(&data).expect("deleted");
    // One agent that runs, and the file of another, in whose directory the keys are.
    let copied = cluster.disk("b").join("cluster.view");
    let rebuild = |data: &Path| {
        let mut command = Command::new(crivello_tests::binary());
        command.args(["coordinator", "rebuild", &address(0)]).arg("--data").arg(data);
        command
    };
    let mut command = rebuild(&data.with_extension("tried"));
    let output = crivello_tests::output_within(command.arg(&copied), crivello_tests::DEADLINE);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // Agents that run only: the keys were copied.
    fs::create_dir(&data).expect("created");
    for key in ["identity.key", "coordinator.pub"] {
        fs::copy(cluster.disk("b").join(key), data.join(key)).expect("copied");
    }
    let mut command = rebuild(&data);
    command.arg(address(1));
    let output = crivello_tests::output_within(&mut command, crivello_tests::DEADLINE);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("Its members are a, b, c"), "{said}");
    // A second time, there is a record, which is not overwritten.
    let again = crivello_tests::output_within(&mut command, crivello_tests::DEADLINE);
    assert_eq!(again.status.code(), Some(64), "{}", String::from_utf8_lossy(&again.stderr));
    // The new record comes with a new signing key. Two agents accept it in time.
    let (_, rest) = said.split_once("accept-coordinator-key ").expect("the key is shown");
    let key = rest.split_whitespace().next().expect("the key").to_owned();
    let accept = |cluster: &Cluster, agent: &str| {
        let mut command = Command::new(crivello_tests::binary());
        let data = cluster.disk(agent);
        command.args(["accept-coordinator-key", &key, "--data"]).arg(data);
        let output = crivello_tests::output_within(&mut command, crivello_tests::DEADLINE);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    accept(&cluster, "a");
    accept(&cluster, "b");
    cluster.start_coordinator();
    cluster.until("c refuses the coordinator with another key", |cluster| {
        let said = cluster.log_of("c");
        said.contains("is not signed by the coordinator of this crawl")
            && said.contains("crivello accept-coordinator-key KEY")
    });
    let listing = cluster.listing();
    let c =
        listing["agents"].as_array().and_then(|agents| agents.iter().find(|a| a["name"] == "c"));
    assert!(c.is_some_and(|c| c["epoch"] != listing["epoch"]), "c took over a view: {listing}");
    accept(&cluster, "c");
    cluster.until("all agents use its view", |cluster| {
        let listing = cluster.listing();
        let epoch = listing["epoch"].as_u64().unwrap_or_default();
        let agents = listing["agents"].as_array().cloned().unwrap_or_default();
        epoch > before && agents.len() == 3 && agents.iter().all(|a| a["epoch"] == epoch)
    });
    cluster.restart("c");
    cluster.add("d");
    finish(&mut cluster, 0);
}

/// The copy lacks an agent that joined later. The agents go on without the coordinator.
#[test]
fn an_old_copy_of_the_record_is_refused() {
    let mut cluster = cluster(web(60)).allow_log_line("old copy").start_until(2, 0.1);
    let record = cluster.disk(COORDINATOR).join("coordinator.state");
    let old = fs::read(&record).expect("read");
    cluster.add("c");
    cluster.kill9(COORDINATOR);
    let newest = fs::read(&record).expect("read");
    fs::write(&record, old).expect("written");
    cluster.start_coordinator();
    cluster.until("the coordinator refuses to go on", |cluster| {
        let (code, _, said) = cluster.ask(&["agents"]);
        let (ordered, _, _) = cluster.ask(&["resume"]);
        ordered == Some(70) && (code == Some(0) || said.contains("old copy"))
    });
    assert!(cluster.log_of(COORDINATOR).contains("the coordinator's record is an old copy"));
    let fetched = cluster.web.log().len();
    cluster.until("the agents go on", |cluster| cluster.web.log().len() > fetched + 50);
    cluster.kill9(COORDINATOR);
    fs::write(&record, newest).expect("written");
    cluster.start_coordinator();
    for name in ["a", "b", "c"] {
        cluster.wait_for_state(name, "active");
    }
    finish(&mut cluster, 0);
}

fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries =
        fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("readable").path());
    entries.map(|path| (path.clone(), fs::read(&path).expect("read"))).collect()
}

/// Starts an agent that ends because its directory is damaged. Returns what it says.
fn refused(cluster: &Cluster, name: &str) -> String {
    let mut command = Command::new(crivello_tests::binary());
    command.args(["agent", "--coordinator", &cluster.url(), "--name", name]);
    command.args(["--listen", "127.0.0.1:0", "--data"]).arg(cluster.disk(name));
    let output = crivello_tests::output_within(&mut command, crivello_tests::DEADLINE);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(70), "{said}");
    said
}

/// It is opened before the agent joins: a member that ends again and again would keep the others waiting.
#[test]
fn an_agent_without_its_archive_does_not_join() {
    let mut cluster = cluster(web(40)).start_until(3, 0.2);
    cluster.process("b").signal(Signal::TERM);
    let _ = cluster.end("b");
    let [archive, away] = ["warc", "away"].map(|name| cluster.disk("b").join(name));
    fs::rename(&archive, &away).expect("renamed");
    cluster.wait_for_state("b", "dead");
    let epoch = cluster.epoch();
    for _ in 0..2 {
        let said = refused(&cluster, "b");
        assert!(said.contains("is missing"), "{said}");
    }
    assert_eq!((cluster.epoch(), cluster.state("b").as_deref()), (epoch, Some("dead")));
    if archive.exists() {
        fs::remove_dir_all(&archive).expect("removed");
    }
    fs::rename(&away, &archive).expect("renamed");
    cluster.launch("b");
    cluster.wait_for_state("b", "active");
    finish(&mut cluster, IN_FLIGHT);
}

/// The agent ends and names the file. By the runbook, a new agent takes its place: the rows come from
/// the copies, and the archive is kept.
#[test]
fn an_agent_with_corrupt_table_files_is_replaced_and_its_rows_come_from_the_copies() {
    let mut cluster = cluster(web(40)).start_until(3, 0.35);
    // A new process writes the rows of the old one's log to table files.
    cluster.restart("b");
    cluster.wait_for_state("b", "active");
    cluster.process("b").signal(Signal::TERM);
    let _ = cluster.end("b");
    let disk = cluster.disk("b");
    let mut damaged = Vec::new();
    for (path, mut bytes) in files(&disk.join("state")) {
        if path.extension().is_some_and(|extension| extension == "sst") {
            // The blocks of rows come first in the file, its index last.
            let end = bytes.len() / 8;
            bytes[..end].fill(0xA5);
            fs::write(&path, bytes).expect("written");
            damaged.push(path.file_name().expect("a name").to_string_lossy().into_owned());
        }
    }
    assert!(!damaged.is_empty(), "the state has no table file");
    let archive = files(&disk.join("warc"));
    let said = refused(&cluster, "b");
    assert!(damaged.iter().any(|name| said.contains(name.as_str())), "{said}");
    assert!(said.contains("A damaged agent directory"), "{said}");
    let kept = files(&disk.join("warc"));
    for (path, bytes) in &archive {
        assert!(kept[path].starts_with(bytes), "{} was changed", path.display());
    }
    cluster.delete_disk("b");
    cluster.add("d");
    cluster.wait_for_state("b", "dead");
    cluster.until("the groups of b are copied", |cluster| {
        let (code, _, said) = cluster.ask(&["remove", "b", "--give-up"]);
        assert!(code == Some(0) || said.contains("not fully copied"), "{code:?}: {said}");
        code == Some(0)
    });
    finish(&mut cluster, IN_FLIGHT);
}
