//! Who tells: what OpenTelemetry calls a resource.

/// Who tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// The crawl's id.
    pub crawl_id: String,
    /// The agent's id; 0 for one that is alone.
    pub agent: u32,
    /// The agent's name; the crawl's id for one that is alone.
    pub name: String,
}
