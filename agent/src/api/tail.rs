//! Streams of captures: what is archived and synced, read from the archive's own indexes.
//!
//! Nothing is queued for readers: one that is slow reads later, and one that has been away goes on at its place.

use crate::limits::{TAIL_BATCH_MAX, TAIL_STREAM_MAX, TAIL_WAIT_MAX};
use crivello_archive::{ArchivePosition, CaptureTail, TailBatch, TailPosition};
use crivello_proto::v1;
use futures_util::StreamExt as _;
use futures_util::stream::{BoxStream, unfold};
use std::io;
use std::path::PathBuf;
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep_until};
use tonic::Status;

/// An archive that grows.
#[derive(Clone, Debug)]
pub struct TailSource {
    /// Directory of the archive.
    pub dir: PathBuf,
    /// End of what a synced commit covers: nothing of it is ever written anew.
    pub end: watch::Receiver<Option<ArchivePosition>>,
}

impl TailSource {
    /// Reads the next captures; returns the reader, too.
    pub async fn next_batch(
        &mut self,
        mut tail: CaptureTail,
    ) -> io::Result<(CaptureTail, TailBatch)> {
        let end = self.end.borrow_and_update().clone().unwrap_or_default();
        let read = spawn_blocking(move || {
            let batch = tail.next_batch(&end, TAIL_BATCH_MAX)?;
            Ok((tail, batch))
        });
        read.await.map_err(io::Error::other)?
    }
}

/// A stream of one reader.
struct TailStream {
    source: TailSource,
    /// True if it ends at the end of the archive.
    stop_at_end: bool,
    responses: mpsc::Sender<Result<v1::TailResponse, Status>>,
    until: Instant,
}

/// Returns the captures after a place, or without one those from now on.
pub fn stream(
    source: TailSource,
    request: v1::TailRequest,
    permit: OwnedSemaphorePermit,
) -> BoxStream<'static, Result<v1::TailResponse, Status>> {
    let (responses, received) = mpsc::channel(1);
    let until = Instant::now() + TAIL_STREAM_MAX;
    let stream = TailStream { source, stop_at_end: request.stop_at_end, responses, until };
    let after = request.after.map(|place| TailPosition { file: place.file, offset: place.offset });
    tokio::spawn(async move {
        // An error means that the reader has left, or is too slow.
        let _ = stream.run(after).await;
        drop(permit);
    });
    unfold(received, |mut received| async { Some((received.recv().await?, received)) }).boxed()
}

/// The reader has left, or has taken nothing for too long.
struct ReaderGone;

impl TailStream {
    async fn run(mut self, after: Option<TailPosition>) -> Result<(), ReaderGone> {
        let now = self.source.end.borrow().as_ref().map(TailPosition::end_of);
        let mut tail = CaptureTail::new(&self.source.dir, after.or(now).unwrap_or_default());
        // The first response has only the place.
        self.send(Ok(response(tail.position(), TailBatch::default()))).await?;
        while Instant::now() < self.until {
            let (read, batch) = match self.source.next_batch(tail).await {
                Ok(read) => read,
                Err(error) => {
                    let failed = Status::internal(format!("the archive cannot be read: {error}"));
                    return self.send(Err(failed)).await;
                }
            };
            tail = read;
            if batch.files_missing > 0 || !batch.lines.is_empty() {
                self.send(Ok(response(tail.position(), batch))).await?;
            } else if self.stop_at_end {
                let last = response(tail.position(), batch);
                return self.send(Ok(v1::TailResponse { at_end: true, ..last })).await;
            } else if !self.has_more().await? {
                break;
            }
        }
        Ok(())
    }

    /// Waits until the archive has grown. Returns false at the end of the archive or of the stream.
    async fn has_more(&mut self) -> Result<bool, ReaderGone> {
        tokio::select! {
            grown = self.source.end.changed() => Ok(grown.is_ok()),
            () = self.responses.closed() => Err(ReaderGone),
            () = sleep_until(self.until) => Ok(false),
        }
    }

    async fn send(&self, response: Result<v1::TailResponse, Status>) -> Result<(), ReaderGone> {
        self.responses.send_timeout(response, TAIL_WAIT_MAX).await.map_err(|_| ReaderGone)
    }
}

fn response(at: TailPosition, batch: TailBatch) -> v1::TailResponse {
    let place = |at: TailPosition| v1::TailPlace { file: at.file, offset: at.offset };
    let capture = |line: crivello_archive::TailLine| v1::TailCapture {
        after: Some(place(line.position)),
        line: line.line,
    };
    v1::TailResponse {
        after: Some(place(at)),
        captures: batch.lines.into_iter().map(capture).collect(),
        files_missing: batch.files_missing,
        at_end: false,
    }
}
