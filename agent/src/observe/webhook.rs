//! The webhook of an agent, if the settings have one.

use crate::shared::Shared;
use crate::storage::crawl_dir::CrawlDir;
use crivello_common::view::AgentId;
use crivello_webhook::{
    SECRET_VARIABLE, WebhookError, WebhookSecret, WebhookSender, WebhookSource,
};
use std::path::Path;
use tokio::runtime::Handle;

/// Name of the file with the place after the last batch, in an agent's directory.
const PLACE_FILE: &str = "webhook.place";

/// Starts to send captures, if the settings have an address.
///
/// # Errors
/// [`WebhookError`] if the address or the secret cannot be used.
pub fn start_webhook(
    runtime: &Handle,
    home: &CrawlDir,
    agent: AgentId,
    shared: &Shared,
) -> Result<Option<WebhookSender>, WebhookError> {
    let settings = &shared.settings.webhook;
    if settings.url.is_empty() {
        return Ok(None);
    }
    let file = Some(Path::new(&settings.secret_file)).filter(|file| !file.as_os_str().is_empty());
    let secret = WebhookSecret::read(file, std::env::var_os(SECRET_VARIABLE))?;
    let source = WebhookSource {
        crawl_id: home.identity.crawl_id.clone(),
        agent: agent.0,
        archive: home.dir.join("warc"),
        end: shared.archive_end.subscribe(),
        place_file: home.dir.join(PLACE_FILE),
    };
    WebhookSender::start(runtime, (&settings.url, secret), source, shared.clock).map(Some)
}
