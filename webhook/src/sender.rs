//! The task that sends captures.

use crate::WebhookError;
use crate::client::MessageClient;
use crate::place_file::PlaceFile;
use crate::secret::WebhookSecret;
use crivello_archive::{ArchivePosition, CaptureTail, TailBatch, TailPosition};
use crivello_common::time::Clock;
use std::io;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

/// Maximum number of captures in a batch. A batch also ends after a mebibyte.
const BATCH_MAX: usize = 1_000;
/// Maximum pause after a failure.
const PAUSE_MAX: Duration = Duration::from_secs(300);
/// Times in use.
const TIMES: Times =
    Times { request: Duration::from_secs(15), pause_first: Duration::from_secs(1) };

/// The archive whose captures are sent.
#[derive(Clone, Debug)]
pub struct WebhookSource {
    /// Id of the crawl.
    pub crawl_id: String,
    /// Id of the agent.
    pub agent: u32,
    /// Directory of the archive.
    pub archive: PathBuf,
    /// End of what a synced commit covers; `None` before it is known.
    pub end: watch::Receiver<Option<ArchivePosition>>,
    /// File of the place after the last batch that was received.
    pub place_file: PathBuf,
}

/// Sends captures to a webhook.
pub struct WebhookSender {
    /// Place after the last batch that was received; `None` before the task has begun.
    received: watch::Receiver<Option<TailPosition>>,
    end: watch::Receiver<Option<ArchivePosition>>,
}

/// Times of requests.
#[derive(Clone, Copy)]
pub(crate) struct Times {
    /// Maximum time from the connection to the head of the response.
    pub(crate) request: Duration,
    /// Pause after the first failure; it doubles each time.
    pub(crate) pause_first: Duration,
}

struct SendTask {
    client: MessageClient,
    source: WebhookSource,
    place_file: PlaceFile,
    clock: Clock,
    received: watch::Sender<Option<TailPosition>>,
    times: Times,
}

impl WebhookSender {
    /// Starts to send the captures of `source` to `url`, on `runtime`, until that ends: from the place in the
    /// place file on, or without one from now on.
    ///
    /// # Errors
    /// [`WebhookError`] if the address or the secret cannot be used.
    pub fn start(
        runtime: &Handle,
        (url, secret): (&str, WebhookSecret),
        source: WebhookSource,
        clock: Clock,
    ) -> Result<Self, WebhookError> {
        Self::start_with(runtime, (url, secret), source, (clock, TIMES))
    }

    pub(crate) fn start_with(
        runtime: &Handle,
        (url, secret): (&str, WebhookSecret),
        source: WebhookSource,
        (clock, times): (Clock, Times),
    ) -> Result<Self, WebhookError> {
        let client = MessageClient::new(url, secret, times.request)?;
        let (sender, received) = watch::channel(None);
        let (end, place_file) = (source.end.clone(), PlaceFile(source.place_file.clone()));
        let task = SendTask { client, source, place_file, clock, received: sender, times };
        runtime.spawn(task.run());
        Ok(Self { received, end })
    }

    /// Returns a receiver of the place after the last batch that was received; `None` before the task has begun.
    pub fn received(&self) -> watch::Receiver<Option<TailPosition>> {
        self.received.clone()
    }

    /// Waits until all captures before the end of the archive are received, but not longer than `limit`. Returns
    /// true if they are. The rest is sent after the next start.
    pub async fn flush(&mut self, limit: Duration) -> bool {
        let Some(end) = self.end.borrow().clone() else { return true };
        let end = TailPosition::end_of(&end);
        let flushed = self.received.wait_for(|received| *received >= Some(end));
        timeout(limit, flushed).await.is_ok_and(|received| received.is_ok())
    }
}

impl SendTask {
    async fn run(mut self) {
        // An error means that the writer has ended before it has begun.
        let Ok(begin) = self.source.end.wait_for(Option::is_some).await.map(|end| end.clone())
        else {
            return;
        };
        let now = TailPosition::end_of(&begin.unwrap_or_default());
        let place = self.place_file.read().unwrap_or_else(|error| {
            tracing::warn!(%error, "the place of the webhook cannot be read: it begins now");
            None
        });
        let mut tail = CaptureTail::new(&self.source.archive, place.unwrap_or(now));
        if place.is_none() {
            self.arrived(now);
        }
        let mut pause = self.times.pause_first;
        loop {
            let end = self.source.end.borrow_and_update().clone().unwrap_or_default();
            let batch;
            (tail, batch) = read_batch(tail, end.clone()).await;
            let batch = match batch {
                Ok(batch) => batch,
                // The writer has ended, too: the next run goes on.
                Err(_) if self.source.end.has_changed().is_err() => return,
                Err(error) => {
                    tracing::warn!(%error, "the webhook cannot read the archive; it tries again");
                    sleep(pause).await;
                    pause = (pause * 2).min(PAUSE_MAX);
                    // It opens the files anew.
                    tail = CaptureTail::new(&self.source.archive, tail.position());
                    continue;
                }
            };
            pause = self.times.pause_first;
            if batch.files_missing > 0 {
                let files = batch.files_missing;
                tracing::warn!(
                    files,
                    "archive files were deleted before the webhook received their captures"
                );
            }
            if batch.lines.is_empty() {
                // Nothing lies between the last capture and the end.
                self.received.send_replace(Some(TailPosition::end_of(&end)));
                if self.source.end.changed().await.is_err() {
                    return;
                }
                continue;
            }
            self.deliver(&batch).await;
            self.arrived(tail.position());
        }
    }

    /// Records that everything before a place was received.
    fn arrived(&self, place: TailPosition) {
        if let Err(error) = self.place_file.write(place) {
            tracing::warn!(%error, "the place of the webhook cannot be stored: captures may be sent again");
        }
        self.received.send_replace(Some(place));
    }

    /// Sends a batch until it is received.
    async fn deliver(&self, batch: &TailBatch) {
        let Some(last) = batch.lines.last() else { return };
        let WebhookSource { crawl_id, agent, .. } = &self.source;
        // The id of a batch stays the same, so that its receiver knows it again.
        let id = format!("{crawl_id}-{agent}-{}-{}", last.position.file, last.position.offset);
        let captures: Vec<_> = batch.lines.iter().filter_map(|line| line.to_json(*agent)).collect();
        let lines = batch.lines.len() - captures.len();
        if lines > 0 {
            tracing::warn!(lines, "the webhook skips damaged lines of the archive's index");
        }
        let body = format!(
            "{{\"type\": \"captures\", \"crawl\": \"{crawl_id}\", \"agent\": {agent}, \"captures\": [\n{}\n]}}\n",
            captures.join(",\n")
        );
        let (mut pause, mut problem) = (self.times.pause_first, String::new());
        while let Err(why) = self.client.send(&id, self.clock.now().as_secs(), body.clone()).await {
            if why != problem {
                tracing::warn!("the webhook does not take captures: {why}; they are sent again");
                problem = why;
            }
            sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
        if !problem.is_empty() {
            tracing::info!("the webhook takes captures again");
        }
    }
}

/// Reads the next captures. After an error the tail is where it was.
async fn read_batch(
    mut tail: CaptureTail,
    end: ArchivePosition,
) -> (CaptureTail, io::Result<TailBatch>) {
    let read = spawn_blocking(move || {
        let batch = tail.next_batch(&end, BATCH_MAX);
        (tail, batch)
    });
    read.await.unwrap_or_else(|panic| resume_unwind(panic.into_panic()))
}
