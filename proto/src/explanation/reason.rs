//! The reason why a host waits, as a sentence.

use super::url::meaning;
use crate::v1::wait::{Reason, RobotsUnreachable};
use crate::v1::{DueStep, HostClass, HostStatus, RobotsNeed, Wait, wait};
use crivello_common::format::{count, duration, exact_delay, plural, times};
use crivello_common::time::Timestamp;
use std::collections::BTreeMap;
use std::time::Duration;

impl HostStatus {
    /// Returns the reason why the host waits, and the remaining time. `agent` returns an agent's
    /// name.
    pub fn wait_text(&self, now: Timestamp, agent: impl Fn(u32) -> String) -> String {
        let Some(wait) = &self.wait else { return "not known".to_owned() };
        let Some(reason) = &wait.reason else { return "not known".to_owned() };
        let mut text = self.reason_text(wait, reason, now, &agent);
        if let Some(first) = &wait.robots_first {
            let need = match first.need() {
                RobotsNeed::Unreachable => "it was unreachable",
                RobotsNeed::Expired => "its rules have expired (politeness.robots-age-max)",
                _ => "it is not known yet",
            };
            let origin = &first.origin;
            text = format!("{text}; then {origin}/robots.txt is requested first: {need}");
        }
        if wait.crawl_stopped && !reason.is_final() {
            text = match reason {
                Reason::Due(_) => "the crawl in this directory is not running".to_owned(),
                _ => format!("the crawl in this directory is not running; when it runs: {text}"),
            };
        }
        let left = Timestamp(wait.next).since(now);
        match reason {
            Reason::UnknownHost(_) | Reason::Empty(_) | Reason::InFlight(_) => text,
            _ if left.is_zero() => text,
            _ if !wait.crawl_stopped && reason.sets_next() => {
                format!("in {}: {text}", duration(left))
            }
            _ => format!("{text} (and not before {} have passed)", duration(left)),
        }
    }
}

impl Reason {
    /// Returns true if the host is visited as soon as `Wait.next` has passed, as far as known.
    const fn sets_next(&self) -> bool {
        matches!(
            self,
            Self::GroupMoved(_)
                | Self::Delay(_)
                | Self::CrawlDelay(_)
                | Self::RelativeDelay(_)
                | Self::RetryAfter(_)
                | Self::SlowDown(_)
                | Self::Failed(_)
                | Self::RobotsUnreachable(_)
                | Self::AfterKill(_)
                | Self::AddressChanged(_)
                | Self::DomainReserved(_)
                | Self::HeldBack(_)
                | Self::AfterStart(_)
                | Self::AddressResting(_)
                | Self::AddressVisited(_)
                | Self::AddressQueue(_)
                | Self::IpLease(_)
                | Self::Due(_)
        )
    }

    /// Returns true if the reason applies even if the crawl is not running.
    const fn is_final(&self) -> bool {
        matches!(
            self,
            Self::UnknownHost(_)
                | Self::Empty(_)
                | Self::Closed(_)
                | Self::GivenUp(_)
                | Self::OtherAgent(_)
        )
    }
}

impl HostStatus {
    fn reason_text(
        &self,
        wait: &Wait,
        reason: &Reason,
        now: Timestamp,
        agent: &impl Fn(u32) -> String,
    ) -> String {
        let owner = |id: Option<u32>| id.map_or_else(|| "another agent".to_owned(), agent);
        match reason {
            Reason::UnknownHost(unknown) => match unknown.owner {
                Some(id) => format!("{} owns its group: ask it", agent(id)),
                None => "no URL of this host was ever accepted".to_owned(),
            },
            Reason::InFlight(wait::InFlight { since: 0, .. }) => "a visit is in flight".to_owned(),
            Reason::InFlight(visit) => {
                let target = match visit.urls {
                    0 => "a robots.txt".to_owned(),
                    n => plural(n.into(), "URL"),
                };
                let since = duration(now.since(Timestamp(visit.since)));
                format!("a visit for {target} has been in flight for {since}")
            }
            Reason::Blocked(wait::Blocked { entry }) => format!(
                "{entry} is blocked (links.blocked); `crivello unblock` accepts its links again"
            ),
            Reason::Closed(wait::Closed { discard }) => {
                format!("{}: no more URLs are accepted", meaning(discard))
            }
            Reason::GivenUp(wait::GivenUp { failures }) => {
                format!("its queued URLs were discarded after {} in a row", failure_list(failures))
            }
            Reason::Empty(_) => {
                format!("nothing is queued; {} fetched", plural(self.pages, "page"))
            }
            Reason::OtherAgent(wait::OtherAgent { owner: id, replica: true }) => {
                format!("{} fetches it; this agent holds a replica", owner(*id))
            }
            Reason::OtherAgent(other) => format!("{} fetches it", owner(other.owner)),
            Reason::HandoffIn(_) => "this agent owns the group, and waits until the agents that \
                                     have rows of it have handed them over"
                .to_owned(),
            Reason::HandoffOut(handoff) => {
                format!("the group is being handed over to {}", owner(handoff.owner))
            }
            Reason::CrawlPaused(_) => {
                "the crawl is paused; `crivello resume` continues it".to_owned()
            }
            Reason::HostPaused(_) => "the host is paused (politeness.paused); `crivello resume \
                                      HOST` continues it"
                .to_owned(),
            Reason::PageLimit(_) => "limits.pages-max is reached".to_owned(),
            Reason::PageQuota(_) => "this agent has used up its share of limits.pages-max, and \
                                     waits for another"
                .to_owned(),
            Reason::Stopping(_) => {
                "the agent is stopping: it finishes the visits in flight and saves".to_owned()
            }
            Reason::LeaseExpired(_) => "the agent may not fetch: its lease has expired, and not \
                                        all other agents can be reached (cluster.lease)"
                .to_owned(),
            Reason::DiskFull(_) => "the disk has less free space than state.disk-free-min: \
                                    fetching waits until there is more"
                .to_owned(),
            Reason::Offline(_) => {
                "the network seems to be down: one host at a time is tried until \
                                   one answers"
                    .to_owned()
            }
            Reason::Resolving(_) => "its name is being resolved".to_owned(),
            Reason::RobotsRedirect(redirect) => {
                let target = if redirect.host.is_empty() { "another host" } else { &redirect.host };
                format!(
                    "{}/robots.txt redirects to {target}; it waits until that host is due, and \
                     counts as unreachable after {}",
                    redirect.origin,
                    duration(Timestamp(redirect.deadline).since(now))
                )
            }
            Reason::GroupMoved(_) => "its group has just moved to this agent, which does not know \
                                      when the host was last visited: it waits for the delay of \
                                      the host, or its Crawl-delay"
                .to_owned(),
            Reason::Delay(wait::Delay { delay_ms, of_domain: true }) => format!(
                "the delay of its domain, {} after the last request (politeness.domains)",
                millis(*delay_ms)
            ),
            Reason::Delay(delay) => format!(
                "the delay of {} after the last request (politeness.delay)",
                millis(delay.delay_ms)
            ),
            Reason::CrawlDelay(delay) => crawl_delay(delay),
            Reason::RelativeDelay(delay) => format!(
                "{} times the time that the last answer took: {} (politeness.relative-factor)",
                delay.factor,
                millis(delay.delay_ms)
            ),
            Reason::RetryAfter(answers) => format!(
                "it answered 429 or 503 with a Retry-After, {} in a row",
                times(answers.times.into())
            ),
            Reason::SlowDown(answers) => format!(
                "backoff: it answered 429 or 503 without a Retry-After, {} in a row \
                 (politeness.backoff-first)",
                times(answers.times.into())
            ),
            Reason::Failed(failed) => {
                let left = match failed.left {
                    Some(1) => "; one more and the host is given up".to_owned(),
                    Some(n) => format!("; {n} more and the host is given up"),
                    None => String::new(),
                };
                format!(
                    "backoff after {}, {} in a row (politeness.backoff-first){left}",
                    failed.failure,
                    times(failed.times.into())
                )
            }
            Reason::RobotsUnreachable(robots) => robots_unreachable(robots),
            Reason::AfterKill(_) => {
                "caution: the last run was killed, so it is not known when the \
                                     host was last visited: it waits for one delay from the start"
                    .to_owned()
            }
            Reason::AddressChanged(_) => {
                "its name resolves to another address: connections to the \
                                          old one are closed first (fetch.keep-alive)"
                    .to_owned()
            }
            Reason::DomainReserved(_) => "the last pages of its domain are reserved for other \
                                          hosts of it (limits.pages-per-domain-max)"
                .to_owned(),
            Reason::HeldBack(_) => "it is held back for a moment".to_owned(),
            Reason::AddressResting(rest) => address_resting(rest),
            Reason::AddressVisited(wait::AddressVisited { address, visited }) => {
                format!("{visited}, another host at its address {address}, is being visited")
            }
            Reason::AddressQueue(wait::AddressQueue { address, hosts }) => {
                let come = if *hosts == 1 { "comes" } else { "come" };
                let hosts = plural(*hosts, "other host");
                format!(
                    "{hosts} at its address {address} {come} first, one at a time \
                     (politeness.ip-delay)"
                )
            }
            Reason::IpLease(wait::IpLease { address, lessor, requested }) => {
                let lessor = lessor.map_or_else(|| "this agent itself".to_owned(), agent);
                let requested = match requested {
                    0 => "is about to be requested".to_owned(),
                    at => format!("was requested {} ago", duration(now.since(Timestamp(*at)))),
                };
                format!(
                    "other agents have hosts at its address {address}: the lease on it {requested} \
                     from {lessor}, which grants the leases there"
                )
            }
            Reason::AfterStart(_) => {
                "caution: no visit begins before politeness.ip-delay after a start".to_owned()
            }
            Reason::Due(due) => due_text(wait.next, due, now),
        }
    }
}

/// Returns the text for a host that nothing prevents from being visited.
fn due_text(next: u64, due: &wait::Due, now: Timestamp) -> String {
    let since = match next {
        0 => "due".to_owned(),
        next => format!("due for {}", duration(now.since(Timestamp(next)))),
    };
    match due.step() {
        DueStep::Unspecified => since,
        DueStep::Memory => {
            let hosts = plural(due.hosts_in_memory, "host");
            let waits = format!("{since}, on disk: it waits for room among the {hosts} in memory");
            let share = match due.host_class() {
                HostClass::Unspecified | HostClass::First => return waits,
                HostClass::Second => "three quarters",
                HostClass::Third => "half",
                HostClass::Last => "a quarter",
            };
            format!(
                "{waits}. It has fewer turns than others, because fewer than {share} of its fetches \
                 brought new pages"
            )
        }
        DueStep::Queue => "the next URLs of its queue are being read from disk".to_owned(),
        DueStep::Name => format!("{since}: its name is about to be resolved"),
        DueStep::Pipeline => format!(
            "{since}: pages arrive faster than they are parsed or written, so fetching waits"
        ),
        DueStep::Visits => {
            let max = count(due.visits_max);
            format!("{since}: all {max} visits are in flight (fetch.visits-max)")
        }
        DueStep::Fetcher => format!("{since}: the next free fetcher takes it"),
    }
}

/// Returns the kinds of failures with their counts.
pub(super) fn failure_list(failures: &BTreeMap<String, u32>) -> String {
    let failures = failures.iter().map(|(kind, n)| format!("{n} {kind}"));
    failures.collect::<Vec<_>>().join(", ")
}

fn crawl_delay(delay: &wait::CrawlDelay) -> String {
    let exact = |ms| exact_delay(Duration::from_millis(ms));
    let kept = exact(delay.kept_ms);
    match delay.asked_ms {
        Some(asked) if asked > delay.kept_ms => format!(
            "Crawl-delay: its robots.txt asks for {}, which is capped at {kept} \
             (politeness.crawl-delay-max)",
            exact(asked)
        ),
        Some(_) => format!("Crawl-delay: its robots.txt asks for {kept} between requests"),
        None => format!("Crawl-delay: its robots.txt asked for {kept} between requests"),
    }
}

fn robots_unreachable(robots: &RobotsUnreachable) -> String {
    let failures = match robots.failures.as_slice() {
        [] => String::new(),
        failures => format!(" ({})", failures.join(", ")),
    };
    let robots_txt = match &*robots.origin {
        "" => "its robots.txt".to_owned(),
        origin => format!("{origin}/robots.txt"),
    };
    let in_a_row = match robots.times {
        0 => String::new(),
        n => format!(", {} in a row", times(n.into())),
    };
    format!("{robots_txt} is unreachable{in_a_row}{failures}: nothing is fetched without it")
}

fn address_resting(rest: &wait::AddressResting) -> String {
    let (address, delay) = (&rest.address, millis(rest.delay_ms));
    match &rest.visited {
        Some(host) => format!(
            "{host}, another host at its address {address}, was visited: the address rests for \
             {delay} (politeness.ip-delay)"
        ),
        None if rest.maybe => format!(
            "its address {address} may have been visited recently, by an earlier run or another \
             agent: it rests for {delay} (politeness.ip-delay)"
        ),
        None => format!(
            "its address {address} rests for {delay} after each visit (politeness.ip-delay)"
        ),
    }
}

fn millis(ms: u64) -> String {
    duration(Duration::from_millis(ms))
}
