//! The numbers of a cluster that was made up.

use super::*;
use crivello_common::view::View;

fn listing() -> Listing {
    let mut view = View::of_one("a");
    view.epoch = 7;
    for (id, name, state) in [(1, "b", AgentState::Active), (2, "c", AgentState::Dead)] {
        let mut agent = view.agents[0].clone();
        (agent.name, agent.state, agent.id) = (name.to_owned(), state, AgentId(id));
        view.agents.push(agent);
    }
    let lease = |id| (AgentId(id), v1::AgentLease { id, remaining_ms: 900, epoch: 7 });
    Listing {
        crawl_id: "c0ffee".into(),
        view,
        leases: [lease(0), lease(2)].into(),
        obstacles: Vec::new(),
        uncovered: Vec::new(),
        safe_files: [].into(),
    }
}

fn status(process: u64, pages: u64) -> AgentStatus {
    let progress = v1::Progress {
        pages,
        bytes: 10 * pages,
        pages_by_class: vec![0, pages],
        urls_queued: 5,
        bottleneck: v1::Bottleneck::FewHosts.into(),
        bottleneck_delay_ms: 250,
        ..v1::Progress::default()
    };
    let status = v1::StatusResponse { process, fence_open: true, outbox: 2, ..Default::default() };
    (status, progress)
}

fn at(secs: u64) -> Timestamp {
    Timestamp::from_secs(secs)
}

fn found<'a>(
    listing: &'a Listing,
    agents: &'a BTreeMap<AgentId, AgentHistory>,
    shares: &'a HashMap<AgentId, f64>,
) -> Value {
    Found { listing, revision: 4, agents, shares, now: at(100) }.json(&Value::Null)
}

#[test]
fn what_is_heard_is_added_up_and_the_dead_count_for_nothing() {
    let (listing, shares) = (listing(), HashMap::from([(AgentId(0), 0.75)]));
    let mut agents: BTreeMap<AgentId, AgentHistory> = BTreeMap::new();
    for id in [0, 2] {
        agents.entry(AgentId(id)).or_default().update(Ok(status(1, 100)), None, at(98));
        let details = v1::DetailsResponse { resident_bytes: 9, ..Default::default() };
        let history = agents.get_mut(&AgentId(id)).expect("the entry exists");
        history.update(Ok(status(1, 110)), Some(Ok(details)), at(100));
    }
    let away = AgentCallError::Unreachable("does not answer".to_owned());
    agents.entry(AgentId(1)).or_default().update(Err(away), None, at(100));
    let json = found(&listing, &agents, &shares);
    let totals = &json["totals"];
    assert_eq!((&totals["pages"], &totals["pages_per_second"]), (&110.into(), &5.0.into()));
    assert_eq!((&totals["bytes_per_second"], &totals["outbox"]), (&50.0.into(), &2.into()));
    assert_eq!((&totals["agents_active"], &totals["agents_dead"]), (&2.into(), &1.into()));
    assert_eq!(
        (&totals["agents_answered"], &totals["pages_by_class"][1]),
        (&1.into(), &110.into())
    );
    let [a, b, c] = [0, 1, 2].map(|i| &json["agents"][i]);
    assert_eq!((&a["share"], &a["lease_left_ms"]), (&0.75.into(), &900.into()));
    assert_eq!(a["memory_bytes"], 9);
    assert_eq!(a["pace"], "few hosts: all wait for their delay of 0.25 s");
    assert_eq!((&b["unreachable"], &b["answered"]), (&"does not answer".into(), &false.into()));
    assert_eq!((&c["state"], &c["lease_left_ms"]), (&"dead".into(), &Value::Null));
    assert_eq!(c["pages"], Value::Null);
}

#[test]
fn an_agent_that_falls_silent_is_remembered_for_a_while() {
    let mut history = AgentHistory::default();
    history.update(Ok(status(1, 100)), None, at(10));
    let away = || Err(AgentCallError::Unreachable("does not answer".to_owned()));
    history.update(away(), None, at(12));
    assert!(history.status.is_some() && history.trouble.is_some());
    history.update(away(), None, at(17));
    assert!(history.status.is_none(), "an old status is still shown");
}

#[test]
fn a_process_that_began_anew_has_no_rate_yet() {
    let mut history = AgentHistory::default();
    history.update(Ok(status(1, 100)), None, at(1));
    history.update(Ok(status(1, 100)), None, at(2));
    assert_eq!(history.rate(|s| s.pages), Some(0.0));
    history.update(Ok(status(2, 5)), None, at(3));
    assert_eq!(history.rate(|s| s.pages), None);
    for secs in 4..100 {
        history.update(Ok(status(2, secs)), None, at(secs));
    }
    assert_eq!(history.rate(|s| s.pages), Some(1.0));
    assert_eq!(history.samples.len(), SAMPLES_MAX);
}

#[test]
fn pages_that_are_fetched_again_are_added_up() {
    let (mut listing, shares) = (listing(), HashMap::new());
    listing.view.agents.truncate(2);
    let mut agents: BTreeMap<AgentId, AgentHistory> = BTreeMap::new();
    let mut recrawl = |overdue: [Option<u64>; 2]| {
        for (id, overdue) in (0..).zip(overdue) {
            let (mut status, scheduled, queued) = (status(1, 100), 30, 4);
            let recrawl = v1::RecrawlProgress { scheduled, queued, overdue, ..Default::default() };
            status.1.recrawl = Some(recrawl);
            agents.entry(AgentId(id)).or_default().update(Ok(status), None, at(100));
        }
        found(&listing, &agents, &shares)["totals"]["recrawl"].clone()
    };
    let totals = recrawl([Some(2), Some(1)]);
    assert_eq!((&totals["scheduled"], &totals["queued"]), (&60.into(), &8.into()));
    assert_eq!(totals["overdue"], 3);
    assert_eq!(recrawl([Some(2), None])["overdue"], 2, "one has just started");
    assert_eq!(recrawl([None, None])["overdue"], Value::Null);
}
