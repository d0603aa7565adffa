//! Brings one queue to its agent: opens a stream when there is something to send, and another
//! whenever one has ended.

use super::outgoing::PeerEvent;
use super::queue::Queue;
use crivello_common::time::Clock;
use crivello_common::view::{AgentId, View};
use crivello_proto::v1::packet_ack::Outcome;
use crivello_proto::v1::peer_client::PeerClient;
use crivello_proto::{ACK_SIZE_MAX, PACKET_SIZE_MAX, v1};
use futures_util::stream::unfold;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tonic::Status;
use tonic::transport::Channel;

/// From the wish for a stream, with a connection if there is none, to the other side's consent.
const OPEN_PATIENCE: Duration = Duration::from_secs(5);
/// After a stream that brought something.
const PAUSE_MIN: Duration = Duration::from_millis(50);
/// After many that brought nothing.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// See the module.
#[derive(Debug)]
pub(super) struct Link {
    pub peer: AgentId,
    pub channel: Channel,
    pub queue: Arc<Queue>,
    pub heard: mpsc::Sender<PeerEvent>,
    pub clock: Clock,
}

/// The calls to one agent.
pub(super) fn client(channel: Channel) -> PeerClient<Channel> {
    PeerClient::new(channel)
        .max_encoding_message_size(PACKET_SIZE_MAX)
        .max_decoding_message_size(ACK_SIZE_MAX)
}

/// The view that a refusal shows.
pub(super) fn view_of(refused: v1::ViewMismatch) -> Result<Option<Arc<View>>, Status> {
    let view = refused.view.map(View::try_from).transpose();
    let view = view.map_err(|bad| Status::internal(format!("it shows a bad view: {bad}")))?;
    Ok(view.map(Arc::new))
}

impl Link {
    /// Goes on until it is dropped.
    pub async fn run(self) {
        let mut pause = PAUSE_MIN;
        loop {
            self.queue.filled().await;
            let mut brought = false;
            let ended = self.stream(&mut brought).await;
            if brought {
                pause = PAUSE_MIN;
            }
            if let Err(status) = ended {
                let (peer, code, why) = (self.peer, status.code(), status.message());
                tracing::debug!("a stream to agent {peer} ended: {code:?}: {why}");
            }
            sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// One stream, to its end: a refusal, or a connection that broke.
    async fn stream(&self, brought: &mut bool) -> Result<(), Status> {
        let stream = self.queue.rewind();
        let clock = self.clock;
        let packets = unfold(Arc::clone(&self.queue), move |queue| async move {
            let packet = queue.take(stream).await?;
            Some((v1::Packet { sent_at: clock.now().0, ..packet }, queue))
        });
        let mut client = client(self.channel.clone());
        let opened = timeout(OPEN_PATIENCE, client.send(packets)).await;
        let opened = opened.map_err(|_| Status::deadline_exceeded("no answer"))?;
        let mut replies = opened?.into_inner();
        while let Some(v1::PacketAck { id, outcome }) = replies.message().await? {
            match outcome {
                Some(Outcome::Stored(v1::Empty {})) => {
                    *brought = true;
                    if self.queue.stored(id) {
                        self.tell(PeerEvent::Stored { by: self.peer, id }).await;
                    }
                }
                Some(Outcome::ViewMismatch(refused)) => {
                    if let Some(view) = view_of(refused)? {
                        self.tell(PeerEvent::View(view)).await;
                    }
                    return Ok(());
                }
                None => return Err(Status::internal("it answers with nothing")),
            }
        }
        Ok(())
    }

    /// Waits for the house alone. When the house is gone, the link is about to go too.
    async fn tell(&self, heard: PeerEvent) {
        let _ = self.heard.send(heard).await;
    }
}
