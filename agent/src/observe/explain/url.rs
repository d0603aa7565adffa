//! What became of one URL, or will.

use crate::crawldb::PRIORITY_PENDING;
use crate::messages::{LinkKind, VisitInFlight};
use crate::observe::explain::Place;
use crate::observe::explain::shelf;
use crate::storage::DiskError;
use crate::storage::values::{Seen, UrlOutcome};
use crate::why::{OriginFacts, decisive};
use crivello_common::discard::Discard;
use crivello_common::hash::{HostKey, UrlKey};
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use crivello_proto::v1::{UrlFate, UrlStory};

/// What is known of the URL's host.
pub struct AtHost<'a> {
    /// The host.
    pub key: HostKey,
    /// It has a row.
    pub is_known: bool,
    /// Nothing more of it is let in, for this reason.
    pub closed: Option<Discard>,
    /// Its robots.txt.
    pub robots: &'a [OriginFacts],
    /// The visit that it is on.
    pub flight: Option<&'a VisitInFlight>,
}

/// See the module. Reads the disk.
pub fn story(place: &Place, url: &CrawlUrl, at: &AtHost<'_>) -> Result<UrlStory, DiskError> {
    let key = UrlKey { group: at.key.group, url: url.hash() };
    let story = match shelf::seen(&place.disk, key)? {
        None => unknown(place, url, at)?,
        Some(Seen::Queued(waits)) => queued(place, url, at, waits)?,
        Some(Seen::Done(outcome)) => done(place, url, at, &outcome),
    };
    Ok(UrlStory { url: url.to_string(), ..story })
}

fn of(fate: UrlFate) -> UrlStory {
    UrlStory { fate: fate.into(), ..UrlStory::default() }
}

fn because(fate: UrlFate, reason: Discard, meaning: String) -> UrlStory {
    UrlStory { reason: reason.name().to_owned(), meaning, ..of(fate) }
}

fn unknown(place: &Place, url: &CrawlUrl, at: &AtHost<'_>) -> Result<UrlStory, DiskError> {
    let by_links = place.rules.admit(url.clone(), 0, LinkKind::Page).err();
    let refused = match by_links.or(at.closed) {
        None if !at.is_known => too_many_hosts(place, at.key)?,
        refused => refused,
    };
    if let Some(reason) = refused {
        return Ok(because(UrlFate::NotLetIn, reason, meaning(place, url, at, reason)));
    }
    Ok(disallowed(UrlFate::Unknown, at, url))
}

/// A URL that robots.txt will have the fetchers set aside says so before.
fn disallowed(fate: UrlFate, at: &AtHost<'_>, url: &CrawlUrl) -> UrlStory {
    let Some(line) = decisive(at.robots, url) else { return of(fate) };
    let meaning = format!("robots.txt has it set aside when its turn comes, {line}");
    because(fate, Discard::Robots, meaning)
}

/// Whether a new host of a domain is one too many.
fn too_many_hosts(place: &Place, key: HostKey) -> Result<Option<Discard>, DiskError> {
    let Some(max) = place.settings.limits.hosts_per_domain_max else { return Ok(None) };
    let n_hosts = shelf::hosts_of(&place.disk, key.group)?;
    Ok((n_hosts >= max).then_some(Discard::TooManyHosts))
}

/// A reason in words, with the very rule where it can be found.
fn meaning(place: &Place, url: &CrawlUrl, at: &AtHost<'_>, reason: Discard) -> String {
    let rule = match reason {
        Discard::OutOfScope => place.rules.out_of_scope(url),
        Discard::Robots => decisive(at.robots, url),
        _ => None,
    };
    rule.map_or_else(
        || reason.description().to_owned(),
        |rule| format!("{}, {rule}", reason.description()),
    )
}

fn queued(
    place: &Place,
    url: &CrawlUrl,
    at: &AtHost<'_>,
    waits: Option<(crivello_common::hash::HostHash, crate::messages::QueueKey)>,
) -> Result<UrlStory, DiskError> {
    let waits_at = waits.map(|(_, waits_at)| waits_at);
    let (row, ahead) = shelf::queued(&place.disk, at.key, waits_at, url.hash())?;
    let page = place.recent.as_ref().and_then(|shared| shared.status.recent.page_of(url.as_str()));
    let is_behind = row.as_ref().is_some_and(|row| row.queue_key.priority == PRIORITY_PENDING);
    let in_flight = at.flight.is_some_and(|flight| flight.urls.contains(&url.hash()));
    let mut story = match page {
        _ if is_behind => UrlStory {
            meaning: "fetched and archived; it counts as queued until its links are safe with \
                      the agents that own them"
                .to_owned(),
            ..of(UrlFate::Unsettled)
        },
        _ if in_flight => of(UrlFate::InFlight),
        Some(_) => UrlStory {
            meaning: "it has been fetched, and is on its way to the archive".to_owned(),
            ..of(UrlFate::InFlight)
        },
        None => UrlStory { ahead, ..disallowed(UrlFate::Queued, at, url) },
    };
    if let Some((fetched, status)) = page.filter(|_| is_behind || !in_flight) {
        (story.fetched, story.status) = (fetched.0, status.into());
    }
    if let Some(row) = row {
        (story.depth, story.attempts) = (row.depth.into(), row.attempts.into());
    }
    Ok(story)
}

fn done(place: &Place, url: &CrawlUrl, at: &AtHost<'_>, outcome: &UrlOutcome) -> UrlStory {
    match outcome {
        UrlOutcome::Discarded(reason) => {
            because(UrlFate::Discarded, *reason, meaning(place, url, at, *reason))
        }
        UrlOutcome::Failed(kind) => UrlStory {
            reason: kind.name().to_owned(),
            meaning: "all attempts failed, the last of them so".to_owned(),
            ..of(UrlFate::Failed)
        },
        UrlOutcome::Fetched { at, status, record, page } => {
            let by = page.as_ref().map_or(place.me, |page| page.by);
            let mut story = UrlStory {
                fetched: Timestamp::from_secs(at.as_secs()).0,
                status: (*status).into(),
                depth: page.as_ref().map_or(0, |page| page.url.depth.into()),
                ..of(UrlFate::Fetched)
            };
            if let Some((serial, offset)) = *record {
                story.archived_by = Some(by.0);
                (story.file_serial, story.offset) = (Some(serial), offset);
                if by == place.me {
                    story.file =
                        crivello_archive::find_file(&place.dir, serial).unwrap_or_default();
                }
            }
            story
        }
    }
}
