//! The delivery of one queue to its agent: opens a stream when there is something to send, and
//! another one whenever a stream ends.

use super::event::PeerEvent;
use super::queue::Queue;
use super::trust::PeerTrust;
use crivello_common::time::Clock;
use crivello_common::view::AgentId;
use crivello_proto::auth::AuthChannel;
use crivello_proto::v1::acknowledgement::Outcome;
use crivello_proto::v1::peer_client::PeerClient;
use crivello_proto::{ACK_SIZE_MAX, PACKET_SIZE_MAX, v1};
use futures_util::stream::unfold;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tonic::Status;

/// Maximum time to open a stream, including the connection.
const OPEN_TIMEOUT: Duration = Duration::from_secs(5);
/// Pause after a stream that delivered something.
const PAUSE_MIN: Duration = Duration::from_millis(50);
/// Maximum pause after streams that delivered nothing; it doubles from [`PAUSE_MIN`].
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// The sender of one queue.
#[derive(Debug)]
pub(super) struct PeerStream {
    pub peer: AgentId,
    pub channel: AuthChannel,
    pub trust: PeerTrust,
    pub queue: Arc<Queue>,
    pub events: mpsc::Sender<PeerEvent>,
    pub clock: Clock,
}

/// Ends a stream of a queue, also when its task is aborted. The packets belong to a task of the
/// connection, which counts the stream as open until they end.
struct EndOnDrop<'a> {
    queue: &'a Queue,
    stream: u64,
}

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.queue.end(self.stream);
    }
}

/// Returns a client for one agent.
pub(super) fn client(channel: AuthChannel) -> PeerClient<AuthChannel> {
    PeerClient::new(channel)
        .max_encoding_message_size(PACKET_SIZE_MAX)
        .max_decoding_message_size(ACK_SIZE_MAX)
}

impl PeerStream {
    /// Sends until it is dropped.
    pub async fn run(self) {
        let mut pause = PAUSE_MIN;
        loop {
            self.queue.filled().await;
            let mut delivered = false;
            let ended = self.stream(&mut delivered).await;
            if delivered {
                pause = PAUSE_MIN;
            }
            if let Err(status) = ended {
                let (peer, code, reason) = (self.peer, status.code(), status.message());
                tracing::debug!("a stream to agent {peer} ended: {code:?}: {reason}");
            }
            sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// Runs one stream until a rejection or a broken connection.
    async fn stream(&self, delivered: &mut bool) -> Result<(), Status> {
        let stream = self.queue.rewind();
        let _end = EndOnDrop { queue: &self.queue, stream };
        let clock = self.clock;
        let packets = unfold(Arc::clone(&self.queue), move |queue| async move {
            let mut packet = queue.take(stream).await?;
            if let Some(envelope) = &mut packet.envelope {
                envelope.sent_at = clock.now().0;
            }
            Some((packet, queue))
        });
        let mut client = client(self.channel.clone());
        let opened = timeout(OPEN_TIMEOUT, client.send(packets)).await;
        let opened = opened.map_err(|_| Status::deadline_exceeded("no response"))?;
        let mut acks = opened?.into_inner();
        while let Some(v1::Acknowledgement { id, outcome }) = acks.message().await? {
            match outcome {
                Some(Outcome::Accepted(v1::Empty {})) => {
                    *delivered = true;
                    if self.queue.acknowledge(id) {
                        self.send(PeerEvent::Stored { by: self.peer, id }).await;
                    }
                }
                Some(Outcome::ViewMismatch(mismatch)) => {
                    if let Some(view) = self.trust.view_of(mismatch) {
                        self.send(PeerEvent::View(view)).await;
                    }
                    return Ok(());
                }
                None => return Err(Status::internal("empty acknowledgement")),
            }
        }
        Ok(())
    }

    /// Waits only for the receiver of events. Without one, this stream is about to be dropped.
    async fn send(&self, event: PeerEvent) {
        let _ = self.events.send(event).await;
    }
}
