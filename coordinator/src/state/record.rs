//! The record of a coordinator, and its encoding.

use crate::members::MembersRecord;
use crivello_common::config::TypedSettings;
use crivello_common::sealed::{seal, unseal};
use crivello_common::view::AgentId;
use crivello_proto::FORMAT_VERSION;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Format of the file and its version. [`FORMAT_VERSION`] is the version of the record.
pub(super) const MAGIC: &[u8] = b"crivello coordinator state 2\n";

/// The state that a coordinator must keep.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Record {
    /// 16 hexadecimal digits, random.
    pub(crate) crawl_id: String,
    /// Start time of the crawl.
    pub(crate) begun: String,
    /// [`fingerprint_text`](crivello_common::config::Settings::fingerprint_text): the settings that never change.
    pub(crate) meaning: String,
    /// Public half of the key that signs views and tickets.
    pub(crate) signing_key: String,
    /// The members, with the view in force.
    pub(crate) members: MembersRecord,
    /// Page quota of each agent, in a crawl with a page limit.
    pub(crate) page_quotas: BTreeMap<AgentId, u64>,
    /// The settings in force.
    pub(crate) settings: StoredSettings,
}

/// The settings in force, in stored form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredSettings {
    /// Revision number, incremented by every change and every start.
    pub revision: u64,
    /// All settings, as TOML.
    pub toml: String,
    /// Settings typed at the last start. Typing them again changes nothing.
    pub given: TypedSettings,
}

impl Record {
    /// Encodes the record: a JSON array of the format version and the record.
    pub(crate) fn encode(&self) -> serde_json::Result<Vec<u8>> {
        Ok(seal(MAGIC, &serde_json::to_vec(&(FORMAT_VERSION, self))?))
    }

    /// Decodes a record. The error text completes "the file is …".
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, String> {
        let damaged = |error: serde_json::Error| format!("damaged: {error}");
        // The form of a record of another version is unknown.
        let (format, record): (u32, serde_json::Value) =
            serde_json::from_slice(unseal(MAGIC, bytes)?).map_err(damaged)?;
        if format != FORMAT_VERSION {
            return Err(format!(
                "of another version: it has format {format}, this build reads {FORMAT_VERSION}"
            ));
        }
        let record: Self = serde_json::from_value(record).map_err(damaged)?;
        let checked = record.members.view.check();
        checked.map_err(|error| format!("damaged: the view is inconsistent: {error}"))?;
        Ok(record)
    }
}
