//! The explanation of one host or URL.

use super::disk_view;
use super::sources::Sources;
use super::url;
use crate::api::Subject;
use crate::explain::{CrawlFacts, Facts, host_status};
use crate::messages::HostSnapshot;
use crate::process::links::LinkRules;
use crate::storage::DiskError;
use crivello_common::assignment::Owners;
use crivello_common::hash::HostKey;
use crivello_common::time::Timestamp;
use crivello_common::url::group_name;
use crivello_common::view::AgentId;
use crivello_proto::v1;

/// Maximum number of fetches of a host in an explanation.
const FETCHES_MAX: usize = 10;

/// Query about a host or a URL.
pub struct Query<'a> {
    /// The subject as asked for.
    pub asked: &'a Subject,
    /// The subject as the crawl knows it: a URL is [rewritten].
    pub subject: &'a Subject,
    pub key: HostKey,
    pub archive_file: Option<u32>,
}

/// Returns the subject as the crawl knows it: rewritten by `rules`, if it is a URL.
pub fn rewritten(subject: &Subject, rules: &LinkRules) -> Subject {
    match subject {
        Subject::Url(url) => Subject::Url(rules.rewrite(url.clone())),
        Subject::Host(_) => subject.clone(),
    }
}

/// Explains a host or a URL; `workbench` is the host's state in memory. Reads the disk.
pub fn explain(
    sources: &Sources,
    query: &Query<'_>,
    owners: Option<&Owners>,
    workbench: Option<&HostSnapshot>,
    lessor: Option<AgentId>,
    crawl: &CrawlFacts,
    now: Timestamp,
) -> Result<v1::ExplainResponse, DiskError> {
    let Query { asked, subject, key, archive_file } = *query;
    let row = disk_view::host(&sources.disk, key)?;
    let known = match workbench {
        Some(workbench) => workbench.robots.clone(),
        None => disk_view::robots(&sources.disk, key)?,
    };
    let state =
        workbench.map(|workbench| &workbench.state).or_else(|| row.as_ref().map(|row| &row.state));
    let last_ended = state.map_or(Timestamp::ZERO, |state| state.last_ended);
    let robots = sources.robots(known, last_ended);
    let holding = sources.holding(owners, key.group)?;
    let mut host = host_status(&Facts {
        now,
        name: subject.host(),
        holding,
        row: row.as_ref(),
        workbench,
        robots: &robots,
        lessor,
        crawl,
        settings: &sources.settings,
        lists: &sources.lists,
    });
    host.rank = sources.rules.host_rank(subject.host()).into();
    if let Some(shared) = &sources.shared {
        host.fetches = shared.status.recent.of_host(key, FETCHES_MAX, sources.me);
        if host.address.is_empty() {
            // Address of the last visit.
            host.address = host.fetches.first().map(|f| f.address.clone()).unwrap_or_default();
        }
    }
    let closed = row.as_ref().and_then(|row| row.closed);
    let flight = workbench.and_then(|workbench| workbench.flight.as_ref());
    let at = url::AtHost { key, row: row.as_ref(), closed, robots: &robots, flight };
    let mut url = subject.url().map(|url| url::status(sources, url, &at)).transpose()?;
    if let (Some(url), Some(from)) = (&mut url, asked.url().filter(|_| asked != subject)) {
        url.rewritten_from = from.to_string();
    }
    let file =
        archive_file.and_then(|serial| crivello_archive::find_file(&sources.archive, serial));
    Ok(v1::ExplainResponse {
        agent: sources.me.0,
        now: now.0,
        group: key.group.0,
        group_name: group_name(subject.host(), sources.settings.fixed.identity.assign_by)
            .to_owned(),
        owner: holding.owner.map(|owner| owner.0),
        holding: holding.kind.into(),
        host: Some(host),
        url,
        archive_file: file.unwrap_or_default(),
    })
}
