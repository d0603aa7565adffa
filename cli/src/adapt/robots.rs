//! How a robots.txt is fetched for `crivello robots`: by the room that fetches for a crawl.

use anyhow::Context;
use crivello_agent::fetch::robots_file;
use crivello_common::config::Settings;
use crivello_common::url::CrawlUrl;
use tokio::runtime::Builder;

pub use crivello_agent::fetch::RobotsFile;

/// Fetches a robots.txt as the crawler does: its user agent, its limits, its refusal of private
/// addresses, at most five redirects.
///
/// # Errors
/// When the fetcher cannot be set up.
pub fn fetch(url: &CrawlUrl, settings: &Settings) -> anyhow::Result<RobotsFile> {
    let runtime =
        Builder::new_current_thread().enable_all().build().context("the fetcher has no runtime")?;
    runtime.block_on(robots_file(url, settings)).context("the fetcher cannot be set up")
}
