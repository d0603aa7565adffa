//! Response times of the web.

use crivello_common::metrics::{Histogram, NETWORK_BUCKETS, Timer};
use crivello_common::time::Clock;

/// Timers of connections and requests.
#[derive(Debug)]
pub struct Timings {
    /// Time to make a connection, including TLS; only successful ones count.
    pub connect: Timer,
    /// Time from a request to the head of its response, including a new connection if needed.
    pub first_byte: Histogram,
    /// Duration of a request for a page, until the end of its body or its failure.
    pub request: Histogram,
    /// Duration of a request for a robots.txt, likewise.
    pub robots: Histogram,
}

impl Timings {
    /// Creates empty timers.
    pub(super) fn new(clock: Clock) -> Self {
        let network = || Histogram::new(NETWORK_BUCKETS);
        Self {
            connect: Timer::new(clock, NETWORK_BUCKETS),
            first_byte: network(),
            request: network(),
            robots: network(),
        }
    }
}
