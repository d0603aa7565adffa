//! Reason for the wait of a host: the first that applies.

use super::facts::{Facts, PageLimitState};
use super::robots::{self, millis};
use crate::messages::{AddressSnapshot, IpLeaseState, RobotsRecord, SnapshotPhase};
use crivello_common::failure::Failure;
use crivello_common::politeness::{HostState, WaitRule};
use crivello_common::time::Timestamp;
use crivello_common::view::AgentId;
use crivello_proto::enums::number;
use crivello_proto::v1::wait::{self, Reason};
use crivello_proto::v1::{DueStep, HoldKind, RobotsFirst, Wait};
use std::sync::Arc;

/// Upper bound on the number of failures after which a host is given up.
const TRIES_MAX: u32 = 100;

/// Reasons that prevent any visit. They come before reasons that only delay one.
const PREVENTING: &[fn(&Facts<'_>) -> Option<Reason>] = &[
    unknown,
    in_flight,
    blocked,
    given_up,
    empty,
    elsewhere,
    handoff,
    paused,
    limit,
    agent,
    resolving,
    robots_redirect,
];

/// Reasons that delay a visit.
const DELAYING: &[fn(&Facts<'_>) -> Option<Wait>] = &[resting, address, ip_lease, after_start];

/// Returns the reason for the wait of a host. If the crawl is not running, this is the reason that
/// will apply when it runs.
#[must_use]
pub fn wait(facts: &Facts<'_>) -> Wait {
    let preventing = PREVENTING.iter().find_map(|step| step(facts));
    let wait = match preventing {
        Some(reason) => because(reason, facts),
        None => DELAYING.iter().find_map(|step| step(facts)).unwrap_or_else(|| due(facts)),
    };
    Wait { crawl_stopped: !facts.crawl.is_running, ..wait }
}

/// Adds the next time, by the host and its address, to a reason.
fn because(reason: Reason, facts: &Facts<'_>) -> Wait {
    let own = facts.state().map_or(Timestamp::ZERO, |state| state.next);
    let next = facts.address().map_or(own, |at| own.max(at.next));
    until(next, reason)
}

fn until(next: Timestamp, reason: Reason) -> Wait {
    Wait { next: next.0, reason: Some(reason), ..Wait::default() }
}

fn unknown(f: &Facts<'_>) -> Option<Reason> {
    if f.row.is_some() || f.workbench.is_some() {
        return None;
    }
    let is_elsewhere = f.holding.kind == HoldKind::None;
    let owner = f.holding.owner.filter(|_| is_elsewhere).map(|id| id.0);
    Some(Reason::UnknownHost(wait::UnknownHost { owner }))
}

fn in_flight(f: &Facts<'_>) -> Option<Reason> {
    let workbench = f.workbench.filter(|workbench| workbench.phase == SnapshotPhase::InFlight)?;
    let visit = workbench.flight.as_ref().map(|flight| wait::InFlight {
        since: flight.since.0,
        urls: u32::try_from(flight.urls.len()).unwrap_or(u32::MAX),
    });
    Some(Reason::InFlight(visit.unwrap_or_default()))
}

fn blocked(f: &Facts<'_>) -> Option<Reason> {
    let address = f.address().map(|at| at.address);
    let entry = f.lists.block(f.name, address)?.to_string();
    Some(Reason::Blocked(wait::Blocked { entry }))
}

fn given_up(f: &Facts<'_>) -> Option<Reason> {
    let row = f.row?;
    if let Some(discard) = row.closed {
        return Some(Reason::Closed(wait::Closed { discard: discard.name().to_owned() }));
    }
    let is_given_up = row.queued == 0 && row.state.is_given_up();
    is_given_up.then(|| Reason::GivenUp(wait::GivenUp { failures: failures(&row.state) }))
}

/// Returns the failures in a row by the name of their kind.
pub(super) fn failures<C: FromIterator<(String, u32)>>(state: &HostState) -> C {
    state.failures.iter().map(|(kind, n)| (kind.name().to_owned(), n.into())).collect()
}

fn empty(f: &Facts<'_>) -> Option<Reason> {
    (f.queued() == 0).then_some(Reason::Empty(wait::Empty {}))
}

fn elsewhere(f: &Facts<'_>) -> Option<Reason> {
    let replica = match f.holding.kind {
        HoldKind::Replica => true,
        HoldKind::None => false,
        _ => return None,
    };
    let owner = f.holding.owner.map(|id| id.0);
    Some(Reason::OtherAgent(wait::OtherAgent { owner, replica }))
}

fn handoff(f: &Facts<'_>) -> Option<Reason> {
    let is_leaving = f.workbench.is_none_or(|workbench| workbench.leaves);
    let owner = f.holding.owner.map(|id| id.0);
    match f.holding.kind {
        HoldKind::Pending => Some(Reason::HandoffIn(wait::HandoffIn {})),
        HoldKind::Leaving if is_leaving => Some(Reason::HandoffOut(wait::HandoffOut { owner })),
        _ => None,
    }
}

fn paused(f: &Facts<'_>) -> Option<Reason> {
    if f.crawl.is_paused {
        return Some(Reason::CrawlPaused(wait::CrawlPaused {}));
    }
    f.lists.is_paused(f.name).then_some(Reason::HostPaused(wait::HostPaused {}))
}

fn limit(f: &Facts<'_>) -> Option<Reason> {
    match f.crawl.page_limit {
        PageLimitState::Open => None,
        PageLimitState::OnlyAgain => {
            // A host that is due, and has nothing to be fetched again, is left on disk.
            let scheduled = f.row.and_then(|row| row.scheduled).filter(|place| place.at <= f.now);
            let is_left = scheduled.is_some() && f.workbench.is_none();
            is_left.then_some(Reason::PageLimit(wait::PageLimit {}))
        }
        PageLimitState::Reached => Some(Reason::PageLimit(wait::PageLimit {})),
        PageLimitState::QuotaUsed => Some(Reason::PageQuota(wait::PageQuota {})),
    }
}

fn agent(f: &Facts<'_>) -> Option<Reason> {
    let reasons = [
        (f.crawl.is_stopping, Reason::Stopping(wait::Stopping {})),
        (!f.crawl.fence_is_open, Reason::LeaseExpired(wait::LeaseExpired {})),
        (f.crawl.disk_is_full, Reason::DiskFull(wait::DiskFull {})),
        (f.crawl.is_offline, Reason::Offline(wait::Offline {})),
    ];
    reasons.into_iter().find_map(|(applies, reason)| applies.then_some(reason))
}

fn resolving(f: &Facts<'_>) -> Option<Reason> {
    let is_resolving = f.workbench?.phase == SnapshotPhase::Resolving;
    is_resolving.then_some(Reason::Resolving(wait::Resolving {}))
}

fn robots_redirect(f: &Facts<'_>) -> Option<Reason> {
    let SnapshotPhase::Away { origin, at, deadline } = &f.workbench?.phase else { return None };
    Some(Reason::RobotsRedirect(wait::RobotsRedirect {
        origin: origin.on_host(f.name),
        host: at.as_deref().unwrap_or_default().to_owned(),
        deadline: deadline.0,
    }))
}

/// Returns the rule that set the host's next time, if that is in the future.
fn resting(f: &Facts<'_>) -> Option<Wait> {
    let state = f.state()?;
    let at_address = f.address().map_or(Timestamp::ZERO, |at| at.next);
    if let Some(floor) = group_floor(f).filter(|&floor| floor > state.next) {
        return Some(until(floor, Reason::GroupMoved(wait::GroupMoved {})));
    }
    if state.next <= f.now || state.next < at_address {
        return None;
    }
    let wait = because(rule(f, state), f);
    Some(match state.rule {
        // The reason names the robots.txt.
        WaitRule::RobotsUnreachable => wait,
        _ => Wait { robots_first: robots_first(f), ..wait },
    })
}

/// Returns the time of the host's row in the schedule, if the host is only on disk and this is in
/// the future.
fn group_floor(f: &Facts<'_>) -> Option<Timestamp> {
    let at = f.row.filter(|_| f.workbench.is_none())?.scheduled?.at;
    (at > f.now).then_some(at)
}

/// Returns the rule that set the host's next time.
fn rule(f: &Facts<'_>, state: &HostState) -> Reason {
    let delay_ms = millis(state.next.since(state.last_ended));
    let slow_downs = u32::from(state.failures.of(Failure::SlowDown)).max(1);
    match state.rule {
        WaitRule::Delay => {
            Reason::Delay(wait::Delay { delay_ms, of_domain: f.pace().domain_delay.is_some() })
        }
        WaitRule::CrawlDelay => {
            let asked_ms = f.crawl_delay().map(millis);
            let max = millis(f.settings.live.politeness.crawl_delay_max);
            let kept_ms = asked_ms.map_or(delay_ms, |asked| asked.min(max));
            Reason::CrawlDelay(wait::CrawlDelay { asked_ms, kept_ms })
        }
        WaitRule::Relative => {
            let factor = f.settings.live.politeness.relative_factor;
            Reason::RelativeDelay(wait::RelativeDelay { factor, delay_ms })
        }
        WaitRule::RetryAfter => Reason::RetryAfter(wait::RetryAfter { times: slow_downs }),
        WaitRule::Backoff => Reason::SlowDown(wait::SlowDown { times: slow_downs }),
        WaitRule::RobotsUnreachable => robots_unreachable(f, state),
        WaitRule::TakeOver => Reason::GroupMoved(wait::GroupMoved {}),
        WaitRule::StartUp => Reason::AfterKill(wait::AfterKill {}),
        WaitRule::AddressChange => Reason::AddressChanged(wait::AddressChanged {}),
        WaitRule::Failure(kind) => Reason::Failed(wait::Failed {
            failure: kind.name().to_owned(),
            times: u32::from(state.failures.of(kind)).max(1),
            left: until_given_up(kind, state),
        }),
        WaitRule::Nothing if f.settings.live.limits.pages_per_domain_max.is_some() => {
            Reason::DomainReserved(wait::DomainReserved {})
        }
        WaitRule::Nothing => Reason::HeldBack(wait::HeldBack {}),
    }
}

fn robots_unreachable(f: &Facts<'_>, state: &HostState) -> Reason {
    let is_unreachable =
        |record: &RobotsRecord| record.unreachable_since.is_some() && record.rules.is_none();
    let origin = f.robots.iter().find(|origin| is_unreachable(&origin.record));
    Reason::RobotsUnreachable(wait::RobotsUnreachable {
        origin: origin.map(|origin| origin.origin.on_host(f.name)).unwrap_or_default(),
        times: origin.map_or(0, |origin| origin.record.failures),
        // Failures other than responses of 5xx or 429.
        failures: state.failures.iter().map(|(kind, _)| kind.name().to_owned()).collect(),
    })
}

/// Returns the number of further failures of this kind after which the host is given up.
fn until_given_up(kind: Failure, state: &HostState) -> Option<u32> {
    let mut then = HostState { failures: state.failures, ..HostState::default() };
    (1..TRIES_MAX).find(|_| {
        then.failures.count(kind);
        then.is_given_up()
    })
}

/// Returns a reason if the host's address rests or is visited, or if other hosts there come first.
fn address(f: &Facts<'_>) -> Option<Wait> {
    let at = f.address()?;
    let other = |name: &Option<Arc<str>>| {
        name.as_deref().filter(|&name| name != f.name).map(ToOwned::to_owned)
    };
    let address = at.address.to_string();
    let reason = if at.next > f.now {
        let last_ended = f.workbench.map(|workbench| workbench.state.last_ended);
        Reason::AddressResting(wait::AddressResting {
            address,
            delay_ms: millis(f.settings.live.politeness.ip_delay),
            visited: other(&at.last),
            maybe: at.last.is_none() && last_ended.is_some_and(|ended| ended < at.next),
        })
    } else if let Some(visited) = other(&at.visited) {
        Reason::AddressVisited(wait::AddressVisited { address, visited })
    } else if at.before > 0 && f.state().is_some_and(|state| state.next <= f.now) {
        Reason::AddressQueue(wait::AddressQueue { address, hosts: at.before as u64 })
    } else {
        return None;
    };
    Some(Wait { robots_first: robots_first(f), ..because(reason, f) })
}

fn ip_lease(f: &Facts<'_>) -> Option<Wait> {
    let AddressSnapshot { address, lease, .. } = f.address()?;
    let requested = match lease {
        IpLeaseState::NotNeeded | IpLeaseState::Here => return None,
        IpLeaseState::Asked(at) => at.0,
        IpLeaseState::NotAsked => 0,
    };
    let (address, lessor) = (address.to_string(), f.lessor.map(|id: AgentId| id.0));
    Some(because(Reason::IpLease(wait::IpLease { address, lessor, requested }), f))
}

fn after_start(f: &Facts<'_>) -> Option<Wait> {
    let from = f.crawl.visits_from;
    (from > f.now).then(|| until(from, Reason::AfterStart(wait::AfterStart {})))
}

/// Returns the step that a host waits for if nothing prevents its visit.
fn due(f: &Facts<'_>) -> Wait {
    let crawl = f.crawl;
    let (hosts_in_memory, visits_max) = (crawl.hosts_in_memory, crawl.visits_max);
    let step = match f.workbench.map(|workbench| &workbench.phase) {
        None => DueStep::Memory,
        Some(SnapshotPhase::Dry) => DueStep::Queue,
        Some(SnapshotPhase::Asleep) => DueStep::Name,
        Some(_) if crawl.pipeline_is_full => DueStep::Pipeline,
        Some(_) if crawl.visits >= visits_max => DueStep::Visits,
        Some(_) => DueStep::Fetcher,
    };
    let next = f.state().map_or(Timestamp::ZERO, |state| state.next);
    let place = f.row.filter(|_| step == DueStep::Memory).and_then(|row| row.scheduled);
    let host_class = place.map_or(0, |place| number(place.class.code()));
    let due = wait::Due { step: step.into(), hosts_in_memory, host_class, visits_max };
    Wait { robots_first: robots_first(f), ..until(next, Reason::Due(due)) }
}

/// Returns the robots.txt that is requested before the pages of the host.
fn robots_first(f: &Facts<'_>) -> Option<RobotsFirst> {
    let origin = f.workbench?.asks_robots?;
    let known = f.robots.iter().find(|known| known.origin == origin);
    Some(RobotsFirst { origin: origin.on_host(f.name), need: robots::need(known).into() })
}
