//! The packets of one class to one agent, in one epoch: those not yet acknowledged, in order.
//!
//! A stream carries the queue from its head on, a window at a time. One that breaks is followed by
//! another that begins at the head again: so whatever the receiver gets again, it also gets all
//! again that came after it, and the last it hears of anything is the last that was said of it.

use crate::limits::{PEER_QUEUE_BYTES, PEER_WINDOW};
use crivello_proto::v1;
use parking_lot::Mutex;
use std::collections::VecDeque;
use tokio::sync::Notify;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    /// There may be something to send.
    more: Notify,
}

#[derive(Debug, Default)]
struct State {
    packets: VecDeque<Queued>,
    bytes: usize,
    /// The current stream: one that broke may still ask for more, and gets none.
    stream: u64,
    /// How many, from the head on, it has taken.
    taken: usize,
}

#[derive(Debug)]
struct Queued {
    packet: v1::Packet,
    bytes: usize,
    /// Acknowledged, before one that precedes it.
    stored: bool,
}

impl Queue {
    /// Puts a packet of so many bytes at the end, under the id that `next_id` draws. An empty queue
    /// has room for any.
    ///
    /// # Errors
    /// The packet, where it finds no room.
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
        packet.id = id;
        state.bytes += bytes;
        state.packets.push_back(Queued { packet, bytes, stored: false });
        drop(state);
        self.more.notify_one();
        Ok(id)
    }

    /// A new stream, which takes all from the head on: its number.
    pub fn rewind(&self) -> u64 {
        let mut state = self.state.lock();
        state.taken = 0;
        state.stream += 1;
        self.more.notify_waiters();
        state.stream
    }

    /// Returns once there is something to send.
    pub async fn filled(&self) {
        while self.is_empty() {
            self.more.notified().await;
        }
    }

    /// The next packet for a stream, once the window has room for it; `None` when the stream is no
    /// longer the current one.
    pub async fn take(&self, stream: u64) -> Option<v1::Packet> {
        loop {
            // Before the look: a stream that begins after it wakes this one.
            let more = self.more.notified();
            {
                let mut state = self.state.lock();
                if state.stream != stream {
                    // What woke this one was meant for the other.
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

    /// Whether it is news that this packet is acknowledged.
    pub fn stored(&self, id: u64) -> bool {
        let mut state = self.state.lock();
        let taken = state.taken;
        let mut sent = state.packets.iter_mut().take(taken);
        let Some(queued) = sent.find(|q| q.packet.id == id && !q.stored) else { return false };
        queued.stored = true;
        while state.packets.front().is_some_and(|head| head.stored) {
            let Some(head) = state.packets.pop_front() else { break };
            state.bytes -= head.bytes;
            state.taken -= 1;
        }
        drop(state);
        self.more.notify_one();
        true
    }

    /// Bytes of the packets that are not acknowledged.
    pub fn bytes(&self) -> usize {
        self.state.lock().bytes
    }

    /// Whether all is acknowledged.
    pub fn is_empty(&self) -> bool {
        self.state.lock().packets.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    fn push(queue: &Queue, id: u64, bytes: usize) -> bool {
        queue.push(v1::Packet::default(), bytes, || id).is_ok()
    }

    /// `None` when there is none yet, or never.
    fn take(queue: &Queue, stream: u64) -> Option<u64> {
        Some(queue.take(stream).now_or_never()??.id)
    }

    #[test]
    fn a_window_at_a_time_in_order_and_again_from_the_head() {
        let queue = Queue::default();
        let stream = queue.rewind();
        let window = PEER_WINDOW as u64;
        for id in 0..2 * window {
            assert!(push(&queue, id, 10));
        }
        for id in 0..window {
            assert_eq!(take(&queue, stream), Some(id));
        }
        assert_eq!(take(&queue, stream), None);
        assert!(queue.stored(1) && !queue.stored(1), "told once");
        assert_eq!(take(&queue, stream), None, "the window begins at the head");
        let broken = stream;
        let stream = queue.rewind();
        assert_eq!(take(&queue, broken), None, "it is over");
        assert_eq!(take(&queue, stream), Some(0));
        assert_eq!(take(&queue, stream), Some(1), "all that came after it is sent again");
        assert!(queue.stored(0) && !queue.stored(0));
        assert!(!queue.stored(2 * window - 1), "not even sent");
        assert_eq!(take(&queue, stream), Some(2));
    }

    #[test]
    fn bytes_are_bounded_and_given_back() {
        let queue = Queue::default();
        let stream = queue.rewind();
        assert!(push(&queue, 1, 2 * PEER_QUEUE_BYTES), "an empty queue has room for any");
        assert!(!push(&queue, 2, 1));
        assert_eq!(take(&queue, stream), Some(1));
        assert!(queue.stored(1) && queue.is_empty());
        assert!(push(&queue, 3, PEER_QUEUE_BYTES) && !push(&queue, 4, 1));
    }
}
