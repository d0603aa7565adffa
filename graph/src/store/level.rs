//! The two graphs of a crawl.

/// The kind of the nodes of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Level {
    /// URLs.
    Pages,
    /// Host names, whatever the scheme and port.
    Hosts,
}

impl Level {
    /// Returns the name, with which file names begin.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pages => "pages",
            Self::Hosts => "hosts",
        }
    }
}
