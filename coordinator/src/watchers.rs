//! Those who watch the view: each gets the latest there is when it has taken the one before. One
//! that takes none for too long is dropped; nobody waits for it.

use crivello_common::view::View;
use crivello_proto::v1;
use futures_util::Stream;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tonic::Status;

/// Watchers at once: all agents, and people.
const WATCHERS_MAX: usize = 2_048;

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

    /// The views later than `known`, until the watcher goes, is dropped, or `views` end. `None`
    /// when there are too many.
    pub(crate) fn admit(
        &self,
        views: watch::Receiver<Arc<View>>,
        known: u64,
    ) -> Option<ViewStream> {
        let seat = Arc::clone(&self.room).try_acquire_owned().ok()?;
        let (next, taken) = mpsc::channel(1);
        tokio::spawn(forward(views, known, next, self.patience, seat));
        Some(ViewStream(taken))
    }
}

async fn forward(
    mut views: watch::Receiver<Arc<View>>,
    mut known: u64,
    next: mpsc::Sender<Result<v1::View, Status>>,
    patience: Duration,
    _seat: OwnedSemaphorePermit,
) {
    loop {
        let view = Arc::clone(&views.borrow_and_update());
        if view.epoch > known {
            known = view.epoch;
            let view = v1::View::from(view.as_ref());
            if next.send_timeout(Ok(view), patience).await.is_err() {
                tracing::debug!("a watcher went, or was too slow and is dropped");
                return;
            }
        }
        tokio::select! {
            changed = views.changed() => if changed.is_err() { return },
            () = next.closed() => return,
        }
    }
}

/// What a watcher takes its views from.
#[derive(Debug)]
pub(crate) struct ViewStream(mpsc::Receiver<Result<v1::View, Status>>);

impl Stream for ViewStream {
    type Item = Result<v1::View, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(cx)
    }
}
