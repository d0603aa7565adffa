//! The stages of the processing of a URL, each of which is one span.

crivello_common::closed_set! {
    /// The stages of the processing of a URL, in order. The numbers are part of the ids of spans;
    /// the names are those of the spans.
    pub enum Stage {
        /// A page links to it, or it is a seed.
        Found = 0 => "found",
        /// In transit to the agent that owns it.
        Sent = 1 => "sent",
        /// Checked by the sieve: new, or seen before.
        Sieved = 2 => "sieved",
        /// Queued, until its visit begins.
        Waited = 3 => "waited",
        /// Look-up of the host's name.
        Resolved = 4 => "resolved",
        /// Requested, until its body has been received.
        Fetched = 5 => "fetched",
        /// Parsed for links, and converted to archive records.
        Parsed = 6 => "parsed",
        /// Appended to the archive and committed.
        Stored = 7 => "stored",
        /// Its links assigned to their owners.
        Assigned = 8 => "assigned",
    }
}
