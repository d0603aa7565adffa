//! Those who watch the view, or the settings: each gets the latest there is when it has taken the one before. One
//! that takes none for too long is dropped; nobody waits for it.

use crate::settings::Revised;
use crivello_common::view::View;
use crivello_proto::v1;
use futures_util::Stream;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tonic::Status;

/// Watchers at once: all agents, for the view and for the settings, and people.
const WATCHERS_MAX: usize = 4_096;

/// What is watched: each later one has a higher number.
pub(crate) trait Watched: Send + Sync + 'static {
    /// As it is sent.
    type Sent: for<'a> From<&'a Self> + Send + 'static;
    /// Its number.
    fn number(&self) -> u64;
}

impl Watched for View {
    type Sent = v1::View;

    fn number(&self) -> u64 {
        self.epoch
    }
}

impl Watched for Revised {
    type Sent = v1::CrawlSettings;

    fn number(&self) -> u64 {
        self.revision
    }
}

/// Lets watchers in.
#[derive(Clone, Debug)]
pub(crate) struct Watchers {
    room: Arc<Semaphore>,
    /// How long one may leave a view untaken.
    patience: Duration,
}

impl Watchers {
    pub(crate) fn new(patience: Duration) -> Self {
        Self { room: Arc::new(Semaphore::new(WATCHERS_MAX)), patience }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        WATCHERS_MAX - self.room.available_permits().min(WATCHERS_MAX)
    }

    /// What is later than `known`, until the watcher goes, is dropped, or there will be no more. `None`
    /// when there are too many.
    pub(crate) fn admit<T: Watched>(
        &self,
        latest: watch::Receiver<Arc<T>>,
        known: u64,
    ) -> Option<Latest<T::Sent>> {
        let seat = Arc::clone(&self.room).try_acquire_owned().ok()?;
        let (next, taken) = mpsc::channel(1);
        tokio::spawn(forward(latest, known, next, self.patience, seat));
        Some(Latest(taken))
    }
}

async fn forward<T: Watched>(
    mut latest: watch::Receiver<Arc<T>>,
    mut known: u64,
    next: mpsc::Sender<Result<T::Sent, Status>>,
    patience: Duration,
    _seat: OwnedSemaphorePermit,
) {
    loop {
        let one = Arc::clone(&latest.borrow_and_update());
        if one.number() > known {
            known = one.number();
            let one = T::Sent::from(one.as_ref());
            if next.send_timeout(Ok(one), patience).await.is_err() {
                tracing::debug!("a watcher went, or was too slow and is dropped");
                return;
            }
        }
        tokio::select! {
            changed = latest.changed() => if changed.is_err() { return },
            () = next.closed() => return,
        }
    }
}

/// What a watcher takes what it watches from.
#[derive(Debug)]
pub(crate) struct Latest<T>(mpsc::Receiver<Result<T, Status>>);

/// Views.
pub(crate) type ViewStream = Latest<v1::View>;
/// Settings.
pub(crate) type SettingsStream = Latest<v1::CrawlSettings>;

impl<T> Stream for Latest<T> {
    type Item = Result<T, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(cx)
    }
}
