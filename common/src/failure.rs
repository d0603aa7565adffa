//! Kinds of failed fetch attempts, used by the retry table, the reports and the metrics.

use crate::closed_set;

closed_set! {
    /// The reason why a request got no usable response.
    pub enum Failure {
        /// The name does not exist (NXDOMAIN), or has no address of a family in use.
        DnsNoSuchName = 0 => "dns-no-such-name",
        /// The name servers did not answer, or answered with an error.
        DnsUnavailable = 1 => "dns-unavailable",
        /// The connection was refused.
        ConnectRefused = 2 => "connect-refused",
        /// The connection was not established in time.
        ConnectTimeout = 3 => "connect-timeout",
        /// The network or the host is unreachable, or another error while connecting.
        Unreachable = 4 => "unreachable",
        /// The TLS handshake or the certificate failed.
        Tls = 5 => "tls",
        /// No response head arrived in time.
        FirstByteTimeout = 6 => "first-byte-timeout",
        /// The request exceeded the total timeout before any body byte was usable.
        TotalTimeout = 7 => "total-timeout",
        /// The body arrived below the minimum rate before any of it was usable.
        TooSlow = 8 => "too-slow",
        /// The connection was reset or closed before the response was complete.
        Disconnected = 9 => "disconnected",
        /// The response was not HTTP, or its head was malformed.
        BadResponse = 10 => "bad-response",
        /// The response head was larger than allowed.
        HeadTooLarge = 11 => "head-too-large",
        /// The site asks to slow down (429 or 503).
        SlowDown = 12 => "slow-down",
        /// The address connected to differs from the one that politeness was computed for.
        AddressChanged = 13 => "address-changed",
        /// The response made the parser panic.
        Unreadable = 14 => "unreadable",
    }
}
