//! Column families of the database, and their names.

/// Column family.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[expect(missing_docs, reason = "see the table in the doc of `storage`")]
pub enum Family {
    Seen,
    Frontier,
    Hosts,
    Robots,
    Schedule,
    Due,
    Groups,
    Content,
    Known,
    Near,
    Outbox,
    Meta,
}

impl Family {
    pub(super) const ALL: [Self; 12] = [
        Self::Seen,
        Self::Frontier,
        Self::Hosts,
        Self::Robots,
        Self::Schedule,
        Self::Due,
        Self::Groups,
        Self::Content,
        Self::Known,
        Self::Near,
        Self::Outbox,
        Self::Meta,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Seen => "seen",
            Self::Frontier => "frontier",
            Self::Hosts => "hosts",
            Self::Robots => "robots",
            Self::Schedule => "schedule",
            Self::Due => "due",
            Self::Groups => "groups",
            Self::Content => "content",
            Self::Known => "known",
            Self::Near => "near",
            Self::Outbox => "outbox",
            Self::Meta => "meta",
        }
    }
}
