//! How the crawl as a whole stands, running or not.

use crate::api::About;
use crate::cluster::Membership;
use crate::observe::explain::{Asked, Place};
use crate::shared::Shared;
use crate::storage::OpenError;
use crate::storage::crawl_dir;
use crate::why::{Crawl, PagesLeft};
use crivello_common::time::Clock;
use crivello_common::url::host_key;
use crivello_common::view::AgentId;
use crivello_proto::v1;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Just now.
pub fn standing(shared: &Shared) -> Crawl {
    let census = *shared.status.census.lock();
    Crawl {
        is_running: true,
        is_stopping: shared.lifecycle.is_stopping(),
        is_paused: shared.status.paused.load(Relaxed),
        pages_left: match shared.page_budget.any() {
            true => PagesLeft::Some,
            false if shared.page_budget.is_used_up() => PagesLeft::None,
            false => PagesLeft::NoneHere,
        },
        fence_is_open: shared.fetch_deadline.is_open(shared.clock.now()),
        disk_is_full: shared.status.disk_full.load(Relaxed),
        is_offline: shared.status.offline.load(Relaxed),
        visits_from: shared.lifecycle.visits_from,
        pipeline_is_full: !shared.pipeline.has_room(),
        visits: shared.status.visits.load(Relaxed) as u64,
        visits_max: shared.settings.fetch.visits_max.into(),
        hosts_in_memory: census.hosts as u64,
    }
}

/// What the directory of a crawl that is not running says of a host or a URL. Nothing is changed.
///
/// # Errors
/// When there is no crawl, when it is running, or when its state cannot be read.
pub fn of_directory(dir: &Path, about: &About) -> Result<v1::WhyResponse, OpenError> {
    let (settings, disk) = crawl_dir::look_into(dir)?;
    let rules = Arc::new(
        crate::links::LinkRules::compile(&settings)
            .map_err(|error| OpenError::Broken(error.to_string()))?,
    );
    let key = host_key(about.host(), settings.identity.assign_by);
    let crawl = Crawl { is_running: false, ..Crawl::running(settings.fetch.visits_max.into()) };
    let me = AgentId(Membership::number_in(dir).unwrap_or_default());
    let (disk, dir) = (Arc::new(disk), dir.join("warc"));
    let lists = crate::messages::Lists::of(&settings);
    let place = Place { me, disk, rules, settings, lists, dir, recent: None };
    let asked = Asked { about, key, archive_file: None };
    Ok(place.tell(&asked, None, None, None, &crawl, Clock::start().now())?)
}
