//! `crivello status`: how a crawl stands, agent by agent and in all.

use super::agents::{run_word, state_word};
use crate::args::cluster::AgentsArgs;
use crate::cluster::crowd::{Answers, ask};
use crate::cluster::{Listing, connect, list};
use crate::exit::Trouble;
use crate::human::{self, count, duration};
use crivello_agent::api::AgentStatus;
use crivello_common::time::Clock;
use crivello_common::view::{Agent, AgentId, AgentState};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;
use tokio::time::sleep;

/// The rate is taken over so long.
const BETWEEN: Duration = Duration::from_secs(1);

const HEADINGS: [&str; 13] = [
    "NAME", "STATE", "PAGES", "PAGES/S", "QUEUED", "READY", "WAITING", "RESTING", "OUTBOX",
    "MOVING", "EPOCH", "LEASE", "PACE",
];

/// What was found.
struct Standing {
    listing: Listing,
    answers: Answers,
    /// Pages a second.
    rates: BTreeMap<AgentId, f64>,
}

/// Asks twice, a second apart, and prints a table or JSON.
///
/// # Errors
/// When the coordinator cannot be reached, or says what cannot be.
pub async fn run(typed: &AgentsArgs) -> Result<(), Trouble> {
    let (mut client, papers) = connect(&typed.coordinator).await?;
    let crowd = papers.crowd();
    let first = list(&mut client).await?;
    let clock = Clock::start();
    let before = ask(&crowd, &first.view, &first.crawl_id).await;
    let asked = clock.now();
    if before.values().any(Result::is_ok) {
        sleep(BETWEEN).await;
    }
    let listing = list(&mut client).await?;
    let answers = ask(&crowd, &listing.view, &listing.crawl_id).await;
    let rates = rates(&before, &answers, clock.now().since(asked));
    let standing = Standing { listing, answers, rates };
    let text = if typed.json { as_json(&standing) } else { table(&standing) };
    // Nobody may be reading.
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "a rate is shown with three digits")]
fn rates(before: &Answers, after: &Answers, time: Duration) -> BTreeMap<AgentId, f64> {
    let rate = |(id, answer): (&AgentId, &Result<AgentStatus, String>)| {
        let (now, then) = (answer.as_ref().ok()?, before.get(id)?.as_ref().ok()?);
        let pages = now.snapshot.pages.saturating_sub(then.snapshot.pages) as f64;
        (now.process == then.process).then(|| (*id, pages / time.as_secs_f64()))
    };
    after.iter().filter_map(rate).collect()
}

impl Standing {
    fn lease(&self, agent: &Agent) -> Option<Duration> {
        let lease = self.listing.leases.get(&agent.id.0)?;
        Some(Duration::from_millis(lease.left_ms)).filter(|_| agent.state != AgentState::Dead)
    }

    fn row(&self, agent: &Agent) -> Vec<String> {
        let mut row = vec![agent.name.clone(), state_word(agent.state).to_owned()];
        let lease = self.lease(agent).map_or_else(|| "-".to_owned(), duration);
        match self.answers.get(&agent.id) {
            Some(Ok(status)) => {
                row.extend(self.numbers(std::slice::from_ref(&status), &[agent.id]));
                let pace = match status.fence_open {
                    true => status.snapshot.pace.to_string(),
                    false => "its lease is over: it fetches nothing".to_owned(),
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

    /// The columns that add up.
    fn numbers(&self, of: &[&AgentStatus], ids: &[AgentId]) -> Vec<String> {
        let sum = |f: fn(&AgentStatus) -> u64| count(of.iter().map(|status| f(status)).sum());
        let rates: Vec<f64> = ids.iter().filter_map(|id| self.rates.get(id).copied()).collect();
        let rate = match rates.is_empty() {
            true => "-".to_owned(),
            false => human::rate(rates.iter().sum()),
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

    /// Pages until the limit of the crawl, by whoever was told last.
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

fn table(standing: &Standing) -> String {
    let view = &standing.listing.view;
    let mut rows = vec![HEADINGS.map(String::from).to_vec()];
    rows.extend(view.agents.iter().map(|agent| standing.row(agent)));
    rows.push(standing.totals());
    let (crawl, run, epoch) = (&standing.listing.crawl_id, run_word(view.run), view.epoch);
    let left = standing.pages_left().map(|left| format!(", {} pages left", count(left)));
    let left = left.unwrap_or_default();
    format!("crawl {crawl}, {run}, epoch {epoch}{left}\n{}", human::table(&rows))
}

fn as_json(standing: &Standing) -> String {
    let view = &standing.listing.view;
    let agents: Vec<Value> = view.agents.iter().map(|agent| agent_json(standing, agent)).collect();
    let all: Vec<&AgentStatus> = standing.answers.values().flatten().collect();
    let sum = |f: fn(&AgentStatus) -> u64| all.iter().map(|status| f(status)).sum::<u64>();
    let whole = json!({
        "crawl": standing.listing.crawl_id,
        "epoch": view.epoch,
        "run": run_word(view.run),
        "agents": agents,
        "totals": {
            "pages": sum(|s| s.snapshot.pages),
            "pages_left": standing.pages_left(),
            "pages_per_second": standing.rates.values().sum::<f64>(),
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

fn agent_json(standing: &Standing, agent: &Agent) -> Value {
    let mut value = json!({
        "name": agent.name,
        "id": agent.id.0,
        "state": state_word(agent.state),
        "weight": agent.weight,
        "address": agent.address,
        "lease_left_ms":
            standing.lease(agent).map(|left| u64::try_from(left.as_millis()).unwrap_or(u64::MAX)),
    });
    let more = match standing.answers.get(&agent.id) {
        None => return value,
        Some(Err(why)) => json!({ "unreachable": why }),
        Some(Ok(s)) => json!({
            "epoch": s.epoch,
            "idle": s.idle,
            "may_fetch": s.fence_open,
            "pages": s.snapshot.pages,
            "pages_per_second": standing.rates.get(&agent.id),
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

    fn standing() -> Standing {
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
        let lease = crivello_proto::v1::AgentLease { id: 0, left_ms: 12_000, epoch: 7 };
        Standing {
            listing: Listing {
                crawl_id: "c0ffee".into(),
                view,
                leases: HashMap::from([(0, lease)]),
            },
            answers: Answers::from([
                (AgentId(0), Ok(status)),
                (AgentId(1), Err("does not answer".to_owned())),
            ]),
            rates: BTreeMap::from([(AgentId(0), 56.0)]),
        }
    }

    #[test]
    fn the_table_adds_up_and_says_who_cannot_be_reached() {
        let expected = "\
crawl c0ffee, running, epoch 7
NAME   STATE   PAGES  PAGES/S  QUEUED  READY  WAITING  RESTING  OUTBOX  MOVING  EPOCH  LEASE  PACE
a      active  1,234  56       5       0      0        0        2       0       7      12 s   its lease is over: it fetches nothing
b      active  -      -        -       -      -        -        -       -       -      -      does not answer
c      dead    -      -        -       -      -        -        -       -       -      -
(all)          1,234  56       5       0      0        0        2       0
";
        assert_eq!(table(&standing()), expected);
        let mut limited = standing();
        if let Some(Ok(status)) = limited.answers.get_mut(&AgentId(0)) {
            status.snapshot.pages_left = Some(4_321);
        }
        assert!(table(&limited).starts_with("crawl c0ffee, running, epoch 7, 4,321 pages left\n"));
    }

    #[test]
    fn the_json_says_the_same() {
        let json: Value = serde_json::from_str(&as_json(&standing())).expect("JSON");
        assert_eq!(json["agents"][0]["pages"], 1_234);
        assert_eq!(json["agents"][0]["lease_left_ms"], 12_000);
        assert_eq!(json["agents"][1]["unreachable"], "does not answer");
        assert_eq!(
            (&json["agents"][2]["state"], &json["totals"]["outbox"]),
            (&"dead".into(), &2.into())
        );
    }

    #[test]
    fn a_process_that_began_anew_has_no_rate_yet() {
        let answers = standing().answers;
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
