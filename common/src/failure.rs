//! How an attempt to fetch can fail, as a small closed set: the rows of the retry table, of the
//! report and of the metrics.

use crate::closed_set::closed_set;

closed_set! {
    /// Why a request brought no usable response.
    pub enum Failure {
        /// The name does not exist (NXDOMAIN, or no address of a family we use).
        DnsNoSuchName = 0 => "dns-no-such-name",
        /// The name servers did not answer, or answered with an error.
        DnsUnavailable = 1 => "dns-unavailable",
        /// The connection was refused.
        ConnectRefused = 2 => "connect-refused",
        /// The connection could not be made in time.
        ConnectTimeout = 3 => "connect-timeout",
        /// The network or the host is unreachable, or another error while connecting.
        Unreachable = 4 => "unreachable",
        /// The TLS handshake or the certificate failed.
        Tls = 5 => "tls",
        /// No response head came in time.
        FirstByteTimeout = 6 => "first-byte-timeout",
        /// The whole took longer than allowed before any body byte was usable.
        TotalTimeout = 7 => "total-timeout",
        /// The body came slower than the minimum rate before any of it was usable.
        TooSlow = 8 => "too-slow",
        /// The connection was reset or closed before the response was complete.
        Disconnected = 9 => "disconnected",
        /// What came was not HTTP, or its head was malformed.
        BadResponse = 10 => "bad-response",
        /// The response head was larger than allowed.
        HeadTooLarge = 11 => "head-too-large",
        /// The site asks to slow down (429 or 503).
        SlowDown = 12 => "slow-down",
        /// The address connected to was not the one politeness was counted on.
        AddressChanged = 13 => "address-changed",
        /// What came made our own parser panic.
        Unreadable = 14 => "unreadable",
    }
}
