//! The stages of the processing of a URL, each of which is one span.

/// The stages of the processing of a URL, in order. The numbers are part of the ids of spans.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Stage {
    /// A page links to it, or it is a seed.
    Found = 0,
    /// In transit to the agent that owns it.
    Sent = 1,
    /// Checked by the sieve: new, or seen before.
    Sieved = 2,
    /// Queued, until its visit begins.
    Waited = 3,
    /// Look-up of the host's name.
    Resolved = 4,
    /// Requested, until its body has been received.
    Fetched = 5,
    /// Parsed for links, and converted to archive records.
    Parsed = 6,
    /// Appended to the archive and committed.
    Stored = 7,
    /// Its links assigned to their owners.
    Assigned = 8,
}

impl Stage {
    /// All stages, in order.
    pub const ALL: [Self; 9] = [
        Self::Found,
        Self::Sent,
        Self::Sieved,
        Self::Waited,
        Self::Resolved,
        Self::Fetched,
        Self::Parsed,
        Self::Stored,
        Self::Assigned,
    ];

    /// Returns the name of spans of this stage.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Found => "found",
            Self::Sent => "sent",
            Self::Sieved => "sieved",
            Self::Waited => "waited",
            Self::Resolved => "resolved",
            Self::Fetched => "fetched",
            Self::Parsed => "parsed",
            Self::Stored => "stored",
            Self::Assigned => "assigned",
        }
    }
}
