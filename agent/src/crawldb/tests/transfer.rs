//! Transfer of groups between crawl databases with arbitrary histories.

use super::model::exchange::Rows;
use super::model::{Model, Step};
use super::step;
use crate::messages::{Fact, GroupRole, Role};
use crivello_common::hash::GroupHash;
use crivello_common::view::AgentId;
use proptest::prelude::*;
use std::collections::BTreeSet;

const HOSTS: u16 = 7;

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 1..40)
}

/// Creates an agent that performed these steps.
fn agent(steps: Vec<Step>) -> Model {
    let mut model = Model::new(HOSTS);
    steps.into_iter().for_each(|step| model.take(step));
    model.take(Step::Commit);
    model
}

/// Creates an agent that received all these facts, in this order.
fn import_all(chunks: &[&[Vec<Fact>]]) -> Model {
    let mut model = Model::new(HOSTS);
    chunks.iter().copied().flatten().for_each(|facts| model.import(facts));
    model.recount();
    model
}

proptest! {
    #![proptest_config(ProptestConfig { cases: test_size::sized(12, 24), max_shrink_iters: 200, ..Default::default() })]

    #[test]
    fn imported_facts_survive_kills(
        steps in steps(),
        bytes_max in 1usize..4_000,
        kills in prop::collection::vec(1usize..20, 0..4),
    ) {
        let mut a = agent(steps);
        a.recount();
        let chunks = a.export(bytes_max);
        let mut b = Model::new(HOSTS);
        for n in kills {
            // Interrupted after `n` chunks, and started again.
            chunks.iter().take(n).for_each(|facts| b.import(facts));
            b.take(Step::Kill);
            b.recount();
        }
        chunks.iter().for_each(|facts| b.import(facts));
        b.recount();
        prop_assert_eq!(a.rows(), b.rows());
    }

    #[test]
    fn receiver_of_all_facts_has_all_rows(steps in steps()) {
        let steps = steps.into_iter().filter(|step| !matches!(step, Step::Kill));
        let mut a = agent(steps.collect());
        let changes = std::mem::take(&mut a.changes);
        let mut b = import_all(&[&[changes]]);
        b.recount();
        let (a, b) = (a.rows().sorted(), b.rows().sorted());
        prop_assert_eq!((a.done, a.queued, a.robots), (b.done, b.queued, b.robots));
        prop_assert_eq!(a.hosts.len(), b.hosts.len());
    }

    #[test]
    fn agents_with_all_facts_agree(a in steps(), b in steps(), c in steps()) {
        let [a, b, c] = [a, b, c].map(|steps| agent(steps).export(1_000));
        let abc = import_all(&[&a, &b, &c]).rows().sorted();
        prop_assert_eq!(&abc, &import_all(&[&c, &a, &b, &a]).rows().sorted());
        let one: Vec<Fact> = b.iter().chain(&c).chain(&a).chain(&c).flatten().cloned().collect();
        prop_assert_eq!(&abc, &import_all(&[&[one]]).rows().sorted(), "merged in one commit");
        let bc = import_all(&[&b, &c]).export(500);
        prop_assert_eq!(&abc, &import_all(&[&bc, &a]).rows().sorted(), "merged in another order");
    }

    #[test]
    fn agent_that_imports_while_it_crawls_has_all_facts(
        other in steps(),
        before in steps(),
        after in steps(),
    ) {
        let mut other = agent(other);
        let chunks = other.export(1_000);
        let mut model = Model::new(HOSTS);
        before.into_iter().for_each(|step| model.take(step));
        chunks.iter().for_each(|facts| model.import(facts));
        after.into_iter().for_each(|step| model.take(step));
        model.take(Step::Commit);
        model.recount();
        model.drain();
        model.recount();
        let rows = model.rows();
        let theirs = other.rows();
        prop_assert!(rows.done.is_superset(&theirs.done));
        prop_assert!(rows.queued.is_empty());
    }

    #[test]
    fn what_a_lost_archive_had_is_queued_again_over_kills(
        steps in steps(),
        other in steps(),
        kills in prop::collection::vec(0usize..4, 0..3),
    ) {
        let mut a = agent(steps);
        let before = a.rows();
        let (fetched, chunks) = (a.fetched(), a.export(1_000));
        for n in kills {
            a.lose_archive(n);
            a.take(Step::Kill);
            a.recount();
        }
        a.lose_archive(usize::MAX);
        a.recount();
        prop_assert!(a.fetched().is_empty());
        let after = a.rows();
        let set_aside: BTreeSet<_> = before.done.difference(&fetched).copied().collect();
        prop_assert_eq!(&after.done, &set_aside, "discarded URLs were changed");
        let n = |rows: &Rows| rows.queued.values().map(Vec::len).sum::<usize>();
        prop_assert_eq!(n(&after), n(&before) + fetched.len());
        // Facts that still report the pages as fetched change nothing.
        chunks.iter().for_each(|facts| a.import(facts));
        a.recount();
        prop_assert_eq!(&a.rows().done, &set_aside);
        a.take(Step::Kill);
        agent(other).export(1_000).iter().for_each(|facts| a.import(facts));
        a.recount();
        prop_assert!(a.fetched().is_empty(), "a fact of another agent restored a lost page");
    }

    #[test]
    fn pages_of_a_lost_archive_are_counted_off_once_however_two_agents_get_on(
        steps in steps(),
        turns in prop::collection::vec(any::<bool>(), 0..20),
    ) {
        let steps: Vec<Step> = steps.into_iter().filter(|s| !matches!(s, Step::Kill)).collect();
        let mut alone = agent(steps.clone());
        alone.learn_of_loss();
        while alone.look_through().1 {}
        let mut a = agent(steps);
        let mut b = import_all(&[&a.export(1_000)]);
        [&mut a, &mut b].into_iter().for_each(Model::learn_of_loss);
        let mut step = |a_s: bool| {
            let (one, other) = if a_s { (&mut a, &mut b) } else { (&mut b, &mut a) };
            let (facts, more) = one.look_through();
            other.import(&facts);
            more
        };
        for a_s in turns {
            step(a_s);
        }
        while step(true) | step(false) {}
        let pages = |model: &Model| {
            let hosts = model.rows().hosts;
            hosts.into_iter().map(|(host, row)| (host, row.pages)).collect::<Vec<_>>()
        };
        prop_assert_eq!(pages(&a), pages(&alone));
        prop_assert_eq!(pages(&b), pages(&alone));
    }

    #[test]
    fn a_deleted_group_leaves_nothing_over_kills(steps in steps(), kills in 0usize..6) {
        let chunks = agent(steps).export(1_000);
        let mut model = import_all(&[&chunks]);
        let Some(&group) = model.groups().first() else { return Ok(()) };
        let mut expected = model.rows();
        expected.done.retain(|&(of, _)| of != group);
        expected.queued.retain(|host, _| host.group != group);
        expected.hosts.retain(|host, _| host.group != group);
        model.set_role(group, Some(pending()));
        model.delete(group);
        for _ in 0..kills {
            model.job();
            model.take(Step::Kill);
        }
        while model.job() {}
        prop_assert_eq!(model.traces(group), 0);
        prop_assert_eq!(model.rows(), expected);
        model.recount();
        // The group can be transferred again.
        chunks.iter().for_each(|facts| model.import(facts));
        model.recount();
        prop_assert_eq!(model.rows(), import_all(&[&chunks]).rows());
    }

    #[test]
    fn rows_that_arrive_end_a_deletion_over_kills(
        steps in steps(),
        n_jobs in 0usize..6,
        kills in any::<bool>(),
    ) {
        let chunks = agent(steps).export(1_000);
        let mut model = import_all(&[&chunks]);
        let Some(&group) = model.groups().first() else { return Ok(()) };
        model.delete(group);
        for _ in 0..n_jobs {
            model.job();
        }
        model.cancel_deletion(group);
        // The fact of one host is enough; the others follow after a kill or without one.
        chunks.iter().take(1).for_each(|facts| model.import(facts));
        if kills {
            model.take(Step::Kill);
        }
        let left = model.rows().sorted();
        while model.job() {}
        prop_assert_eq!(model.rows().sorted(), left, "the deletion goes on");
        chunks.iter().for_each(|facts| model.import(facts));
        model.recount();
        // What was left comes before what arrived.
        prop_assert_eq!(model.rows().sorted(), import_all(&[&chunks]).rows().sorted());
    }

    #[test]
    fn a_closed_group_is_not_scheduled_and_an_opened_one_is(
        steps in steps(),
        turns in prop::collection::vec((any::<bool>(), any::<bool>(), any::<bool>()), 1..6),
    ) {
        let mut model = import_all(&[&agent(steps).export(1_000)]);
        let Some(&group) = model.rows().queued.keys().map(|host| &host.group).next() else {
            return Ok(());
        };
        for (open, step, kill) in turns {
            model.open_or_close(group, open);
            if step && model.job() && kill {
                model.take(Step::Kill);
            }
        }
        model.open_or_close(group, false);
        while model.job() {}
        model.recount();
        prop_assert!(!model.scheduled().contains(&group));
        model.open_or_close(group, true);
        while model.job() {}
        model.recount();
        model.drain();
    }
}

const fn pending() -> GroupRole {
    GroupRole { epoch: 3, role: Role::Pending { new: true } }
}

/// A group that is closed and deleted at once, and whose deletion ends because rows arrive: its hosts
/// must not stay scheduled, or the crawl would never end.
#[test]
fn a_group_whose_deletion_ends_is_closed_completely() {
    let mut model = agent(vec![Step::Find(vec![0, 1, 2, 3])]);
    let group = *model.groups().first().expect("a group");
    assert!(model.scheduled().contains(&group));
    model.open_or_close(group, false);
    model.delete(group);
    model.cancel_deletion(group);
    while model.job() {}
    model.recount();
    assert!(!model.scheduled().contains(&group));
}

#[test]
fn a_url_is_found_anew_after_its_group_was_deleted() {
    let mut model = agent(vec![Step::Find(vec![0, 1, 2, 3])]);
    let known = model.rows();
    for group in model.groups() {
        model.delete(group);
    }
    while model.job() {}
    assert!(model.rows().queued.is_empty());
    model.take(Step::Find(vec![0, 1, 2, 3]));
    model.take(Step::Commit);
    model.recount();
    assert_eq!(model.rows(), known);
}

#[test]
fn tags_are_in_the_commit_and_in_order() {
    let mut model = Model::new(1);
    let authority = Role::Authority { in_sync: vec![(AgentId(1), 2)] };
    let copy = Role::Replica { from: vec![AgentId(7)] };
    let tags = [
        (GroupHash(5), pending()),
        (GroupHash(6), GroupRole { epoch: 4, role: authority }),
        (GroupHash(9), GroupRole { epoch: 5, role: copy }),
    ];
    model.set_role(tags[2].0, Some(tags[2].1.clone()));
    model.set_role(GroupHash(7), Some(pending()));
    model.take(Step::Commit);
    for (group, tag) in &tags[..2] {
        model.set_role(*group, Some(tag.clone()));
    }
    model.set_role(GroupHash(7), None);
    assert_eq!(model.tags(), tags, "uncommitted roles are missing");
    model.take(Step::Commit);
    model.set_role(GroupHash(5), None);
    model.take(Step::Kill);
    assert_eq!(model.tags(), tags, "the roles differ from the last commit");
}

#[test]
fn a_group_that_is_taken_in_for_later_is_scheduled_once_it_is_opened() {
    let mut all = agent(vec![Step::Find((0..30).collect())]);
    let chunks = all.export(1_000);
    let mut model = Model::new(HOSTS);
    let groups = all.groups();
    groups.iter().for_each(|&group| model.set_role(group, Some(pending())));
    chunks.iter().for_each(|facts| model.import(facts));
    model.recount();
    assert!(model.scheduled().is_empty());
    groups.iter().for_each(|&group| model.open_or_close(group, true));
    while model.job() {}
    assert_eq!(model.scheduled(), groups);
}

#[test]
fn a_group_that_may_not_be_fetched_is_passed_until_it_may() {
    let mut model = agent(vec![Step::Find((0..30).collect())]);
    let groups = model.groups();
    let first = *groups.first().unwrap();
    let mut asked = 0;
    assert!(model.served(|_| false).is_empty());
    model.served(|_| {
        asked += 1;
        true
    });
    assert_eq!(asked, 0, "skipped hosts are read again");
    model.rescan_schedule();
    assert_eq!(model.served(|group| group == first).into_iter().collect::<Vec<_>>(), [first]);
    model.rescan_schedule();
    assert_eq!(model.served(|_| true).len(), groups.len() - 1);
}
