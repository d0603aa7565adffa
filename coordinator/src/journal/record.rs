//! What a record of the journal holds: everything.

use crivello_common::view::{AgentId, View};
use crivello_proto::{FORMAT_VERSION, v1};
use prost::Message;
use std::collections::{BTreeMap, BTreeSet};

/// What makes a crawl that crawl.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crawl {
    /// Drawn when it is begun: 16 hexadecimal digits.
    pub id: String,
    /// When it was begun.
    pub begun: String,
    /// [`Settings::fingerprint_text`](crivello_common::config::Settings::fingerprint_text): what must stay as it
    /// was.
    pub meaning: String,
}

/// The state of a coordinator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The crawl.
    pub crawl: Crawl,
    /// The first id never given out.
    pub next_id: u32,
    /// The view in force.
    pub view: View,
    /// Of a crawl with a limit of pages: how many each agent may fetch.
    pub allowed: BTreeMap<AgentId, u64>,
    /// Those that are to be drained, the dead among them too.
    pub drains: BTreeSet<AgentId>,
    /// Those that may have what nobody else has.
    pub lone: BTreeSet<AgentId>,
}

/// As on disk.
#[derive(Clone, PartialEq, Message)]
struct Stored {
    #[prost(uint32, tag = "1")]
    format: u32,
    #[prost(string, tag = "2")]
    crawl_id: String,
    #[prost(string, tag = "3")]
    begun: String,
    #[prost(string, tag = "4")]
    meaning: String,
    #[prost(uint32, tag = "5")]
    next_id: u32,
    #[prost(message, tag = "6")]
    view: Option<v1::View>,
    #[prost(btree_map = "uint32, uint64", tag = "7")]
    allowed: BTreeMap<u32, u64>,
    #[prost(uint32, repeated, tag = "8")]
    drains: Vec<u32>,
    #[prost(uint32, repeated, tag = "9")]
    lone: Vec<u32>,
}

impl Record {
    pub(super) fn bytes(&self) -> Vec<u8> {
        let Crawl { id, begun, meaning } = self.crawl.clone();
        let view = Some(v1::View::from(&self.view));
        let (format, next_id) = (FORMAT_VERSION, self.next_id);
        let allowed = self.allowed.iter().map(|(id, &pages)| (id.0, pages)).collect();
        let numbers = |agents: &BTreeSet<AgentId>| agents.iter().map(|id| id.0).collect();
        let (drains, lone) = (numbers(&self.drains), numbers(&self.lone));
        Stored { format, crawl_id: id, begun, meaning, next_id, view, allowed, drains, lone }
            .encode_to_vec()
    }

    /// `Err` says how it is damaged.
    pub(super) fn read(payload: &[u8]) -> Result<Self, String> {
        let stored = Stored::decode(payload).map_err(|e| format!("in its last record: {e}"))?;
        if stored.format != FORMAT_VERSION {
            let format = stored.format;
            return Err(format!(
                "or of another version: it has format {format}, this build reads {FORMAT_VERSION}"
            ));
        }
        let view = stored.view.unwrap_or_default();
        let view = View::try_from(view).map_err(|e| format!("in its last record: {e}"))?;
        let Stored { crawl_id: id, begun, meaning, next_id, allowed, drains, lone, .. } = stored;
        let agents = |numbers: Vec<u32>| numbers.into_iter().map(AgentId).collect();
        let (drains, lone) = (agents(drains), agents(lone));
        let allowed = allowed.into_iter().map(|(id, pages)| (AgentId(id), pages)).collect();
        Ok(Self { crawl: Crawl { id, begun, meaning }, next_id, view, allowed, drains, lone })
    }
}
