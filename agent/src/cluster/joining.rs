//! Waiting before an agent is a member: for the coordinator, and for space on the disk. Checks of its
//! directory against the answer of the coordinator.

use crate::cluster::coordinator_client::{CoordinatorClient, Joined, Joining};
use crate::cluster::membership::Membership;
use crate::storage::{OpenError, free_space};
use crivello_common::config::Settings;
use crivello_common::identity::{IDENTITY_KEY_FILE, IdentityCheck, IdentityKey};
use crivello_common::runtime::IdentityKeyError;
use crivello_proto::cluster_view::{self, CLUSTER_VIEW_FILE};
use std::fmt::Display;
use std::path::Path;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Pause between two checks of the free space, and the first one between two attempts to join with a full
/// disk.
const SPACE_PAUSE: Duration = Duration::from_secs(1);
/// Maximum pause between two such attempts: each may be a new view of the cluster.
const SPACE_PAUSE_MAX: Duration = Duration::from_secs(10);
/// Time between two looks at `stop` during such a pause.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The steps of an agent that joins. Each is repeated until it succeeds, is refused, or `stop` is
/// cancelled.
pub struct JoinSteps<'a> {
    /// URL of the coordinator.
    pub coordinator: &'a str,
    /// Client of the coordinator.
    pub client: &'a CoordinatorClient,
    /// Directory of the agent.
    pub dir: &'a Path,
    /// Ends the waiting.
    pub stop: &'a CancellationToken,
}

impl JoinSteps<'_> {
    /// Returns the settings in force.
    ///
    /// # Errors
    /// [`OpenError`] if the coordinator refuses, the settings are invalid, or `stop` is cancelled.
    pub async fn settings(&self) -> Result<Settings, OpenError> {
        let settings = self.client.settings(self.coordinator);
        let settings = self.stop.run_until_cancelled(settings).await;
        read_settings(&settings.ok_or_else(stopped)??)
    }

    /// Waits until the disk has free space: a member without it would lose its lease again.
    ///
    /// # Errors
    /// [`OpenError`] if `stop` is cancelled.
    pub async fn space(&self, settings: &Settings) -> Result<(), OpenError> {
        let needed = settings.fixed.state.disk_free_min.0;
        let is_full = || free_space(self.dir).is_some_and(|free| free < needed);
        if is_full() {
            tracing::warn!(needed, "the disk is full; the agent joins when there is free space");
        }
        while is_full() {
            let pause = tokio::time::sleep(SPACE_PAUSE);
            self.stop.run_until_cancelled(pause).await.ok_or_else(stopped)?;
        }
        Ok(())
    }

    /// Joins the cluster.
    ///
    /// # Errors
    /// [`OpenError`] if the coordinator refuses, or `stop` is cancelled.
    pub async fn join(&self, joining: &Joining, known: &Membership) -> Result<Joined, OpenError> {
        let joined = self.stop.run_until_cancelled(self.client.join(joining, known)).await;
        joined.ok_or_else(stopped)?
    }
}

/// Repeats `join` while there is no space on the disk, until `stop` is cancelled. Opening a database
/// takes space. The pauses between attempts grow.
///
/// # Errors
/// Those of `join`, except that of a full disk unless `stop` is cancelled.
pub fn retry_until_space<T, E: Display>(
    stop: &CancellationToken,
    is_full: fn(&E) -> bool,
    mut join: impl FnMut() -> Result<T, E>,
) -> Result<T, E> {
    let mut pause = SPACE_PAUSE;
    loop {
        let error = match join() {
            Err(error) if is_full(&error) && !stop.is_cancelled() => error,
            joined => return joined,
        };
        tracing::warn!(
            %error,
            "the disk is full; the agent joins when there is free space, and tries again in {pause:?}"
        );
        let mut left = pause;
        while !left.is_zero() {
            if stop.is_cancelled() {
                return Err(error);
            }
            std::thread::sleep(LOOK_EVERY);
            left = left.saturating_sub(LOOK_EVERY);
        }
        pause = (2 * pause).min(SPACE_PAUSE_MAX);
    }
}

fn stopped() -> OpenError {
    OpenError::Broken("stopped while waiting to join".to_owned())
}

/// Reads and checks the settings of the crawl.
///
/// # Errors
/// [`OpenError::Refused`] if they are invalid.
pub fn read_settings(toml: &str) -> Result<Settings, OpenError> {
    Settings::from_toml("the coordinator's settings", toml)
        .and_then(|settings| settings.check_shared().map(|()| settings))
        .map_err(|errors| OpenError::Refused(errors.to_string()))
}

/// Returns the epoch of the last view in the directory; 0 if there is none.
#[must_use]
pub fn known_epoch(dir: &Path) -> u64 {
    let bytes = std::fs::read(dir.join(CLUSTER_VIEW_FILE)).unwrap_or_default();
    let view = cluster_view::decode(&bytes).ok().and_then(|known| known.view);
    view.map_or(0, |view| view.epoch)
}

/// Returns the crawl that an agent has joined, with its key; `None` for an agent that joins for the
/// first time.
///
/// # Errors
/// [`OpenError::Broken`] if the key is missing or damaged.
pub fn known_crawl<'a>(
    dir: &Path,
    known: &'a Membership,
) -> Result<Option<(&'a str, IdentityKey)>, OpenError> {
    let Some((_, crawl_id)) = &known.given else { return Ok(None) };
    let key = IdentityKey::read(dir, crawl_id);
    key.map(|key| Some((crawl_id.as_str(), key)))
        .map_err(|error| OpenError::Broken(error.to_string()))
}

/// Returns the proof that a member has the key of its crawl; `None` for an agent that joins for the
/// first time.
///
/// # Errors
/// [`OpenError::Broken`] if the key is missing or damaged.
pub fn identity_check(dir: &Path, known: &Membership) -> Result<Option<IdentityCheck>, OpenError> {
    Ok(known_crawl(dir, known)?.map(|(crawl_id, key)| key.check(crawl_id)))
}

/// Stores the key that the coordinator sent, unless the directory has it.
///
/// # Errors
/// [`OpenError`] if the directory has another key, or it cannot be written.
pub fn store_key(dir: &Path, crawl_id: &str, key: IdentityKey) -> Result<(), OpenError> {
    let path = dir.join(IDENTITY_KEY_FILE);
    match IdentityKey::read(dir, crawl_id) {
        Ok(ours) if ours == key => Ok(()),
        Ok(_) => Err(OpenError::Refused(format!(
            "{} is not the key of this cluster's crawl; choose another --data",
            path.display()
        ))),
        Err(IdentityKeyError::Missing(_)) => {
            key.write(dir, crawl_id).map_err(|error| OpenError::write(&path, error))
        }
        Err(error) => Err(OpenError::Refused(error.to_string())),
    }
}
