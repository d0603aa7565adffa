//! Explanations from the directory of a crawl that is not running.

use super::sources::Sources;
use super::subject::{Query, explain, rewritten};
use crate::api::Subject;
use crate::cluster::Membership;
use crate::explain::CrawlFacts;
use crate::storage::{OpenError, crawl_dir};
use crivello_common::time::Clock;
use crivello_common::view::AgentId;
use crivello_proto::v1;
use std::path::Path;
use std::sync::Arc;

/// Explains a host or a URL from the directory of a crawl that is not running, read only.
///
/// # Errors
/// If there is no crawl, if it is running, or if its state cannot be read.
pub fn explain_from_directory(
    dir: &Path,
    subject: &Subject,
) -> Result<v1::ExplainResponse, OpenError> {
    let (settings, hasher, disk) = crawl_dir::open_read_only(dir)?;
    let rules = crate::process::links::LinkRules::compile(&settings.live, &settings.fixed, hasher);
    let rules = Arc::new(rules.map_err(|error| OpenError::Broken(error.to_string()))?);
    let asked = subject;
    let subject = &rewritten(asked, &rules);
    let key = hasher.host_key(subject.host());
    let visits_max = settings.fixed.fetch.visits_max.into();
    let crawl = CrawlFacts { is_running: false, ..CrawlFacts::running(visits_max) };
    let me = AgentId(Membership::given_in(dir).map_or(0, |(id, _)| id));
    let (disk, archive) = (Arc::new(disk), dir.join("warc"));
    let lists = crate::messages::Lists::of(&settings.live);
    let sources = Sources { me, disk, rules, settings, hasher, lists, archive, shared: None };
    let query = Query { asked, subject, key, archive_file: None };
    Ok(explain(&sources, &query, None, None, None, &crawl, Clock::start().now())?)
}
