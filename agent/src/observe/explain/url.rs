//! The status of one URL: its outcome, or what it waits for.

use super::disk_view;
use super::due_reason::due_reason;
use super::sources::Sources;
use crate::crawldb::refuse;
use crate::explain::{OriginFacts, disallowing_rule};
use crate::messages::{Finder, LinkKind, QueueKey, Queued, RecordPlace, Revisit, VisitInFlight};
use crate::process::links::RejectingRule;
use crate::storage::DiskError;
use crate::storage::values::{HostRow, Seen, UrlOutcome};
use crivello_common::discard::Discard;
use crivello_common::hash::{HostKey, UrlKey};
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use crivello_proto::v1::url_status::{self, Rule};
use crivello_proto::v1::{ScopeRule, UrlFate, UrlStatus};
use std::path::Path;

/// Known facts about the host of the URL.
pub struct AtHost<'a> {
    /// The host.
    pub key: HostKey,
    /// Its row on disk, if it has one.
    pub row: Option<&'a HostRow>,
    /// Reason why no more of its URLs are accepted.
    pub closed: Option<Discard>,
    /// Its robots.txt, by origin.
    pub robots: &'a [OriginFacts],
    /// Its visit in flight.
    pub flight: Option<&'a VisitInFlight>,
}

/// Returns the status of the URL. Reads the disk.
pub fn status(sources: &Sources, url: &CrawlUrl, at: &AtHost<'_>) -> Result<UrlStatus, DiskError> {
    let key = UrlKey { group: at.key.group, url: sources.hasher.url(url) };
    let status = match disk_view::seen(&sources.disk, key)? {
        None => unknown(sources, url, at)?,
        Some(Seen::Queued(place)) => queued(sources, url, at, place.map(|(_, place)| place))?,
        Some(Seen::Done(outcome)) => done(sources, url, at, &outcome),
    };
    Ok(UrlStatus { url: url.to_string(), ..status })
}

fn of(fate: UrlFate) -> UrlStatus {
    UrlStatus { fate: fate.into(), ..UrlStatus::default() }
}

/// Returns a fate that a discard explains, with the rule behind it.
fn because(
    fate: UrlFate,
    discard: Discard,
    sources: &Sources,
    url: &CrawlUrl,
    at: &AtHost<'_>,
) -> UrlStatus {
    let rule = match discard {
        Discard::OutOfScope => sources.rules.rejecting_rule(url).map(scope_rule),
        Discard::NotAdmitted | Discard::ConditionFailed => {
            sources.rules.refusing_condition(url).map(|text| {
                let setting = "links.admit".to_owned();
                Rule::ScopeRule(ScopeRule { setting, rules: 1, number: 1, text })
            })
        }
        Discard::Robots => disallowing_rule(at.robots, url).map(Rule::RobotsRule),
        _ => None,
    };
    UrlStatus { discard: discard.name().to_owned(), rule, ..of(fate) }
}

fn scope_rule(rule: RejectingRule) -> Rule {
    let RejectingRule { setting, rules, number, text } = rule;
    let (rules, number) = (rules as u32, number as u32);
    Rule::ScopeRule(ScopeRule { setting: setting.to_owned(), rules, number, text })
}

fn unknown(sources: &Sources, url: &CrawlUrl, at: &AtHost<'_>) -> Result<UrlStatus, DiskError> {
    let by_links = sources.rules.admit(url.clone(), 0, LinkKind::Page).err();
    let rejected = match by_links.or(at.closed) {
        None => refused_for_now(sources, at)?,
        rejected => rejected,
    };
    Ok(match rejected {
        Some(discard) => because(UrlFate::Rejected, discard, sources, url, at),
        None => not_fetched(UrlFate::Unknown, at, url),
    })
}

/// Returns the status of a URL that is not fetched yet. If robots.txt disallows it, it will be
/// discarded.
fn not_fetched(fate: UrlFate, at: &AtHost<'_>, url: &CrawlUrl) -> UrlStatus {
    let Some(rule) = disallowing_rule(at.robots, url) else { return of(fate) };
    let discard = Discard::Robots.name().to_owned();
    UrlStatus { discard, rule: Some(Rule::RobotsRule(rule)), ..of(fate) }
}

/// Returns the discard for lack of room for a new URL, even if a page of its own domain has it.
fn refused_for_now(sources: &Sources, at: &AtHost<'_>) -> Result<Option<Discard>, DiskError> {
    let group = disk_view::group_row(&sources.disk, at.key.group)?;
    Ok(refuse(&sources.settings.live.limits, at.row, &group, Finder::OWN))
}

fn queued(
    sources: &Sources,
    url: &CrawlUrl,
    at: &AtHost<'_>,
    place: Option<QueueKey>,
) -> Result<UrlStatus, DiskError> {
    let (row, ahead) = disk_view::queued(&sources.disk, at.key, place, sources.hasher.url(url))?;
    let page =
        sources.shared.as_ref().and_then(|shared| shared.status.recent.page_of(url.as_str()));
    let is_pending = row.as_ref().is_some_and(|row| row.queue_key.is_pending());
    let in_flight = at.flight.is_some_and(|flight| flight.urls.contains(&sources.hasher.url(url)));
    let mut status = match page {
        _ if is_pending => of(UrlFate::LinksPending),
        None if !in_flight => UrlStatus { ahead, ..not_fetched(UrlFate::Queued, at, url) },
        _ => of(UrlFate::InFlight),
    };
    if let Some((fetched, code)) = page.filter(|_| is_pending || !in_flight) {
        (status.fetched, status.status) = (fetched.0, code.into());
    }
    if let Some(row) = row {
        (status.depth, status.attempts) = (row.depth.into(), row.attempts.into());
        status.priority = (!is_pending).then_some(row.queue_key.priority.into());
        status.recrawl = row.revisit.as_deref().map(|of| recrawl(sources, &row, of, of.generation));
    }
    Ok(status)
}

fn done(sources: &Sources, url: &CrawlUrl, at: &AtHost<'_>, outcome: &UrlOutcome) -> UrlStatus {
    let recrawl = outcome.page().and_then(|page| {
        let of = page.url.revisit.as_deref()?;
        Some(recrawl(sources, &page.url, of, of.generation.saturating_add(1)))
    });
    UrlStatus { recrawl, ..fate_of(sources, url, at, outcome) }
}

/// Returns what is known of the fetches of a URL.
fn recrawl(
    sources: &Sources,
    row: &Queued,
    revisit: &Revisit,
    fetches: u32,
) -> url_status::Recrawl {
    let due_reason = due_reason(&sources.settings.live.recrawl, row, revisit);
    let (due, due_reason) = (revisit.due.0, due_reason.into());
    let Some(history) = revisit.history else {
        return url_status::Recrawl { fetches, due, due_reason, ..Default::default() };
    };
    let (visits, changes) = history.visits();
    url_status::Recrawl {
        fetches,
        due,
        due_reason,
        visits: visits.into(),
        changes: changes.into(),
        changes_per_day: history.rate().mean() * 86_400.0,
        last_fetch: Timestamp::from_secs(history.last_fetch() as u64).0,
        failures: history.failures(),
        gone: history.gone_since().is_some(),
    }
}

/// Returns the earlier page that the notes of a capture name.
fn near_duplicate(file: &Path, offset: u64) -> Option<url_status::NearDuplicate> {
    let notes = crivello_archive::read_notes(file, offset).ok()?;
    let note = |name| notes.get(name).unwrap_or_default();
    Some(url_status::NearDuplicate {
        url: notes.get("nearDuplicateOf")?.to_owned(),
        date: note("nearDuplicateDate").to_owned(),
        distance: note("nearDuplicateDistance").parse().unwrap_or_default(),
    })
}

fn fate_of(sources: &Sources, url: &CrawlUrl, at: &AtHost<'_>, outcome: &UrlOutcome) -> UrlStatus {
    match outcome {
        UrlOutcome::Discarded(discard, _) => {
            because(UrlFate::Discarded, *discard, sources, url, at)
        }
        UrlOutcome::Failed(kind, _) => {
            UrlStatus { failure: kind.name().to_owned(), ..of(UrlFate::Failed) }
        }
        UrlOutcome::Fetched { at, status, record, page } => {
            let by = page.as_ref().map_or(sources.me, |page| page.by);
            let mut fetched = UrlStatus {
                fetched: Timestamp::from_secs(at.as_secs()).0,
                status: (*status).into(),
                depth: page.as_ref().map_or(0, |page| page.url.depth.into()),
                ..of(UrlFate::Fetched)
            };
            if record.is_some() || by != sources.me {
                fetched.archived_by = Some(by.0);
            }
            fetched.file_serial = record.map(|record| record.file);
            if let Some((serial, offset)) = record.and_then(RecordPlace::in_own_archive) {
                fetched.offset = offset;
                fetched.file =
                    crivello_archive::find_file(&sources.archive, serial).unwrap_or_default();
                let path = sources.archive.join(&fetched.file);
                fetched.near_duplicate = near_duplicate(&path, offset);
            }
            fetched
        }
    }
}
