//! Why nothing is fetched from a host just now: the first of [`STEPS`] that has something to say.

use super::facts::{Facts, PagesLeft};
use super::robots;
use super::rule::{self, ago};
use super::words::{several, span};
use crate::messages::{AddressSnapshot, IpLeaseState, SnapshotPhase};
use crivello_common::discard::Discard;
use crivello_common::politeness::WaitRule;
use crivello_common::time::Timestamp;
use crivello_common::view::AgentId;
use crivello_proto::v1::{HoldKind, WaitReason};

/// What a host waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waits {
    /// In one word.
    pub reason: WaitReason,
    /// No request before; zero when that is not known.
    pub next: Timestamp,
    /// In words.
    pub detail: String,
}

/// Says something, or leaves it to the next.
type Step = fn(&Facts<'_>) -> Option<Waits>;

/// From what settles the question to what merely delays: the first that holds is the answer.
const STEPS: &[Step] = &[
    unknown,
    in_flight,
    blocked,
    given_up,
    empty,
    elsewhere,
    handoff,
    paused,
    host_paused,
    limit,
    agent,
    resolving,
    away,
    rested,
    address,
    turn,
    start,
];

/// See the module. Of a crawl that is not running: what its host will wait for when it is.
#[must_use]
pub fn reason(facts: &Facts<'_>) -> Waits {
    let waits = STEPS.iter().find_map(|step| step(facts)).unwrap_or_else(|| due(facts));
    let settled = matches!(
        waits.reason,
        WaitReason::UnknownHost | WaitReason::Empty | WaitReason::GivenUp | WaitReason::OtherAgent
    );
    if facts.crawl.is_running || settled {
        return waits;
    }
    let then = match waits.reason {
        WaitReason::Due => String::new(),
        _ => format!("; when it is: {}", waits.detail),
    };
    let detail = format!("the crawl in this directory is not running{then}");
    Waits { reason: WaitReason::Agent, detail, ..waits }
}

fn says(reason: WaitReason, facts: &Facts<'_>, detail: impl Into<String>) -> Option<Waits> {
    let own = facts.state().map_or(Timestamp::ZERO, |state| state.next);
    let next = facts.address().map_or(own, |at| own.max(at.next));
    Some(Waits { reason, next, detail: detail.into() })
}

fn agent_name(id: Option<AgentId>) -> String {
    id.map_or_else(|| "another agent".to_owned(), |id| format!("agent {id}"))
}

fn unknown(f: &Facts<'_>) -> Option<Waits> {
    if f.row.is_some() || f.bench.is_some() {
        return None;
    }
    let detail = match (f.hold.kind, f.hold.owner) {
        (HoldKind::None, Some(owner)) => {
            format!("agent {owner} owns its group, and is to be asked")
        }
        _ => "no URL of it was ever let in".to_owned(),
    };
    says(WaitReason::UnknownHost, f, detail)
}

fn in_flight(f: &Facts<'_>) -> Option<Waits> {
    let bench = f.bench.filter(|bench| bench.phase == SnapshotPhase::InFlight)?;
    let detail = match &bench.flight {
        None => "a visit is in flight".to_owned(),
        Some(flight) => {
            let what = match flight.urls.len() {
                0 => "for a robots.txt".to_owned(),
                n => format!("for {}", several(n as u64, "URL")),
            };
            format!("a visit {what} is in flight since {}", span(f.now.since(flight.since)))
        }
    };
    says(WaitReason::InFlight, f, detail)
}

fn given_up(f: &Facts<'_>) -> Option<Waits> {
    let row = f.row?;
    match row.closed {
        Some(by @ (Discard::HostLimit | Discard::DomainLimit)) => {
            says(WaitReason::Limit, f, format!("{}: nothing more is let in", by.description()))
        }
        Some(by) => {
            says(WaitReason::GivenUp, f, format!("{}: nothing more is let in", by.description()))
        }
        None if row.queued == 0 && row.state.is_given_up() => {
            let kinds: Vec<_> =
                row.state.failures.iter().map(|(kind, n)| format!("{n} {}", kind.name())).collect();
            let detail = format!("what was queued was set aside after {}", kinds.join(", "));
            says(WaitReason::GivenUp, f, detail)
        }
        None => None,
    }
}

fn empty(f: &Facts<'_>) -> Option<Waits> {
    if f.queued() > 0 {
        return None;
    }
    let pages = several(f.row.map_or(0, |row| row.pages), "page");
    says(WaitReason::Empty, f, format!("nothing is queued; {pages} fetched"))
}

fn elsewhere(f: &Facts<'_>) -> Option<Waits> {
    let owner = agent_name(f.hold.owner);
    match f.hold.kind {
        HoldKind::Copy => {
            says(WaitReason::OtherAgent, f, format!("{owner} has it; this agent holds a copy"))
        }
        HoldKind::None => says(WaitReason::OtherAgent, f, format!("{owner} has it")),
        _ => None,
    }
}

fn handoff(f: &Facts<'_>) -> Option<Waits> {
    let owner = agent_name(f.hold.owner);
    let leaves = f.bench.is_none_or(|bench| bench.leaves);
    match f.hold.kind {
        HoldKind::Pending => says(
            WaitReason::Handoff,
            f,
            "this agent owns the group, and waits until those who have rows of it have brought them",
        ),
        HoldKind::Leaving if leaves => {
            says(WaitReason::Handoff, f, format!("the group is being handed over to {owner}"))
        }
        _ => None,
    }
}

fn paused(f: &Facts<'_>) -> Option<Waits> {
    if f.crawl.is_paused {
        return says(WaitReason::Paused, f, "the crawl is paused; `crivello resume` has it go on");
    }
    None
}

fn blocked(f: &Facts<'_>) -> Option<Waits> {
    let address = f.address().map(|at| at.address);
    let block = f.lists.block(f.name, address)?;
    let detail =
        format!("{block} is blocked (links.blocked); `crivello unblock` lets links in again");
    says(WaitReason::Blocked, f, detail)
}

fn host_paused(f: &Facts<'_>) -> Option<Waits> {
    let detail = "the host is paused (politeness.paused); `crivello resume HOST` has it go on";
    f.lists.is_paused(f.name).then(|| says(WaitReason::HostPaused, f, detail)).flatten()
}

fn limit(f: &Facts<'_>) -> Option<Waits> {
    match f.crawl.pages_left {
        PagesLeft::Some => None,
        PagesLeft::None => says(WaitReason::Limit, f, "limits.pages-max is reached"),
        PagesLeft::NoneHere => says(
            WaitReason::Limit,
            f,
            "this agent has used up its portion of limits.pages-max, and waits for another",
        ),
    }
}

fn agent(f: &Facts<'_>) -> Option<Waits> {
    let c = f.crawl;
    let detail = if c.is_stopping {
        "the agent is stopping: visits in flight are ended and saved"
    } else if !c.fence_is_open {
        "the agent may not fetch: its lease is over, and not all other agents can be reached \
         (cluster.lease)"
    } else if c.disk_is_full {
        "the disk has less room than state.disk-free-min: fetching waits until there is more"
    } else if c.is_offline {
        "the network seems to be down: one host at a time is tried until one answers"
    } else {
        return None;
    };
    says(WaitReason::Agent, f, detail)
}

fn resolving(f: &Facts<'_>) -> Option<Waits> {
    let bench = f.bench?;
    match bench.phase {
        SnapshotPhase::Resolving => says(WaitReason::Resolving, f, "its name is being resolved"),
        _ => None,
    }
}

fn away(f: &Facts<'_>) -> Option<Waits> {
    let SnapshotPhase::Away { origin, at, deadline } = &f.bench?.phase else { return None };
    let at = at.as_deref().unwrap_or("another host");
    let detail = format!(
        "{}/robots.txt leads to {at}, whose turn it waits for; it counts as out of reach after {}",
        origin.on_host(f.name),
        span(deadline.since(f.now))
    );
    says(WaitReason::Robots, f, detail)
}

/// Its own next time has not come.
fn rested(f: &Facts<'_>) -> Option<Waits> {
    let state = f.state()?;
    let at_address = f.address().map_or(Timestamp::ZERO, |at| at.next);
    if let Some(floor) = group_floor(f).filter(|&floor| floor > state.next) {
        let detail = "its group has just come to this agent, which nobody knows to have rested: \
                      it waits for one delay from then (politeness.delay)";
        return Some(Waits { reason: WaitReason::Rule, next: floor, detail: detail.to_owned() });
    }
    if state.next <= f.now || state.next < at_address {
        return None;
    }
    let then = match state.rule {
        // Which says so itself.
        WaitRule::RobotsUnreachable => String::new(),
        _ => and_then(f),
    };
    says(WaitReason::Rule, f, format!("{}{then}", rule::words(f, state)))
}

/// The time in its row of the schedule, while it is on disk.
fn group_floor(f: &Facts<'_>) -> Option<Timestamp> {
    let at = f.row.filter(|_| f.bench.is_none())?.scheduled?;
    (at > f.now).then_some(at)
}

/// Its address has not rested, or is being visited.
fn address(f: &Facts<'_>) -> Option<Waits> {
    let at = f.address()?;
    let other = |name: &std::sync::Arc<str>| **name != *f.name;
    let ip = at.address;
    let detail = if at.next > f.now {
        let delay = span(f.settings.politeness.ip_delay);
        match at.last.as_ref().filter(|last| other(last)) {
            Some(last) => format!(
                "{last}, another host of its address {ip}, was visited: the address rests for \
                 {delay} (politeness.ip-delay)"
            ),
            None if at.last.is_none() && f.bench.is_some_and(|b| b.state.last_ended < at.next) => {
                format!(
                    "its address {ip} may have been visited lately, by an earlier run or another \
                     agent: it rests for {delay} (politeness.ip-delay)"
                )
            }
            None => {
                format!("its address {ip} rests for {delay} after each visit (politeness.ip-delay)")
            }
        }
    } else if let Some(visited) = at.visited.as_ref().filter(|visited| other(visited)) {
        format!("{visited}, another host of its address {ip}, is being visited")
    } else if at.before > 0 && is_due(f) {
        format!(
            "{} of its address {ip} come first, one at a time (politeness.ip-delay)",
            several(at.before as u64, "other host")
        )
    } else {
        return None;
    };
    says(WaitReason::Address, f, format!("{detail}{}", and_then(f)))
}

fn is_due(f: &Facts<'_>) -> bool {
    f.state().is_some_and(|state| state.next <= f.now)
}

fn turn(f: &Facts<'_>) -> Option<Waits> {
    let AddressSnapshot { address, turn, .. } = f.address()?;
    let lender = match f.lender {
        Some(id) => format!("agent {id}, which deals out the turns there"),
        None => "this agent itself, which deals out the turns there".to_owned(),
    };
    match turn {
        IpLeaseState::NotNeeded | IpLeaseState::Here => None,
        IpLeaseState::Asked(at) => says(
            WaitReason::Turn,
            f,
            format!(
                "hosts of other agents share its address {address}: the turn was asked of {lender}, \
                 {} ago",
                span(f.now.since(*at))
            ),
        ),
        IpLeaseState::NotAsked => says(
            WaitReason::Turn,
            f,
            format!("the turn at its address {address} is about to be asked of {lender}"),
        ),
    }
}

fn start(f: &Facts<'_>) -> Option<Waits> {
    let from = f.crawl.visits_from;
    let detail = "caution: nothing is visited before politeness.ip-delay after a start";
    (from > f.now).then(|| Waits { reason: WaitReason::Rule, next: from, detail: detail.into() })
}

/// Nothing is in its way.
fn due(f: &Facts<'_>) -> Waits {
    let c = f.crawl;
    let since = f.state().and_then(|state| ago(f.now, state.next));
    let due = since.map_or_else(|| "due".to_owned(), |since| format!("due since {since}"));
    let detail = match f.bench.map(|bench| &bench.phase) {
        None => format!(
            "{due}, on disk: it waits for room among the {} in memory",
            several(c.hosts_in_memory, "host")
        ),
        Some(SnapshotPhase::Dry) => "the next of its queue are being read from the disk".to_owned(),
        Some(SnapshotPhase::Asleep) => format!("{due}: its name is about to be resolved"),
        Some(_) if c.pipeline_is_full => {
            format!("{due}: pages come faster than they are parsed or written, fetching waits")
        }
        Some(_) if c.visits >= c.visits_max => {
            format!("{due}: all {} visits are in flight (fetch.visits-max)", c.visits_max)
        }
        Some(_) => format!("{due}: it goes next to a fetcher"),
    };
    let next = f.state().map_or(Timestamp::ZERO, |state| state.next);
    Waits { reason: WaitReason::Due, next, detail: format!("{detail}{}", and_then(f)) }
}

/// What goes before its pages once its time has come.
fn and_then(f: &Facts<'_>) -> String {
    let Some(origin) = f.bench.and_then(|bench| bench.asks_robots) else { return String::new() };
    let known = f.robots.iter().find(|known| known.origin == origin);
    let why = known.map_or("which is not known", robots::why_asked);
    format!("; then {}/robots.txt is asked for first, {why}", origin.on_host(f.name))
}
