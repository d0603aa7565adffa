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
use std::time::Duration;
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
    /// Time after which a reader that takes nothing is left.
    wait_max: Duration,
}

/// Returns the captures after a place, or without one those from now on.
///
/// The permit returns after the time that a reader may take nothing, also if it never polls the stream again: then
/// the last response stays in memory until its connection closes.
pub fn stream(
    source: TailSource,
    request: v1::TailRequest,
    permit: OwnedSemaphorePermit,
) -> BoxStream<'static, Result<v1::TailResponse, Status>> {
    stream_within(source, request, permit, (TAIL_STREAM_MAX, TAIL_WAIT_MAX))
}

fn stream_within(
    source: TailSource,
    request: v1::TailRequest,
    permit: OwnedSemaphorePermit,
    (stream_max, wait_max): (Duration, Duration),
) -> BoxStream<'static, Result<v1::TailResponse, Status>> {
    let (responses, received) = mpsc::channel(1);
    let until = Instant::now() + stream_max;
    let stop_at_end = request.stop_at_end;
    let stream = TailStream { source, stop_at_end, responses, until, wait_max };
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
        self.responses.send_timeout(response, self.wait_max).await.map_err(|_| ReaderGone)
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use tempfile::TempDir;
    use tokio::sync::Semaphore;
    use tokio::time::timeout;

    const SHORT: Duration = Duration::from_millis(50);
    const LONG: Duration = Duration::from_secs(20);
    const FILE: &str = "crivello-0badcafe-20261120120000-00000";

    /// An archive with captures for several responses, all committed.
    fn archive(lines: usize) -> (TempDir, watch::Sender<Option<ArchivePosition>>, TailSource) {
        let dir = tempfile::tempdir().unwrap();
        let line = |n| {
            format!(
                "test,a)/{n:06} 20261120120000 {{\"url\": \"http://a.test/{n:06}\", \"offset\": \"{n}\", \"length\": \"1\"}}\n"
            )
        };
        let index: String = (0..lines).map(line).collect();
        std::fs::write(dir.path().join(format!("{FILE}.cdxj")), &index).unwrap();
        std::fs::write(dir.path().join(format!("{FILE}.warc.gz")), vec![0; lines]).unwrap();
        let (warc_len, index_len) = (lines as u64, index.len() as u64);
        let end = ArchivePosition { file: format!("{FILE}.warc.gz"), warc_len, index_len };
        let (sender, end) = watch::channel(Some(end));
        let source = TailSource { dir: dir.path().to_owned(), end };
        (dir, sender, source)
    }

    fn from_start() -> v1::TailRequest {
        v1::TailRequest { after: Some(v1::TailPlace::default()), stop_at_end: false }
    }

    #[tokio::test]
    async fn a_reader_that_takes_nothing_loses_its_permit_and_its_stream_ends() {
        let (_dir, _end, source) = archive(3 * TAIL_BATCH_MAX);
        let permits = Arc::new(Semaphore::new(1));
        let permit = Arc::clone(&permits).try_acquire_owned().unwrap();
        let mut slow = stream_within(source.clone(), from_start(), permit, (LONG, SHORT));
        // The stream is not polled, as behind a window that is closed.
        let permit = timeout(LONG, Arc::clone(&permits).acquire_owned()).await.unwrap().unwrap();
        let mut n_responses = 0;
        while let Some(response) = timeout(LONG, slow.next()).await.unwrap() {
            response.unwrap();
            n_responses += 1;
        }
        assert_eq!(n_responses, 1, "what was queued, and then the end");
        // A reader that takes what there is keeps its permit for longer than that.
        let mut quick = stream_within(source, from_start(), permit, (LONG, SHORT));
        let mut n_captures = 0;
        while n_captures < 3 * TAIL_BATCH_MAX {
            let response = timeout(LONG, quick.next()).await.unwrap().unwrap().unwrap();
            n_captures += response.captures.len();
        }
        tokio::time::sleep(SHORT * 3).await;
        assert_eq!(permits.available_permits(), 0);
        drop(quick);
        let _ = timeout(LONG, permits.acquire()).await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn a_stream_ends_after_its_life() {
        let (_dir, _end, source) = archive(1);
        let permits = Arc::new(Semaphore::new(1));
        let permit = Arc::clone(&permits).try_acquire_owned().unwrap();
        let mut stream = stream_within(source, from_start(), permit, (SHORT * 4, LONG));
        let mut n_captures = 0;
        while let Some(response) = timeout(LONG, stream.next()).await.unwrap() {
            n_captures += response.unwrap().captures.len();
        }
        assert_eq!(n_captures, 1);
        let _ = timeout(LONG, permits.acquire()).await.unwrap().unwrap();
    }
}
