//! The unacknowledged packets of one lane to one agent in one epoch, in order.
//!
//! A stream sends the queue from its head, one window at a time. After a broken stream the next one
//! begins at the head again: a repeated packet is followed by all packets that followed it before,
//! so the last state that the receiver gets is the last one sent.

use crate::limits::{PEER_QUEUE_BYTES, PEER_WINDOW};
use crivello_common::time::{Clock, Timestamp};
use crivello_proto::v1;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::time::Duration;
use tokio::sync::Notify;

/// A bounded queue of packets, sent again from its head by each stream.
#[derive(Debug)]
pub(super) struct Queue {
    clock: Clock,
    state: Mutex<State>,
    /// Notified when there may be something to send.
    more: Notify,
}

#[derive(Debug, Default)]
struct State {
    packets: VecDeque<Queued>,
    bytes: usize,
    /// Time since which the first packet is the same; `None` without one.
    head_since: Option<Timestamp>,
    /// The current stream, or one more than the last one that has ended. Earlier streams get no more
    /// packets.
    stream: u64,
    /// Number of packets, from the head, that the current stream has taken.
    taken: usize,
}

#[derive(Debug)]
struct Queued {
    id: u64,
    packet: v1::Packet,
    bytes: usize,
    /// Acknowledged before a packet that precedes it.
    acknowledged: bool,
}

impl Queue {
    /// Returns an empty queue.
    pub fn new(clock: Clock) -> Self {
        Self { clock, state: Mutex::default(), more: Notify::new() }
    }

    /// Appends a packet of `bytes` bytes and returns its id, which `next_id` generates. An empty
    /// queue accepts any size.
    ///
    /// # Errors
    /// The packet, if the queue is full.
    pub fn push(
        &self,
        mut packet: v1::Packet,
        bytes: usize,
        next_id: impl FnOnce() -> u64,
    ) -> Result<u64, v1::Packet> {
        let mut state = self.state.lock();
        if !state.packets.is_empty() && state.bytes + bytes > PEER_QUEUE_BYTES {
            return Err(packet);
        }
        let id = next_id();
        if let Some(envelope) = &mut packet.envelope {
            envelope.id = id;
        }
        state.bytes += bytes;
        state.head_since.get_or_insert_with(|| self.clock.now());
        state.packets.push_back(Queued { id, packet, bytes, acknowledged: false });
        drop(state);
        self.more.notify_one();
        Ok(id)
    }

    /// Begins a stream at the head and returns its number.
    pub fn rewind(&self) -> u64 {
        let mut state = self.state.lock();
        state.taken = 0;
        state.stream += 1;
        self.more.notify_waiters();
        state.stream
    }

    /// Ends a stream, if it is the current one: it gets no more packets.
    pub fn end(&self, stream: u64) {
        let mut state = self.state.lock();
        if state.stream == stream {
            state.taken = 0;
            state.stream += 1;
            self.more.notify_waiters();
        }
    }

    /// Returns once there is something to send.
    pub async fn filled(&self) {
        while self.is_empty() {
            self.more.notified().await;
        }
    }

    /// Returns the next packet for a stream once the window has room; `None` if the stream is no
    /// longer the current one.
    pub async fn take(&self, stream: u64) -> Option<v1::Packet> {
        loop {
            // Registered before the check, so that a later notification is not lost.
            let more = self.more.notified();
            {
                let mut state = self.state.lock();
                if state.stream != stream {
                    // The notification was for the current stream.
                    self.more.notify_one();
                    return None;
                }
                if state.taken < PEER_WINDOW
                    && let Some(next) = state.packets.get(state.taken)
                {
                    let packet = v1::Packet { stream, ..next.packet.clone() };
                    state.taken += 1;
                    return Some(packet);
                }
            }
            more.await;
        }
    }

    /// Records an acknowledgement. Returns true for the first one of a packet.
    pub fn acknowledge(&self, id: u64) -> bool {
        let mut state = self.state.lock();
        let taken = state.taken;
        let mut sent = state.packets.iter_mut().take(taken);
        let Some(queued) = sent.find(|q| q.id == id && !q.acknowledged) else { return false };
        queued.acknowledged = true;
        while state.packets.front().is_some_and(|head| head.acknowledged) {
            let Some(head) = state.packets.pop_front() else { break };
            state.bytes -= head.bytes;
            state.taken -= 1;
            state.head_since = (!state.packets.is_empty()).then(|| self.clock.now());
        }
        drop(state);
        self.more.notify_one();
        true
    }

    /// Number of bytes of the packets in the queue.
    pub fn bytes(&self) -> usize {
        self.state.lock().bytes
    }

    /// Time for which the first packet has not been acknowledged; `None` without one.
    pub fn unacknowledged(&self) -> Option<Duration> {
        self.state.lock().head_since.map(|since| self.clock.now().since(since))
    }

    /// True if all packets are acknowledged.
    pub fn is_empty(&self) -> bool {
        self.state.lock().packets.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    fn push(queue: &Queue, id: u64, bytes: usize) -> bool {
        let envelope = Some(v1::Envelope::default());
        queue.push(v1::Packet { envelope, ..v1::Packet::default() }, bytes, || id).is_ok()
    }

    /// Returns the id of the next packet that is ready.
    fn take(queue: &Queue, stream: u64) -> Option<u64> {
        Some(queue.take(stream).now_or_never()??.envelope?.id)
    }

    #[test]
    fn a_window_at_a_time_in_order_and_again_from_the_head() {
        let queue = Queue::new(Clock::start());
        let stream = queue.rewind();
        let window = PEER_WINDOW as u64;
        for id in 0..2 * window {
            assert!(push(&queue, id, 10));
        }
        for id in 0..window {
            assert_eq!(take(&queue, stream), Some(id));
        }
        assert_eq!(take(&queue, stream), None);
        assert!(
            queue.acknowledge(1) && !queue.acknowledge(1),
            "the second acknowledgement was accepted"
        );
        assert_eq!(
            take(&queue, stream),
            None,
            "the window moved although its head is not acknowledged"
        );
        let broken = stream;
        let stream = queue.rewind();
        assert_eq!(take(&queue, broken), None, "a broken stream received a packet");
        assert_eq!(take(&queue, stream), Some(0));
        assert_eq!(take(&queue, stream), Some(1), "packets after the head were not sent again");
        assert!(queue.acknowledge(0) && !queue.acknowledge(0));
        assert!(
            !queue.acknowledge(2 * window - 1),
            "a packet that was never sent was acknowledged"
        );
        assert_eq!(take(&queue, stream), Some(2));
    }

    #[test]
    fn bytes_are_bounded_and_given_back() {
        let queue = Queue::new(Clock::start());
        let stream = queue.rewind();
        assert!(push(&queue, 1, 2 * PEER_QUEUE_BYTES), "an empty queue rejected a packet");
        assert!(!push(&queue, 2, 1));
        assert_eq!(take(&queue, stream), Some(1));
        assert!(queue.unacknowledged().is_some());
        assert!(queue.acknowledge(1) && queue.is_empty());
        assert_eq!(queue.unacknowledged(), None);
        assert!(push(&queue, 3, PEER_QUEUE_BYTES) && !push(&queue, 4, 1));
    }
}
