//! Tests of the turns of hosts: those with useful pages go first if more hosts wait than are wanted, and
//! no host waits for ever.

use super::model::{Model, Step};
use crivello_common::hash::HostKey;
use crivello_common::identity::KeyedHasher;
use crivello_common::robots::Rules;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Hosts of the model; the first half of them has only errors at first.
const N_HOSTS: u16 = 60;
const N_BAD: u16 = N_HOSTS / 2;

fn bad_hosts() -> BTreeSet<HostKey> {
    let hasher = KeyedHasher::with_public_key();
    (0..N_BAD).map(|n| hasher.host_key(&format!("h{n}.site{}.test", n % 3))).collect()
}

/// Finds this many URLs of each host in a range.
fn find(model: &mut Model, hosts: std::ops::Range<u16>, urls: std::ops::Range<u16>) {
    let urls = urls.flat_map(|n| hosts.clone().map(move |host| n * N_HOSTS + host));
    model.take(Step::Find(urls.collect()));
    model.take(Step::Commit);
}

/// Lets all hosts on the workbench fetch one page, and leave.
fn fetch_one_of_each(model: &mut Model) {
    let n = u16::try_from(model.hosts_on_workbench().len()).unwrap();
    (0..n).for_each(|pick| model.take(Step::Fetch { pick, n: 1 }));
    (0..n).for_each(|_| model.take(Step::Leave { pick: 0, rest_ms: Some(0) }));
    model.take(Step::Commit);
}

/// Returns the numbers of good and of bad hosts on the workbench.
fn good_and_bad(model: &Model) -> (usize, usize) {
    let (hosts, bad) = (model.hosts_on_workbench(), bad_hosts());
    let n_bad = hosts.iter().filter(|host| bad.contains(host)).count();
    (hosts.len() - n_bad, n_bad)
}

#[test]
fn hosts_take_turns_by_what_their_fetches_bring() {
    let mut model = Model::new(N_HOSTS);
    find(&mut model, 0..N_BAD, 0..40);
    model.status = 404;
    for _ in 0..30 {
        model.take(Step::Want(1_000));
        assert_eq!(good_and_bad(&model), (0, usize::from(N_BAD)));
        fetch_one_of_each(&mut model);
    }
    model.recount();
    model.status = 200;
    find(&mut model, N_BAD..N_HOSTS, 0..40);
    for _ in 0..4 {
        model.take(Step::Want(16));
        assert_eq!(good_and_bad(&model), (15, 1), "sixteen turns");
        fetch_one_of_each(&mut model);
    }
    // Turns are counted over requests: of sixteen hosts asked for one by one, one is bad.
    for n in 1..=16 {
        model.take(Step::Want(1));
        assert_eq!(model.hosts_on_workbench().len(), n);
    }
    assert_eq!(good_and_bad(&model), (15, 1));
    // A class without hosts leaves its turns to the others.
    model.take(Step::Want(1_000));
    let all = usize::from(N_BAD);
    assert_eq!(good_and_bad(&model), (all, all));
    fetch_one_of_each(&mut model);
    model.recount();
    model.take(Step::Kill);
    model.take(Step::Want(16));
    assert_eq!(good_and_bad(&model), (15, 1), "the classes are on disk");
    model.drain();
}

/// Hosts with large rules count as several. If they use up the places, the turn of the next class stays.
#[test]
fn a_turn_is_used_up_only_by_a_host_that_is_handed_over() {
    let lines: String = (0..4_000).map(|n| format!("Disallow: /directory/{n}/\n")).collect();
    let rules = Arc::new(Rules::parse(format!("User-agent: *\n{lines}").as_bytes(), "x"));
    let mut model = Model::new(N_HOSTS);
    find(&mut model, 0..N_BAD, 0..40);
    model.status = 404;
    for _ in 0..30 {
        model.take(Step::Want(1_000));
        fetch_one_of_each(&mut model);
    }
    model.status = 200;
    find(&mut model, N_BAD..N_HOSTS, 0..40);
    model.take(Step::Want(1_000));
    let (n_good, n_bad) = good_and_bad(&model);
    model.learn_of(&rules, |host| !bad_hosts().contains(&host));
    (0..n_good + n_bad).for_each(|_| model.take(Step::Leave { pick: 0, rest_ms: None }));
    model.take(Step::Commit);
    // Each good host uses up an order of two.
    for n in 1..=16 {
        model.take(Step::Want(2));
        assert!(model.hosts_on_workbench().len() >= n);
    }
    let (_, n_bad) = good_and_bad(&model);
    assert!(n_bad > 0, "sixteen orders of two without a host of the last class");
}

/// A host with a long queue keeps its place in memory only while nobody waits for it.
#[test]
fn the_turn_of_a_host_ends_with_its_window_if_others_wait() {
    let mut model = Model::new(N_HOSTS);
    find(&mut model, 0..1, 0..400);
    model.take(Step::Want(1));
    let host = model.hosts_on_workbench()[0];
    let window = model.window(host);
    assert!(window < 300, "{window} URLs at once");
    model.take(Step::Refill(0));
    let refilled = model.window(host);
    assert!(refilled > window, "nobody else waits");
    find(&mut model, 1..2, 0..1);
    model.take(Step::Refill(0));
    assert_eq!(model.window(host), refilled);
    model.take(Step::Leave { pick: 0, rest_ms: Some(0) });
    model.take(Step::Commit);
    model.take(Step::Want(1));
    assert_ne!(model.hosts_on_workbench(), [host], "the other one is due for longer");
    model.drain();
}
