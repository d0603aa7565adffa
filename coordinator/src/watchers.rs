//! Streams of views and settings. Each watcher receives the latest version once it has taken the
//! previous one. A watcher that takes nothing for too long is dropped. Nothing waits for a watcher.

use futures_util::stream::{BoxStream, StreamExt as _, poll_fn};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc, watch};
use tonic::{Response, Status};

/// Maximum number of watchers: two streams per agent, plus those of people.
const WATCHERS_MAX: usize = 4_096;

/// The stream of a watcher.
pub(crate) type Latest<M> = BoxStream<'static, Result<M, Status>>;

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
    /// ends. Later values have higher versions.
    ///
    /// # Errors
    /// Fails if there are too many watchers.
    pub(crate) fn admit<T: Send + Sync + 'static, M: Send + 'static>(
        &self,
        mut latest: watch::Receiver<Arc<T>>,
        mut known: u64,
        version: fn(&T) -> u64,
        message: impl Fn(&T) -> M + Send + 'static,
    ) -> Result<Response<Latest<M>>, Status> {
        let permit = Arc::clone(&self.permits).try_acquire_owned();
        let permit = permit.map_err(|_| Status::resource_exhausted("too many watchers"))?;
        let (next, mut taken) = mpsc::channel(1);
        let timeout = self.timeout;
        tokio::spawn(async move {
            let _permit = permit;
            loop {
                let value = Arc::clone(&latest.borrow_and_update());
                if version(&value) > known {
                    known = version(&value);
                    if next.send_timeout(Ok(message(&value)), timeout).await.is_err() {
                        tracing::debug!("dropping a watcher: it disconnected or reads too slowly");
                        return;
                    }
                }
                tokio::select! {
                    changed = latest.changed() => if changed.is_err() { return },
                    () = next.closed() => return,
                }
            }
        });
        Ok(Response::new(poll_fn(move |cx| taken.poll_recv(cx)).boxed()))
    }
}
