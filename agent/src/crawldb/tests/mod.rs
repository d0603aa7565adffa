//! Tests of the crawl database against a model: whatever happens, and however often the process
//! dies in between, each URL is handed out until it is committed, never twice at once, in the order
//! of priority and first appearance, and nothing is lost.

mod blocked_hosts;
mod cross_submission;
mod forget;
mod host_key_taken;
mod host_turns;
mod inlinks;
mod model;
mod months;
mod queues;
mod ranks;
mod recrawl;
mod shares;
mod sieves;
mod signals;
mod take_over;
mod transfer;

use crate::limits::RULES_A_HOST;
use crivello_common::config::Limits;
use crivello_common::failure::Failure;
use crivello_common::robots::Rules;
use model::{Model, Step};
use proptest::prelude::*;
use std::sync::Arc;

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => prop::collection::vec(0u16..400, 1..40).prop_map(Step::Find),
        4 => (1u32..6).prop_map(Step::Want),
        6 => (any::<u16>(), 1u8..8).prop_map(|(pick, n)| Step::Fetch { pick, n }),
        3 => (any::<u16>(), prop::option::of(0u16..5_000))
            .prop_map(|(pick, rest_ms)| Step::Leave { pick, rest_ms }),
        2 => any::<u16>().prop_map(Step::Refill),
        2 => (any::<u16>(), 0u8..6).prop_map(|(pick, keep)| Step::Return { pick, keep }),
        1 => (any::<u16>(), any::<bool>()).prop_map(|(pick, forever)| Step::Drop { pick, forever }),
        1 => (0u16..400).prop_map(Step::Call),
        4 => Just(Step::Commit),
        2 => (0u8..12).prop_map(Step::CommitBut),
        2 => Just(Step::CommitAway),
        2 => Just(Step::Safe),
        1 => (0u8..10).prop_map(Step::Prioritize),
        4 => Just(Step::Reorder),
        1 => any::<bool>().prop_map(Step::LimitReached),
        1 => Just(Step::Kill),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: test_size::sized(16, 32), max_shrink_iters: 400, ..Default::default() })]

    #[test]
    fn nothing_is_lost_and_nothing_is_handed_out_twice(
        steps in prop::collection::vec(step(), 1..80),
        hosts in 1u16..12,
        pages_per_domain_max in prop::option::of(1u64..60),
    ) {
        let limits = Limits { pages_per_domain_max, ..Limits::default() };
        let mut model = Model::with_limits(hosts, limits);
        for step in steps {
            model.take(step);
        }
        model.drain();
    }
}

#[test]
fn a_host_limit_is_met_exactly_over_restarts() {
    let limits = Limits { pages_per_host_max: Some(7), ..Limits::default() };
    let mut model = Model::with_limits(1, limits);
    model.take(Step::Find((0..40).collect()));
    for round in 0..12 {
        model.take(Step::Commit);
        model.take(Step::Want(4));
        model.take(Step::Fetch { pick: 0, n: 2 });
        if round % 3 == 2 {
            model.take(Step::Kill);
        }
    }
    model.drain();
    assert_eq!(model.pages(), 21, "expected 7 pages of each of 3 hosts");
}

/// Anyone can link to pages that do not exist.
#[test]
fn errors_do_not_count_towards_a_limit() {
    for limits in [
        Limits { pages_per_host_max: Some(7), ..Limits::default() },
        Limits { pages_per_domain_max: Some(7), ..Limits::default() },
    ] {
        let mut model = Model::with_limits(1, limits);
        model.take(Step::Find((0..90).collect()));
        model.take(Step::Commit);
        model.status = 404;
        model.take(Step::Want(3));
        for _ in 0..3 {
            model.take(Step::Fetch { pick: 0, n: 5 });
            model.take(Step::Leave { pick: 0, rest_ms: Some(0) });
        }
        model.take(Step::Commit);
        model.recount();
        model.status = 200;
        model.drain();
        assert_eq!(model.pages(), 3 * (5 + 7), "expected 5 errors and 7 pages of each host");
    }
}

/// A host that returns while its pages are in flight reserves more pages, and keeps the reservation
/// of those in flight. In the end nothing of either remains.
#[test]
fn a_domain_limit_is_met_exactly_by_hosts_that_come_and_go() {
    let limits = Limits { pages_per_domain_max: Some(90), ..Limits::default() };
    let mut model = Model::with_limits(9, limits);
    model.take(Step::Find((0..360).collect()));
    model.take(Step::Commit);
    for _ in 0..20 {
        model.take(Step::Want(9));
        model.take(Step::Fetch { pick: 0, n: 3 });
        model.take(Step::Leave { pick: 0, rest_ms: Some(0) });
        model.take(Step::CommitBut(3));
        model.take(Step::CommitBut(3));
    }
    model.drain();
    assert_eq!(model.pages(), 270, "expected 90 pages of each of 3 domains");
}

#[test]
fn a_page_whose_links_are_on_their_way_is_queued_to_others_and_fetched_once_here() {
    let mut model = Model::new(1);
    for step in [Step::Find(vec![0]), Step::Commit, Step::Want(1)] {
        model.take(step);
    }
    model.take(Step::Fetch { pick: 0, n: 1 });
    model.take(Step::CommitAway);
    model.recount();
    assert!(model.rows().done.is_empty(), "for others, the page is not fetched yet");
    assert_eq!(model.rows().queued.len(), 1);
    model.take(Step::Kill);
    model.take(Step::Want(1));
    assert!(model.hosts_on_workbench().is_empty(), "this agent does not fetch it again");
    model.take(Step::Safe);
    model.take(Step::Commit);
    model.recount();
    assert_eq!((model.rows().done.len(), model.rows().queued.len()), (1, 0));
}

/// Hosts with large rules count as several: an order of five gets only one of them.
#[test]
fn hosts_with_large_rules_count_as_several() {
    let lines: String = (0..4_000).map(|n| format!("Disallow: /directory/{n}/\n")).collect();
    let rules = Arc::new(Rules::parse(format!("User-agent: *\n{lines}").as_bytes(), "x"));
    assert!(rules.heap_size() > 4 * RULES_A_HOST);
    let mut model = Model::new(4);
    model.take(Step::Find((0..60).collect()));
    model.take(Step::Commit);
    model.take(Step::Want(1_000));
    let all = model.hosts_on_workbench().len();
    assert!(all >= 4, "{all} hosts");
    model.learn(&rules);
    (0..all).for_each(|_| model.take(Step::Leave { pick: 0, rest_ms: None }));
    model.take(Step::Commit);
    for n in 1..=all {
        model.take(Step::Want(5));
        assert_eq!(model.hosts_on_workbench().len(), n, "an order of five gets one such host");
    }
    model.drain();
}

/// A host that stays returns the end of its window. The next request gets exactly that.
#[test]
fn what_a_host_gives_back_is_handed_out_again_in_its_turn() {
    let mut model = Model::new(1);
    model.take(Step::Find((0..40).collect()));
    model.take(Step::Commit);
    for step in [Step::Want(3), Step::Return { pick: 0, keep: 5 }, Step::Refill(0)] {
        model.take(step);
    }
    let host = model.hosts_on_workbench()[0];
    assert!(model.window(host) >= 13, "all of the host's queue");
    model.drain();
}

/// Hosts are handed over slightly before they fall due, and the workbench may return one unused.
#[test]
fn a_host_that_comes_back_before_its_time_is_handed_over_again() {
    let mut model = Model::new(1);
    model.take(Step::Find(vec![0]));
    for rest_ms in [Some(3_000), None, None] {
        model.take(Step::Commit);
        model.take(Step::Want(1));
        model.take(Step::Leave { pick: 0, rest_ms });
    }
    model.drain();
    assert_eq!(model.pages(), 1);
}

#[test]
fn a_host_that_was_called_is_counted_once_over_a_kill() {
    let mut model = Model::new(2);
    for step in [Step::Call(1), Step::Commit, Step::Kill, Step::Find(vec![1]), Step::Commit] {
        model.take(step);
    }
}

/// URLs on the workbench stay there; a kill in the midst begins the scan anew.
#[test]
fn queued_urls_are_reordered_in_steps() {
    let mut model = Model::new(4);
    model.take(Step::Find((0..400).collect()));
    model.take(Step::Commit);
    model.take(Step::Want(2));
    for n in [3, 1, 5, 0] {
        model.take(Step::Prioritize(n));
        (0..20).for_each(|_| model.take(Step::Reorder));
        model.take(Step::Kill);
        model.take(Step::Want(2));
        (0..200).for_each(|_| model.take(Step::Reorder));
        assert!(!model.is_reordering(), "the scan does not end");
        model.recount();
    }
    model.drain();
}

#[test]
fn a_name_that_cannot_be_resolved_is_counted() {
    let mut model = Model::new(1);
    model.unresolved(Failure::DnsUnavailable);
    model.unresolved(Failure::DnsUnavailable);
    model.take(Step::Find(vec![1]));
    model.take(Step::Commit);
    model.take(Step::Kill);
    assert_eq!(model.failures(Failure::DnsUnavailable), 2);
}
