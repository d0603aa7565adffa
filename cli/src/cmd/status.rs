//! `crivello status`: state of a crawl, per agent and in total.

use super::agents::{run_label, state_label};
use crate::args::cluster::AgentsArgs;
use crate::cluster::statuses::{AgentStatuses, query_statuses};
use crate::cluster::{Listing, connect, list};
use crate::exit::CliError;
use crate::format::{self, count, duration};
use crivello_agent::api::AgentStatus;
use crivello_common::time::Clock;
use crivello_common::view::{Agent, AgentId, AgentState};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;
use tokio::time::sleep;

/// Period of the rate.
const RATE_PERIOD: Duration = Duration::from_secs(1);

const HEADINGS: [&str; 13] = [
    "NAME", "STATE", "PAGES", "PAGES/S", "QUEUED", "READY", "WAITING", "RESTING", "OUTBOX",
    "MOVING", "EPOCH", "LEASE", "PACE",
];

/// Members and status of a crawl.
struct StatusReport {
    listing: Listing,
    answers: AgentStatuses,
    /// Pages per second.
    rates: BTreeMap<AgentId, f64>,
}

/// Queries twice, a second apart, and prints a table or JSON.
///
/// # Errors
/// Fails if the coordinator cannot be reached, or its answer is invalid.
pub async fn run(args: &AgentsArgs) -> Result<(), CliError> {
    let (mut client, credentials) = connect(&args.coordinator).await?;
    let clients = credentials.agent_clients();
    let first = list(&mut client).await?;
    let clock = Clock::start();
    let before = query_statuses(&clients, &first.view, &first.crawl_id).await;
    let queried = clock.now();
    if before.values().any(Result::is_ok) {
        sleep(RATE_PERIOD).await;
    }
    let listing = list(&mut client).await?;
    let answers = query_statuses(&clients, &listing.view, &listing.crawl_id).await;
    let rates = rates(&before, &answers, clock.now().since(queried));
    let report = StatusReport { listing, answers, rates };
    let text = if args.json { as_json(&report) } else { table(&report) };
    // Standard output may be closed.
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "only three digits are shown")]
fn rates(before: &AgentStatuses, after: &AgentStatuses, time: Duration) -> BTreeMap<AgentId, f64> {
    let rate = |(id, answer): (&AgentId, &Result<AgentStatus, String>)| {
        let (now, then) = (answer.as_ref().ok()?, before.get(id)?.as_ref().ok()?);
        let pages = now.snapshot.pages.saturating_sub(then.snapshot.pages) as f64;
        (now.process == then.process).then(|| (*id, pages / time.as_secs_f64()))
    };
    after.iter().filter_map(rate).collect()
}

impl StatusReport {
    fn lease(&self, agent: &Agent) -> Option<Duration> {
        let lease = self.listing.leases.get(&agent.id.0)?;
        Some(Duration::from_millis(lease.remaining_ms)).filter(|_| agent.state != AgentState::Dead)
    }

    fn row(&self, agent: &Agent) -> Vec<String> {
        let mut row = vec![agent.name.clone(), state_label(agent.state).to_owned()];
        let lease = self.lease(agent).map_or_else(|| "-".to_owned(), duration);
        match self.answers.get(&agent.id) {
            Some(Ok(status)) => {
                row.extend(self.numbers(std::slice::from_ref(&status), &[agent.id]));
                let pace = match status.fence_open {
                    true => status.snapshot.pace.to_string(),
                    false => "lease expired: fetches nothing".to_owned(),
                };
                row.extend([status.epoch.to_string(), lease, pace]);
            }
            answer => {
                row.extend(std::iter::repeat_n("-".to_owned(), 9));
                row.extend([lease, answer.and_then(|a| a.clone().err()).unwrap_or_default()]);
            }
        }
        row
    }

    /// Returns the columns that can be summed.
    fn numbers(&self, of: &[&AgentStatus], ids: &[AgentId]) -> Vec<String> {
        let sum = |f: fn(&AgentStatus) -> u64| count(of.iter().map(|status| f(status)).sum());
        let rates: Vec<f64> = ids.iter().filter_map(|id| self.rates.get(id).copied()).collect();
        let rate = match rates.is_empty() {
            true => "-".to_owned(),
            false => format::rate(rates.iter().sum()),
        };
        vec![
            sum(|s| s.snapshot.pages),
            rate,
            sum(|s| s.snapshot.urls_queued),
            sum(|s| s.snapshot.hosts.ready),
            sum(|s| s.snapshot.hosts.waiting),
            sum(|s| s.snapshot.hosts.resting),
            sum(|s| s.outbox),
            sum(|s| s.handoffs),
        ]
    }

    /// Returns the number of pages until the limit of the crawl, as known by the latest heartbeat.
    fn pages_left(&self) -> Option<u64> {
        let all = self.answers.values().flatten();
        all.filter_map(|status| status.snapshot.pages_left).min()
    }

    fn totals(&self) -> Vec<String> {
        let all: Vec<&AgentStatus> = self.answers.values().flatten().collect();
        let ids: Vec<AgentId> = all.iter().map(|status| status.id).collect();
        let mut row = vec!["(all)".to_owned(), String::new()];
        row.extend(self.numbers(&all, &ids));
        row
    }
}

fn table(report: &StatusReport) -> String {
    let view = &report.listing.view;
    let mut rows = vec![HEADINGS.map(String::from).to_vec()];
    rows.extend(view.agents.iter().map(|agent| report.row(agent)));
    rows.push(report.totals());
    let (crawl, run, epoch) = (&report.listing.crawl_id, run_label(view.run), view.epoch);
    let left = report.pages_left().map(|left| format!(", {} pages left", count(left)));
    let left = left.unwrap_or_default();
    format!("crawl {crawl}, {run}, epoch {epoch}{left}\n{}", format::table(&rows))
}

fn as_json(report: &StatusReport) -> String {
    let view = &report.listing.view;
    let agents: Vec<Value> = view.agents.iter().map(|agent| agent_json(report, agent)).collect();
    let all: Vec<&AgentStatus> = report.answers.values().flatten().collect();
    let sum = |f: fn(&AgentStatus) -> u64| all.iter().map(|status| f(status)).sum::<u64>();
    let whole = json!({
        "crawl": report.listing.crawl_id,
        "epoch": view.epoch,
        "run": run_label(view.run),
        "agents": agents,
        "totals": {
            "pages": sum(|s| s.snapshot.pages),
            "pages_left": report.pages_left(),
            "pages_per_second": report.rates.values().sum::<f64>(),
            "urls_queued": sum(|s| s.snapshot.urls_queued),
            "hosts_ready": sum(|s| s.snapshot.hosts.ready),
            "hosts_waiting": sum(|s| s.snapshot.hosts.waiting),
            "hosts_resting": sum(|s| s.snapshot.hosts.resting),
            "hosts_paused": sum(|s| s.snapshot.hosts.paused),
            "outbox": sum(|s| s.outbox),
            "handoffs": sum(|s| s.handoffs),
        },
    });
    format!("{whole:#}\n")
}

fn agent_json(report: &StatusReport, agent: &Agent) -> Value {
    let mut value = json!({
        "name": agent.name,
        "id": agent.id.0,
        "state": state_label(agent.state),
        "weight": agent.weight,
        "address": agent.address,
        "lease_left_ms":
            report.lease(agent).map(|left| u64::try_from(left.as_millis()).unwrap_or(u64::MAX)),
    });
    let more = match report.answers.get(&agent.id) {
        None => return value,
        Some(Err(why)) => json!({ "unreachable": why }),
        Some(Ok(s)) => json!({
            "epoch": s.epoch,
            "idle": s.idle,
            "may_fetch": s.fence_open,
            "pages": s.snapshot.pages,
            "pages_per_second": report.rates.get(&agent.id),
            "bytes": s.snapshot.bytes,
            "errors": s.snapshot.errors,
            "urls_queued": s.snapshot.urls_queued,
            "urls_seen": s.snapshot.urls_seen,
            "hosts_ready": s.snapshot.hosts.ready,
            "hosts_waiting": s.snapshot.hosts.waiting,
            "hosts_resting": s.snapshot.hosts.resting,
            "hosts_paused": s.snapshot.hosts.paused,
            "visits": s.snapshot.visits,
            "outbox": s.outbox,
            "handoffs": s.handoffs,
            "pace": s.snapshot.pace.to_string(),
        }),
    };
    if let (Some(to), Value::Object(from)) = (value.as_object_mut(), more) {
        to.extend(from);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_agent::progress::Snapshot;
    use crivello_common::view::View;
    use std::collections::HashMap;

    fn report() -> StatusReport {
        let mut view = View::of_one("a");
        view.epoch = 7;
        for (name, state) in [("b", AgentState::Active), ("c", AgentState::Dead)] {
            let mut agent = view.agents[0].clone();
            (agent.name, agent.state) = (name.to_owned(), state);
            agent.id.0 = view.agents.len() as u32;
            view.agents.push(agent);
        }
        let snapshot = Snapshot { pages: 1_234, urls_queued: 5, ..Snapshot::default() };
        let (id, epoch) = (AgentId(0), 7);
        let status = AgentStatus { id, epoch, outbox: 2, snapshot, ..AgentStatus::default() };
        let lease = crivello_proto::v1::AgentLease { id: 0, remaining_ms: 12_000, epoch: 7 };
        StatusReport {
            listing: Listing {
                crawl_id: "c0ffee".into(),
                view,
                leases: HashMap::from([(0, lease)]),
            },
            answers: AgentStatuses::from([
                (AgentId(0), Ok(status)),
                (AgentId(1), Err("does not answer".to_owned())),
            ]),
            rates: BTreeMap::from([(AgentId(0), 56.0)]),
        }
    }

    #[test]
    fn the_table_has_totals_and_names_unreachable_agents() {
        let expected = "\
crawl c0ffee, running, epoch 7
NAME   STATE   PAGES  PAGES/S  QUEUED  READY  WAITING  RESTING  OUTBOX  MOVING  EPOCH  LEASE  PACE
a      active  1,234  56       5       0      0        0        2       0       7      12 s   lease expired: fetches nothing
b      active  -      -        -       -      -        -        -       -       -      -      does not answer
c      dead    -      -        -       -      -        -        -       -       -      -
(all)          1,234  56       5       0      0        0        2       0
";
        assert_eq!(table(&report()), expected);
        let mut limited = report();
        if let Some(Ok(status)) = limited.answers.get_mut(&AgentId(0)) {
            status.snapshot.pages_left = Some(4_321);
        }
        assert!(table(&limited).starts_with("crawl c0ffee, running, epoch 7, 4,321 pages left\n"));
    }

    #[test]
    fn the_json_has_the_same_values() {
        let json: Value = serde_json::from_str(&as_json(&report())).expect("JSON");
        assert_eq!(json["agents"][0]["pages"], 1_234);
        assert_eq!(json["agents"][0]["lease_left_ms"], 12_000);
        assert_eq!(json["agents"][1]["unreachable"], "does not answer");
        assert_eq!(
            (&json["agents"][2]["state"], &json["totals"]["outbox"]),
            (&"dead".into(), &2.into())
        );
    }

    #[test]
    fn a_restarted_process_has_no_rate_yet() {
        let answers = report().answers;
        let mut later = answers.clone();
        if let Some(Ok(status)) = later.get_mut(&AgentId(0)) {
            status.snapshot.pages += 10;
        }
        let found = rates(&answers, &later, Duration::from_secs(2));
        assert_eq!(found, BTreeMap::from([(AgentId(0), 5.0)]));
        if let Some(Ok(status)) = later.get_mut(&AgentId(0)) {
            status.process += 1;
        }
        assert_eq!(rates(&answers, &later, Duration::from_secs(2)), BTreeMap::new());
    }
}
