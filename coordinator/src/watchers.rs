//! Streams of views and settings. Each watcher receives the latest version once it has taken the
//! previous one. A watcher that takes nothing for too long is dropped. Nothing waits for a watcher.

use crivello_common::view::View;
use crivello_proto::v1;
use futures_util::Stream;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tonic::Status;

/// Maximum number of watchers: two streams per agent, plus those of people.
const WATCHERS_MAX: usize = 4_096;

/// A versioned value that can be watched.
pub(crate) trait Watched: Send + Sync + 'static {
    /// The message on the wire.
    type Message: Send + 'static;
    /// Version number; higher for each later value.
    fn version(&self) -> u64;
    /// Returns the message for this value.
    fn message(&self) -> Self::Message;
}

impl Watched for View {
    type Message = v1::View;

    fn version(&self) -> u64 {
        self.epoch
    }

    fn message(&self) -> v1::View {
        self.into()
    }
}

impl Watched for v1::CrawlSettings {
    type Message = Self;

    fn version(&self) -> u64 {
        self.revision
    }

    fn message(&self) -> Self {
        self.clone()
    }
}

/// Limits and counts the watchers. Clones share one limit.
#[derive(Clone, Debug)]
pub(crate) struct Watchers {
    permits: Arc<Semaphore>,
    /// Longest time for which a message may wait to be taken.
    timeout: Duration,
}

impl Watchers {
    pub(crate) fn new(timeout: Duration) -> Self {
        Self { permits: Arc::new(Semaphore::new(WATCHERS_MAX)), timeout }
    }

    /// Returns the number of watchers.
    pub(crate) fn count(&self) -> usize {
        WATCHERS_MAX - self.permits.available_permits().min(WATCHERS_MAX)
    }

    /// Streams values later than `known` until the watcher disconnects, is dropped, or the sender
    /// ends. Returns `None` if there are too many watchers.
    pub(crate) fn admit<T: Watched>(
        &self,
        latest: watch::Receiver<Arc<T>>,
        known: u64,
    ) -> Option<Latest<T::Message>> {
        let permit = Arc::clone(&self.permits).try_acquire_owned().ok()?;
        let (next, taken) = mpsc::channel(1);
        tokio::spawn(forward(latest, known, next, self.timeout, permit));
        Some(Latest(taken))
    }
}

async fn forward<T: Watched>(
    mut latest: watch::Receiver<Arc<T>>,
    mut known: u64,
    next: mpsc::Sender<Result<T::Message, Status>>,
    timeout: Duration,
    _permit: OwnedSemaphorePermit,
) {
    loop {
        let value = Arc::clone(&latest.borrow_and_update());
        if value.version() > known {
            known = value.version();
            if next.send_timeout(Ok(value.message()), timeout).await.is_err() {
                tracing::debug!("dropping a watcher: it disconnected or reads too slowly");
                return;
            }
        }
        tokio::select! {
            changed = latest.changed() => if changed.is_err() { return },
            () = next.closed() => return,
        }
    }
}

/// The stream of a watcher.
#[derive(Debug)]
pub(crate) struct Latest<T>(mpsc::Receiver<Result<T, Status>>);

/// A stream of views.
pub(crate) type ViewStream = Latest<v1::View>;
/// A stream of settings.
pub(crate) type SettingsStream = Latest<v1::CrawlSettings>;

impl<T> Stream for Latest<T> {
    type Item = Result<T, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(cx)
    }
}
