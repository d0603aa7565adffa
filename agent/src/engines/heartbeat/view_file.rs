//! The copy of the view and of the settings in the agent's directory. If the coordinator's directory
//! is lost, a new record is made from the copies of all agents.

use crivello_common::runtime::replace_file;
use crivello_common::view::View;
use crivello_proto::signing::ViewBook;
use crivello_proto::{cluster_view, v1};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::watch;
use tokio::task::spawn_blocking;

/// Writer of the file.
#[derive(Debug)]
pub struct ViewFile {
    path: PathBuf,
    crawl_id: String,
    /// Settings of the crawl in TOML, and their revision.
    settings: watch::Sender<(u64, String)>,
}

impl ViewFile {
    /// Creates the writer of this file, with the settings of the crawl in TOML.
    #[must_use]
    pub fn new(path: PathBuf, crawl_id: String, settings: String, revision: u64) -> Self {
        Self { path, crawl_id, settings: watch::Sender::new((revision, settings)) }
    }

    /// Returns the id of the crawl.
    pub fn crawl_id(&self) -> &str {
        &self.crawl_id
    }

    /// Replaces the settings.
    pub fn put_settings(&self, revision: u64, toml: String) {
        self.settings.send_replace((revision, toml));
    }

    /// Writes the file whenever the view or the settings have changed. Never returns while there are
    /// views.
    pub async fn keep(&self, mut views: watch::Receiver<Option<Arc<View>>>, book: &ViewBook) {
        let mut settings = self.settings.subscribe();
        loop {
            let view = views.borrow_and_update().clone();
            let (settings_revision, toml) = settings.borrow_and_update().clone();
            if let Some(view) = view {
                let content = cluster_view::encode(&v1::ClusterView {
                    crawl_id: self.crawl_id.clone(),
                    view: book.message(view.epoch).or_else(|| Some(view.as_ref().into())),
                    settings: toml,
                    settings_revision,
                });
                let path = self.path.clone();
                let written = spawn_blocking(move || replace_file(&path, &content)).await;
                if let Ok(Err(error)) = written {
                    tracing::warn!("{} cannot be written: {error}", self.path.display());
                }
            }
            tokio::select! {
                changed = views.changed() => if changed.is_err() { return },
                _ = settings.changed() => {}
            }
        }
    }
}
