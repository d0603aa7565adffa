//! `crivello status`: state of a crawl, per agent and in total.

use super::agents::{agent_json, lease_left};
use crate::args::cluster::AgentsArgs;
use crate::cluster::statuses::{AgentStatuses, query_statuses};
use crate::cluster::{connect, list};
use crate::exit::{CliError, Exit};
use crate::format::{self, count};
use crate::screen;
use crivello_common::time::Clock;
use crivello_common::view::{Agent, AgentId};
use crivello_proto::agents::{AgentStatus, Listing, pages_by_class, weighted_mean};
use crivello_proto::bottleneck;
use crivello_proto::v1::{RecrawlProgress, UploadProgress};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::sleep;

/// Period of the rate.
const RATE_PERIOD: Duration = Duration::from_secs(1);

const HEADINGS: [&str; 13] = [
    "NAME", "STATE", "PAGES", "PAGES/S", "QUEUED", "READY", "WAITING", "RESTING", "OUTBOX",
    "MOVING", "EPOCH", "LEASE", "PACE",
];

type Count = fn(&AgentStatus) -> u64;

/// Counts that can be summed, with their names in JSON, in the order of [`HEADINGS`].
const COUNTS: [(&str, Count); 7] = [
    ("pages", |(_, progress)| progress.pages),
    ("urls_queued", |(_, progress)| progress.urls_queued),
    ("hosts_ready", |(_, progress)| progress.hosts_ready),
    ("hosts_waiting", |(_, progress)| progress.hosts_waiting),
    ("hosts_resting", |(_, progress)| progress.hosts_resting),
    ("outbox", |(status, _)| status.outbox),
    ("handoffs", |(status, _)| status.handoffs),
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
pub async fn run(args: &AgentsArgs) -> Result<Exit, CliError> {
    let (mut client, credentials) = connect(&args.coordinator).await?;
    let clients = credentials.agent_clients(client.clone());
    let first = list(&mut client).await?;
    let clock = Clock::start();
    let before = query_statuses(&clients, &first).await;
    let queried = clock.now();
    if before.values().any(Result::is_ok) {
        sleep(RATE_PERIOD).await;
    }
    let listing = list(&mut client).await?;
    let answers = query_statuses(&clients, &listing).await;
    let rates = rates(&before, &answers, clock.now().since(queried));
    let report = StatusReport { listing, answers, rates };
    screen::print_out(&if args.json { as_json(&report) } else { table(&report) });
    Ok(Exit::Finished)
}

#[expect(clippy::cast_precision_loss, reason = "only three digits are shown")]
fn rates(before: &AgentStatuses, after: &AgentStatuses, time: Duration) -> BTreeMap<AgentId, f64> {
    let rate = |(id, answer): (&AgentId, &Result<AgentStatus, String>)| {
        let (status, now) = answer.as_ref().ok()?;
        let (earlier, then) = before.get(id)?.as_ref().ok()?;
        let pages = now.pages.saturating_sub(then.pages) as f64;
        (status.process == earlier.process).then(|| (*id, pages / time.as_secs_f64()))
    };
    after.iter().filter_map(rate).collect()
}

impl StatusReport {
    fn row(&self, agent: &Agent) -> Vec<String> {
        let mut row = vec![agent.name.clone(), agent.state.name().to_owned()];
        let lease = lease_left(&self.listing, agent);
        match self.answers.get(&agent.id) {
            Some(Ok(answer)) => {
                let (status, progress) = answer;
                row.extend(self.numbers(&[answer]));
                let pace = bottleneck::pace(status, progress);
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
    fn numbers(&self, of: &[&AgentStatus]) -> Vec<String> {
        let sum = |(_, of_one): (&str, Count)| count(of.iter().map(|s| of_one(s)).sum());
        let rate = |(status, _): &&AgentStatus| self.rates.get(&AgentId(status.id)).copied();
        let rates: Vec<f64> = of.iter().filter_map(rate).collect();
        let rate = match rates.is_empty() {
            true => "-".to_owned(),
            false => format::rate(rates.iter().sum()),
        };
        let mut columns = COUNTS.map(sum).to_vec();
        columns.insert(1, rate);
        columns
    }

    /// Returns the number of pages until the limit of the crawl, as known by the latest heartbeat.
    fn pages_left(&self) -> Option<u64> {
        let all = self.answers.values().flatten();
        all.filter_map(|(_, progress)| progress.pages_left).min()
    }

    fn totals(&self) -> Vec<String> {
        let all: Vec<&AgentStatus> = self.answers.values().flatten().collect();
        let mut row = vec!["(all)".to_owned(), String::new()];
        row.extend(self.numbers(&all));
        row
    }
}

fn table(report: &StatusReport) -> String {
    let view = &report.listing.view;
    let mut rows = vec![HEADINGS.map(String::from).to_vec()];
    rows.extend(view.agents.iter().map(|agent| report.row(agent)));
    rows.push(report.totals());
    let (crawl, run, epoch) = (&report.listing.crawl_id, view.run.name(), view.epoch);
    let left = report.pages_left().map(|left| format!(", {} pages left", count(left)));
    let left = left.unwrap_or_default();
    let by_status = status_line(&report.answers).unwrap_or_default();
    let recrawl = recrawl_line(&report.answers).unwrap_or_default();
    let uploads = uploads_line(&report.answers).unwrap_or_default();
    let ranks = ranks_line(&report.answers).unwrap_or_default();
    let obstacles = report.listing.obstacle_texts().into_iter();
    let obstacles: String = obstacles.map(|obstacle| format!("{}\n", obstacle.text)).collect();
    format!(
        "crawl {crawl}, {run}, epoch {epoch}{left}\n{}{by_status}{recrawl}{uploads}{ranks}{obstacles}",
        format::table(&rows)
    )
}

/// Returns a line about the pages by status; `None` if there are none.
fn status_line(answers: &AgentStatuses) -> Option<String> {
    let by_class = pages_by_class(answers.values().flatten().map(|(_, progress)| progress));
    let shown = by_class.iter().zip(1..).filter(|(n, _)| **n > 0);
    let shown: Vec<String> = shown.map(|(n, class)| format!("{class}xx {}", count(*n))).collect();
    (!shown.is_empty()).then(|| format!("pages by status: {}\n", shown.join(", ")))
}

/// Returns a line about the pages that are fetched again, if any are. Copies count at each agent.
fn recrawl_line(answers: &AgentStatuses) -> Option<String> {
    let all = || answers.values().flatten().filter_map(|(_, progress)| progress.recrawl);
    all().next()?;
    let sum = |of: fn(&RecrawlProgress) -> u64| count(all().map(|recrawl| of(&recrawl)).sum());
    let shares = all().map(|recrawl| (recrawl.scheduled + recrawl.queued, recrawl.freshness));
    let fresh = weighted_mean(shares);
    let fresh =
        fresh.map_or(String::new(), |share| format!(", about {:.0} % fresh", 100.0 * share));
    let late = weighted_mean(all().map(|recrawl| (recrawl.visits(), recrawl.lateness)));
    let late =
        late.map_or(String::new(), |late| format!(", {late:.0} s after they were due on average"));
    let overdue: Option<u64> = all().filter_map(|recrawl| recrawl.overdue).reduce(|a, b| a + b);
    let overdue = overdue.map_or(String::new(), |n| match n {
        0 => ", none for over a minute".into(),
        n => format!(", {} of them for over a minute", count(n)),
    });
    let copies = if answers.len() > 1 { " (copies included)" } else { "" };
    Some(format!(
        "pages: {} new; fetched again{late}: {} changed, {} unchanged, {} not modified (304), {} \
         failed; {} known: {} due{overdue}, {} later{copies}{fresh}\n",
        sum(|r| r.new),
        sum(|r| r.changed),
        sum(|r| r.unchanged),
        sum(|r| r.not_modified),
        sum(|r| r.failed),
        sum(|r| r.queued + r.scheduled),
        sum(|r| r.queued),
        sum(|r| r.scheduled),
    ))
}

/// Returns a line about the copies of archive files, if they are made.
fn uploads_line(answers: &AgentStatuses) -> Option<String> {
    let progress = answers.values().flatten().map(|(_, progress)| progress);
    let all: Vec<&UploadProgress> = progress.filter_map(|p| p.uploads.as_ref()).collect();
    let sum = |of: fn(&UploadProgress) -> u64| all.iter().map(|uploads| of(uploads)).sum::<u64>();
    let failing = all.iter().filter_map(|u| Some((u.failing_ms?, u.problem.as_ref()?)));
    let worst = failing.clone().max_by_key(|(ms, _)| *ms);
    let problem = worst.map_or(String::new(), |(ms, problem)| {
        let agents = failing.count();
        let time = format::duration(Duration::from_millis(ms));
        format!("; failing at {agents} of {} agents, for up to {time}: {}", all.len(), problem)
    });
    (!all.is_empty()).then(|| {
        format!(
            "archive files uploaded: {} ({}), waiting: {} ({}){problem}\n",
            count(sum(|u| u.files_stored)),
            format::bytes(sum(|u| u.bytes_stored)),
            count(sum(|u| u.files_waiting)),
            format::bytes(sum(|u| u.bytes_waiting)),
        )
    })
}

/// Returns a line about the ranks of hosts in force, if there are some.
fn ranks_line(answers: &AgentStatuses) -> Option<String> {
    let mut agents = BTreeMap::<_, u64>::new();
    for (status, _) in answers.values().flatten() {
        *agents.entry((&status.host_ranks, status.hosts_ranked)).or_default() += 1;
    }
    let feeds = agents.iter().filter(|((digest, _), _)| !digest.is_empty());
    let feeds: Vec<String> = feeds
        .map(|((digest, hosts), n)| {
            let name = digest.get(..12).unwrap_or(digest);
            format!(
                "{} ({name}) with {}",
                format::plural(*hosts, "host"),
                format::plural(*n, "agent")
            )
        })
        .collect();
    (!feeds.is_empty()).then(|| format!("ranks of hosts: {}\n", feeds.join("; ")))
}

fn as_json(report: &StatusReport) -> String {
    let view = &report.listing.view;
    let agents: Vec<Value> = view.agents.iter().map(|agent| with_status(report, agent)).collect();
    let all: Vec<&AgentStatus> = report.answers.values().flatten().collect();
    let sum = |of_one: Count| all.iter().map(|status| of_one(status)).sum::<u64>();
    let mut whole = json!({
        "crawl": report.listing.crawl_id,
        "epoch": view.epoch,
        "run": view.run.name(),
        "agents": agents,
        "obstacles": report.listing.obstacle_texts(),
        "totals": {
            "pages_left": report.pages_left(),
            "pages_per_second": report.rates.values().sum::<f64>(),
            "hosts_paused": sum(|(_, progress)| progress.hosts_paused),
        },
    });
    for (name, of_one) in COUNTS {
        whole["totals"][name] = json!(sum(of_one));
    }
    format!("{whole:#}\n")
}

/// Returns an agent and its status as JSON.
fn with_status(report: &StatusReport, agent: &Agent) -> Value {
    let mut value = agent_json(&report.listing, agent);
    match report.answers.get(&agent.id) {
        None => {}
        Some(Err(why)) => value["unreachable"] = json!(why),
        Some(Ok(answer)) => {
            for (name, of_one) in COUNTS {
                value[name] = json!(of_one(answer));
            }
            let (status, progress) = answer;
            value["epoch"] = json!(status.epoch);
            value["idle"] = json!(status.idle);
            value["may_fetch"] = json!(status.fence_open);
            value["pages_per_second"] = json!(report.rates.get(&agent.id));
            value["bytes"] = json!(progress.bytes);
            value["errors"] = json!(progress.errors);
            value["pages_by_class"] = json!(progress.pages_by_class);
            value["urls_seen"] = json!(progress.urls_seen);
            value["hosts_paused"] = json!(progress.hosts_paused);
            value["visits"] = json!(progress.visits);
            value["pace"] = json!(bottleneck::words(progress));
            value["host_ranks"] = json!(status.host_ranks);
            value["hosts_ranked"] = json!(status.hosts_ranked);
            value["recrawl"] = json!(progress.recrawl);
            value["uploads"] = json!(progress.uploads);
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_common::obstacle::{Obstacle, ObstacleKind};
    use crivello_common::view::{AgentState, View};
    use crivello_proto::v1::{AgentLease, Progress, StatusResponse};

    fn report() -> StatusReport {
        let mut view = View::of_one("a");
        view.epoch = 7;
        for (name, state) in [("b", AgentState::Active), ("c", AgentState::Dead)] {
            let mut agent = view.agents[0].clone();
            (agent.name, agent.state) = (name.to_owned(), state);
            agent.id.0 = view.agents.len() as u32;
            view.agents.push(agent);
        }
        let progress = Progress { pages: 1_234, urls_queued: 5, ..Progress::default() };
        let status = StatusResponse { epoch: 7, outbox: 2, ..StatusResponse::default() };
        let lease = AgentLease { id: 0, remaining_ms: 12_000, epoch: 7 };
        StatusReport {
            listing: Listing {
                crawl_id: "c0ffee".into(),
                view,
                leases: [(AgentId(0), lease)].into(),
                obstacles: Vec::new(),
                uncovered: Vec::new(),
                safe_files: [].into(),
            },
            answers: AgentStatuses::from([
                (AgentId(0), Ok((status, progress))),
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
        let mut stuck = report();
        stuck.listing.obstacles = vec![Obstacle {
            kind: ObstacleKind::OnlyCopy,
            agent: AgentId(2),
            since: Duration::ZERO,
            others: Vec::new(),
            disk_full: false,
        }];
        assert!(table(&stuck).contains("\nc is dead and may hold URLs that no other agent has"));
        assert!(as_json(&stuck).contains("only-copy"));
        let mut limited = report();
        if let Some(Ok((_, progress))) = limited.answers.get_mut(&AgentId(0)) {
            progress.pages_left = Some(4_321);
        }
        assert!(table(&limited).starts_with("crawl c0ffee, running, epoch 7, 4,321 pages left\n"));
    }

    #[test]
    fn a_line_names_the_ranks_in_force() {
        let mut report = report();
        assert_eq!(ranks_line(&report.answers), None);
        if let Some(Ok((status, _))) = report.answers.get_mut(&AgentId(0)) {
            (status.host_ranks, status.hosts_ranked) = ("ab".repeat(32), 1_234);
        }
        let line = "ranks of hosts: 1,234 hosts (abababababab) with 1 agent\n";
        assert_eq!(ranks_line(&report.answers).as_deref(), Some(line));
        assert!(table(&report).ends_with(line));
    }

    #[test]
    fn a_line_tells_how_many_pages_are_known_due_and_overdue() {
        let mut report = report();
        assert_eq!(recrawl_line(&report.answers), None);
        let mut line = |overdue| {
            if let Some(Ok((_, progress))) = report.answers.get_mut(&AgentId(0)) {
                let (scheduled, queued, unchanged, lateness) = (1_000, 20, 7, Some(2.0));
                let recrawl = RecrawlProgress {
                    scheduled,
                    queued,
                    unchanged,
                    lateness,
                    ..Default::default()
                };
                progress.recrawl = Some(RecrawlProgress { overdue, ..recrawl });
            }
            recrawl_line(&report.answers).expect("a line")
        };
        let text = line(Some(3));
        assert!(text.contains("again, 2 s after they were due on average: 0 changed"), "{text}");
        assert!(
            text.contains("1,020 known: 20 due, 3 of them for over a minute, 1,000 later"),
            "{text}"
        );
        assert!(line(Some(0)).contains("20 due, none for over a minute, 1,000 later"));
        assert!(line(None).contains("20 due, 1,000 later"));
    }

    #[test]
    fn uploads_are_summed_and_the_longest_failure_is_shown() {
        let mut report = report();
        assert_eq!(uploads_line(&report.answers), None);
        let mut line = |problem: Option<&str>| {
            if let Some(Ok((_, progress))) = report.answers.get_mut(&AgentId(0)) {
                progress.uploads = Some(UploadProgress {
                    files_waiting: 2,
                    bytes_waiting: 3 << 30,
                    files_stored: 1_200,
                    bytes_stored: 1 << 40,
                    failures: 7,
                    problem: problem.map(str::to_owned),
                    failing_ms: problem.map(|_| 61_000),
                });
            }
            uploads_line(&report.answers).expect("a line")
        };
        let sums = "archive files uploaded: 1,200 (1.00 TiB), waiting: 2 (3.00 GiB)";
        assert_eq!(line(None), format!("{sums}\n"));
        let failing = "; failing at 1 of 1 agents, for up to 1 min 1 s: 503 Slow Down";
        assert_eq!(line(Some("503 Slow Down")), format!("{sums}{failing}\n"));
    }

    #[test]
    fn the_json_has_the_same_values() {
        let mut report = report();
        if let Some(Ok((_, progress))) = report.answers.get_mut(&AgentId(0)) {
            progress.recrawl = Some(RecrawlProgress { failed: 3, ..RecrawlProgress::default() });
        }
        let json: Value = serde_json::from_str(&as_json(&report)).expect("JSON");
        let recrawl = json!({
            "scheduled": 0, "queued": 0, "changed": 0, "unchanged": 0, "not_modified": 0, "failed": 3,
            "freshness": null, "threshold": null, "new": 0, "lateness": null,
            "overdue": null,
        });
        assert_eq!(json["agents"][0]["recrawl"], recrawl);
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
        if let Some(Ok((_, progress))) = later.get_mut(&AgentId(0)) {
            progress.pages += 10;
        }
        let found = rates(&answers, &later, Duration::from_secs(2));
        assert_eq!(found, BTreeMap::from([(AgentId(0), 5.0)]));
        if let Some(Ok((status, _))) = later.get_mut(&AgentId(0)) {
            status.process += 1;
        }
        assert_eq!(rates(&answers, &later, Duration::from_secs(2)), BTreeMap::new());
    }
}
