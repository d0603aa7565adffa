//! How long the web takes to answer.

use crivello_common::metrics::{Histogram, NETWORK_BUCKETS, Timer};
use crivello_common::time::Clock;

/// See the module.
#[derive(Debug)]
pub struct Times {
    /// Making a connection, TLS with it. Those that were made.
    pub connect: Timer,
    /// From a request to the head of its response, a connection with it where there was none.
    pub first_byte: Histogram,
    /// A request for a page, to the end of its body or to its failure.
    pub request: Histogram,
    /// The same for a robots.txt.
    pub robots: Histogram,
}

impl Times {
    /// Nothing yet.
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
