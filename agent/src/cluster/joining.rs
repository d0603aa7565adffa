//! The way of an agent into a cluster: waiting for the coordinator, and for space on the disk; the
//! request to join; checks of its directory against the answer, and what it stores of the answer.

use crate::cluster::coordinator_client::{CoordinatorClient, Joined, Joining};
use crate::cluster::coordinator_key;
use crate::cluster::membership::Membership;
use crate::storage::crawl_dir::{CrawlDir, DirOwner};
use crate::storage::{Database, OpenError, check_writable, free_space};
use crivello_common::config::Settings;
use crivello_common::identity::{IDENTITY_KEY_FILE, IdentityKey};
use crivello_common::runtime::IdentityKeyError;
use crivello_common::time::Timestamp;
use crivello_common::view::View;
use crivello_proto::cluster_view::{self, CLUSTER_VIEW_FILE};
use crivello_proto::signing::{CoordinatorClock, ViewBook};
use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Pause between two checks of the free space, and the first one between two attempts to join with a full
/// disk.
const SPACE_PAUSE: Duration = Duration::from_secs(1);
/// Maximum pause between two such attempts: each may be a new view of the cluster.
const SPACE_PAUSE_MAX: Duration = Duration::from_secs(10);
/// Time between two looks at `stop` during such a pause.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The steps of an agent that joins. Those that wait for the coordinator or for space are repeated until
/// they succeed, are refused, or `stop` is cancelled.
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

    /// Opens the state of an agent that has one, once its last process has released it; `None` if it
    /// has none. An agent that cannot open its state, or write to its disk, must not hold a lease.
    ///
    /// # Errors
    /// [`OpenError`] if the state belongs to another agent or crawl or is damaged, or the disk cannot
    /// be written to.
    pub async fn state(
        &self,
        known: &Membership,
        settings: &Settings,
        now: Timestamp,
    ) -> Result<Option<(CrawlDir, Database)>, OpenError> {
        if !CrawlDir::has_begun(self.dir) {
            check_writable(self.dir)?;
            return Ok(None);
        }
        let owner = DirOwner { crawl: known_crawl(self.dir, known)?, disk_id: known.disk };
        CrawlDir::open_once_released((self.dir, now), settings, owner).await.map(Some)
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

    /// Returns the request of this process to join. `crawl_id` is the crawl of the agent's state;
    /// `None` if it has none.
    ///
    /// # Errors
    /// [`OpenError::Broken`] if the key of a member is missing or damaged.
    pub fn request(
        &self,
        known: &Membership,
        crawl_id: Option<String>,
        (address, weight): (String, u16),
    ) -> Result<Joining, OpenError> {
        let of = known_crawl(self.dir, known)?;
        Ok(Joining {
            coordinator: self.coordinator.to_owned(),
            address,
            weight,
            process: uuid::Uuid::new_v4().as_u64_pair().0.max(1),
            identity_check: of.map(|(crawl_id, key)| key.check(crawl_id)),
            crawl_id,
            known_epoch: known_epoch(self.dir),
        })
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

/// Takes over the answer of the coordinator. The key of the coordinator is pinned, or compared with the
/// pinned one; its view must be signed by it. The key of the crawl is stored, and `open` opens the
/// state and the archive with the settings of the crawl. The membership is stored last, so that a
/// member always has a state.
///
/// # Errors
/// [`OpenError`] if the coordinator or the crawl is another one, the answer is invalid, or the disk
/// fails; errors of `open`.
pub fn accept<T, E: From<OpenError>>(
    (dir, known): (&Path, &mut Membership),
    joined: &Joined,
    (book, clock): (&ViewBook, &CoordinatorClock),
    open: impl FnOnce(&Settings, DirOwner<'_>) -> Result<T, E>,
) -> Result<(Arc<View>, Settings, T), E> {
    let (crawl_id, identity_key) = (&joined.crawl_id, joined.identity_key);
    coordinator_key::pin(dir, crawl_id, joined.coordinator_key)?;
    book.pin(joined.coordinator_key, crawl_id);
    let view = book.accept(joined.view.clone());
    let view = view.map_err(|bad| OpenError::Refused(bad.to_string()))?;
    clock.set(joined.now);
    store_key(dir, crawl_id, identity_key)?;
    let settings = read_settings(&joined.settings)?;
    let owner = DirOwner { crawl: Some((crawl_id, identity_key)), disk_id: known.disk };
    let opened = open(&settings, owner)?;
    known.given = Some((joined.id.0, crawl_id.clone()));
    known.save(dir)?;
    Ok((view, settings, opened))
}

fn stopped() -> OpenError {
    OpenError::Broken("stopped while waiting to join".to_owned())
}

/// Reads and checks the settings of the crawl.
fn read_settings(toml: &str) -> Result<Settings, OpenError> {
    Settings::from_toml("the coordinator's settings", toml)
        .and_then(|settings| settings.check_shared().map(|()| settings))
        .map_err(|errors| OpenError::Refused(errors.to_string()))
}

/// Returns the epoch of the last view in the directory; 0 if there is none.
fn known_epoch(dir: &Path) -> u64 {
    let bytes = std::fs::read(dir.join(CLUSTER_VIEW_FILE)).unwrap_or_default();
    let view = cluster_view::decode(&bytes).ok().and_then(|known| known.view);
    view.map_or(0, |view| view.epoch)
}

/// Returns the crawl that an agent has joined, with its key; `None` for an agent that joins for the
/// first time. Fails if the key is missing or damaged.
fn known_crawl<'a>(
    dir: &Path,
    known: &'a Membership,
) -> Result<Option<(&'a str, IdentityKey)>, OpenError> {
    let Some((_, crawl_id)) = &known.given else { return Ok(None) };
    let key = IdentityKey::read(dir, crawl_id);
    key.map(|key| Some((crawl_id.as_str(), key)))
        .map_err(|error| OpenError::Broken(error.to_string()))
}

/// Stores the key that the coordinator sent, unless the directory has it. Fails if the directory has
/// another key, or it cannot be written.
fn store_key(dir: &Path, crawl_id: &str, key: IdentityKey) -> Result<(), OpenError> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_common::time::Clock;
    use crivello_common::view::AgentId;
    use crivello_proto::signing::{SigningKey, ViewSigner};
    use tempfile::tempdir;

    const KEY: IdentityKey = IdentityKey::from_bytes([7; 16]);

    /// Returns an answer of a coordinator that signs with this key.
    fn joined(key: SigningKey) -> Joined {
        let mut settings = Settings::default();
        settings.fixed.identity.contact = "you@example.com".to_owned();
        let coordinator_key = key.public();
        Joined {
            id: AgentId(3),
            crawl_id: "c0ffee".to_owned(),
            identity_key: KEY,
            leased_until: Timestamp::from_secs(9),
            lease: Duration::from_secs(5),
            view: ViewSigner::new(key, "c0ffee".to_owned()).message(&View::of_one("a")),
            coordinator_key,
            now: Timestamp::from_secs(1),
            settings: settings.to_toml(),
            revision: 1,
        }
    }

    #[test]
    fn an_agent_is_a_member_once_its_state_is_open() {
        let dir = tempdir().unwrap();
        let mut known = Membership::open(dir.path(), Some("a")).unwrap();
        let clock = CoordinatorClock::new(Clock::start());
        let book = ViewBook::default();
        let mut answer = joined(SigningKey::draw().unwrap());
        let mut accept = |answer: &Joined, is_open: bool| {
            accept((dir.path(), &mut known), answer, (&book, &clock), |_, owner| {
                assert_eq!(owner.crawl, Some(("c0ffee", KEY)));
                is_open.then_some(()).ok_or_else(stopped)
            })
        };
        accept(&answer, false).unwrap_err();
        assert_eq!(Membership::given_in(dir.path()), None);
        let (view, settings, ()) = accept(&answer, true).unwrap();
        assert_eq!((&*view, settings.to_toml()), (&View::of_one("a"), answer.settings.clone()));
        assert_eq!(Membership::given_in(dir.path()), Some((3, "c0ffee".to_owned())));
        assert_eq!(IdentityKey::read(dir.path(), "c0ffee").unwrap(), KEY);

        // The key that was pinned counts, and it must have signed the view.
        let other = joined(SigningKey::draw().unwrap());
        let error = accept(&other, true).unwrap_err().to_string();
        assert!(error.contains("accept-coordinator-key"), "{error}");
        answer.view = (&View { epoch: 2, ..View::of_one("a") }).into();
        let error = accept(&answer, true).unwrap_err().to_string();
        assert!(error.contains("is not signed by the coordinator"), "{error}");
    }
}
