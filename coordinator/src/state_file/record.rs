//! The record of a coordinator, and its encoding.

use crate::members::{Death, FewHolders, MembersRecord, PublishedViews};
use crivello_common::config::TypedSettings;
use crivello_common::sealed::{seal, unseal};
use crivello_common::view::{AgentId, View};
use crivello_proto::{FORMAT_VERSION, v1};
use prost::Message;
use std::collections::BTreeMap;

/// Format of the file and its version. [`FORMAT_VERSION`] is the version of the record.
pub(super) const MAGIC: &[u8] = b"crivello coordinator state 1\n";

/// The state that a coordinator must keep.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    /// 16 hexadecimal digits, random.
    pub(crate) crawl_id: String,
    /// Start time of the crawl.
    pub(crate) begun: String,
    /// [`fingerprint_text`](crivello_common::config::Settings::fingerprint_text): the settings that never change.
    pub(crate) meaning: String,
    /// The members, with the view in force.
    pub(crate) members: MembersRecord,
    /// Page quota of each agent, in a crawl with a page limit.
    pub(crate) page_quotas: BTreeMap<AgentId, u64>,
    /// The settings in force.
    pub(crate) settings: StoredSettings,
}

/// The settings in force, in stored form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredSettings {
    /// Revision number, incremented by every change and every start.
    pub revision: u64,
    /// All settings, as TOML.
    pub toml: String,
    /// Settings typed at the last start. Typing them again changes nothing.
    pub given: TypedSettings,
}

/// The record on disk.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Stored {
    #[prost(uint32, tag = "1")]
    pub(super) format: u32,
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
    page_quotas: BTreeMap<u32, u64>,
    #[prost(uint32, repeated, tag = "8")]
    draining: Vec<u32>,
    #[prost(uint64, tag = "10")]
    settings_revision: u64,
    #[prost(string, tag = "11")]
    settings: String,
    #[prost(btree_map = "string, string", tag = "12")]
    given: BTreeMap<String, String>,
    #[prost(message, repeated, tag = "13")]
    deaths: Vec<StoredDeath>,
    #[prost(message, repeated, tag = "14")]
    usable: Vec<StoredViews>,
    #[prost(message, repeated, tag = "15")]
    unreplicated: Vec<StoredFewHolders>,
}

/// Stored form of a [`Death`].
#[derive(Clone, PartialEq, Message)]
struct StoredDeath {
    #[prost(uint32, tag = "1")]
    agent: u32,
    #[prost(uint64, tag = "2")]
    epoch: u64,
    #[prost(bool, tag = "3")]
    covered: bool,
    #[prost(uint32, tag = "4")]
    holders: u32,
}

/// Stored form of a member with [`FewHolders`].
#[derive(Clone, PartialEq, Message)]
struct StoredFewHolders {
    #[prost(uint32, tag = "1")]
    agent: u32,
    #[prost(uint64, tag = "2")]
    epoch: u64,
    #[prost(uint32, tag = "3")]
    holders: u32,
}

/// Stored form of [`PublishedViews`].
#[derive(Clone, PartialEq, Message)]
struct StoredViews {
    #[prost(uint64, tag = "1")]
    first: u64,
    #[prost(uint64, tag = "2")]
    last: u64,
    #[prost(uint32, repeated, tag = "3")]
    living: Vec<u32>,
}

impl From<&Record> for Stored {
    fn from(record: &Record) -> Self {
        let settings = record.settings.clone();
        let members = &record.members;
        let death = |(id, death): (&AgentId, &Death)| StoredDeath {
            agent: id.0,
            epoch: death.epoch,
            covered: death.covered,
            holders: death.holders.unwrap_or_default() as u32,
        };
        let few = |(id, few): (&AgentId, &FewHolders)| StoredFewHolders {
            agent: id.0,
            epoch: few.epoch,
            holders: few.holders as u32,
        };
        let views = |views: &PublishedViews| StoredViews {
            first: views.first,
            last: views.last,
            living: views.living.iter().map(|id| id.0).collect(),
        };
        Self {
            format: FORMAT_VERSION,
            crawl_id: record.crawl_id.clone(),
            begun: record.begun.clone(),
            meaning: record.meaning.clone(),
            next_id: members.next_id,
            view: Some((&members.view).into()),
            page_quotas: record.page_quotas.iter().map(|(id, &pages)| (id.0, pages)).collect(),
            draining: members.draining.iter().map(|id| id.0).collect(),
            unreplicated: members.unreplicated.iter().map(few).collect(),
            settings_revision: settings.revision,
            settings: settings.toml,
            given: settings.given,
            deaths: members.deaths.iter().map(death).collect(),
            usable: members.usable.iter().map(views).collect(),
        }
    }
}

impl Record {
    pub(super) fn encode(&self) -> Vec<u8> {
        seal(MAGIC, &Stored::from(self).encode_to_vec())
    }

    /// Decodes a record. The error text completes "the file is …".
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, String> {
        let damaged = |what: &str| format!("damaged: {what}");
        let stored =
            Stored::decode(unseal(MAGIC, bytes)?).map_err(|error| damaged(&error.to_string()))?;
        if stored.format != FORMAT_VERSION {
            let format = stored.format;
            return Err(format!(
                "of another version: it has format {format}, this build reads {FORMAT_VERSION}"
            ));
        }
        let view = View::try_from(stored.view.unwrap_or_default());
        let view = view.map_err(|error| damaged(&error.to_string()))?;
        let quotas = stored.page_quotas.into_iter();
        let deaths =
            stored.deaths.into_iter().map(|StoredDeath { agent, epoch, covered, holders }| {
                let holders = Some(holders as usize).filter(|&holders| holders > 0);
                (AgentId(agent), Death { epoch, covered, holders })
            });
        let usable = stored.usable.into_iter().map(|StoredViews { first, last, living }| {
            let living = living.into_iter().map(AgentId).collect();
            PublishedViews { first, last, living }
        });
        let few = |few: StoredFewHolders| {
            let StoredFewHolders { agent, epoch, holders } = few;
            (AgentId(agent), FewHolders { epoch, holders: holders as usize })
        };
        let unreplicated = stored.unreplicated.into_iter().map(few);
        Ok(Self {
            crawl_id: stored.crawl_id,
            begun: stored.begun,
            meaning: stored.meaning,
            members: MembersRecord {
                view,
                next_id: stored.next_id,
                draining: stored.draining.into_iter().map(AgentId).collect(),
                unreplicated: unreplicated.collect(),
                deaths: deaths.collect(),
                usable: usable.collect(),
            },
            page_quotas: quotas.map(|(id, pages)| (AgentId(id), pages)).collect(),
            settings: StoredSettings {
                revision: stored.settings_revision,
                toml: stored.settings,
                given: stored.given,
            },
        })
    }
}
