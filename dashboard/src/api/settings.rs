//! The settings: `GET /api/settings`, `POST /api/settings`, `POST /api/block`, and the effect of
//! blocks so far: `GET /api/blocks`.

use super::{Answered, Refusal, body, gather};
use crate::state::State;
use axum::Json;
use axum::body::Bytes;
use axum::extract::State as Shared;
use crivello_common::config::{SettingInfo, Settings};
use crivello_proto::agents::{Client, ask_all};
use crivello_proto::v1::{self, setting_edit::Change};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Key of the list of blocked hosts.
const BLOCKED: &str = "links.blocked";
/// Maximum number of edits per request.
const EDITS_MAX: usize = 100;

/// Returns all settings in force with their meaning.
pub(crate) async fn settings(Shared(state): Shared<State>) -> Answered {
    let answer = state.coordinator.clone().get_settings(v1::GetSettingsRequest {}).await?;
    Ok(Json(rows(&answer.into_inner())?))
}

fn rows(settings: &v1::CrawlSettings) -> Result<Value, Refusal> {
    let v1::CrawlSettings { revision, toml } = settings;
    let settings = Settings::from_toml("the settings in force", toml)
        .map_err(|error| tonic::Status::internal(error.to_string()))?;
    let row = |one: SettingInfo| {
        json!({
            "key": one.key,
            "section": one.section,
            "value": one.value,
            "default": one.default,
            "meaning": one.description,
            "unit": one.unit,
            "write": one.kind,
            "permanent": one.permanent,
            "live": one.live,
        })
    };
    let rows: Vec<Value> = settings.describe().into_iter().map(row).collect();
    Ok(json!({ "revision": revision, "settings": rows }))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Edits {
    edits: Vec<Edit>,
    /// If present, the edits apply only if this revision is in force.
    revision: Option<u64>,
}

/// A change of one setting: exactly one of `value`, `add`, `remove`, `unset`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    key: String,
    value: Option<String>,
    add: Option<String>,
    remove: Option<String>,
    #[serde(default)]
    unset: bool,
}

impl TryFrom<Edit> for v1::SettingEdit {
    type Error = Refusal;

    fn try_from(edit: Edit) -> Result<Self, Refusal> {
        let Edit { key, value, add, remove, unset } = edit;
        let mut changes = [
            value.map(Change::Value),
            add.map(Change::Add),
            remove.map(Change::Remove),
            unset.then_some(Change::Unset(v1::Unset {})),
        ]
        .into_iter()
        .flatten();
        match (changes.next(), changes.next()) {
            (Some(change), None) => Ok(Self { key, change: Some(change) }),
            _ => Err(Refusal::bad(format!(
                "{key}: exactly one of value, add, remove and unset is required"
            ))),
        }
    }
}

/// Changes settings: all edits or none.
pub(crate) async fn edit(Shared(state): Shared<State>, bytes: Bytes) -> Answered {
    let Edits { edits, revision } = body(&bytes)?;
    if edits.is_empty() || edits.len() > EDITS_MAX {
        return Err(Refusal::bad(format!("send 1 to {EDITS_MAX} edits")));
    }
    let edits: Result<Vec<v1::SettingEdit>, Refusal> =
        edits.into_iter().map(v1::SettingEdit::try_from).collect();
    put(&state, edits?, revision.unwrap_or(0)).await
}

async fn put(state: &State, edits: Vec<v1::SettingEdit>, known_revision: u64) -> Answered {
    let request = v1::EditSettingsRequest { edits, known_revision };
    let answer = state.coordinator.clone().edit_settings(request).await?.into_inner();
    let revision = answer.settings.map(|settings| settings.revision);
    let done = match answer.at_restart.is_empty() {
        true => "changed".to_owned(),
        false => {
            let keys = answer.at_restart.join(", ");
            format!("changed; {keys} take effect when the agents start again")
        }
    };
    Ok(Json(json!({ "done": done, "revision": revision, "at_restart": answer.at_restart })))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Block {
    /// A host, a domain or a network, as in `links.blocked`.
    what: String,
    blocked: bool,
}

/// Blocks or unblocks a host, a domain or a network.
pub(crate) async fn block(Shared(state): Shared<State>, bytes: Bytes) -> Answered {
    let Block { what, blocked } = body(&bytes)?;
    let what = what.trim().to_owned();
    if what.is_empty() {
        return Err(Refusal::bad("what: write a host, a domain or a network"));
    }
    let change = if blocked { Change::Add(what) } else { Change::Remove(what) };
    put(&state, vec![v1::SettingEdit { key: BLOCKED.to_owned(), change: Some(change) }], 0).await
}

/// Returns the effect of each block, over all agents.
pub(crate) async fn blocks(Shared(state): Shared<State>) -> Answered {
    let snapshot = state.now();
    let all = ask_all(&state.agents, &snapshot.view, |agents, agent| async move {
        let ask = async |mut client: Client| client.blocks(v1::BlocksRequest {}).await;
        agents.ask(&agent, ask).await
    });
    let (answers, reach) = gather(all.await);
    let mut sums: BTreeMap<String, (bool, u64, u64)> = BTreeMap::new();
    for block in answers.iter().flat_map(|(_, answer)| &answer.blocks) {
        let (done, hosts, urls) = sums.entry(block.entry.clone()).or_insert((true, 0, 0));
        *done &= block.done;
        *hosts = hosts.saturating_add(block.hosts);
        *urls = urls.saturating_add(block.urls);
    }
    let row = |(what, (done, hosts, urls)): (String, (bool, u64, u64))| json!({ "what": what, "done": done, "hosts": hosts, "urls": urls });
    reach.respond([("blocks", sums.into_iter().map(row).collect())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_settings_are_told_with_their_meaning() {
        let mut settings = Settings::default();
        settings.fixed.identity.contact = "me@a.example".to_owned();
        settings.fixed.fetch.visits_max = 7;
        let settings_in_force = v1::CrawlSettings { revision: 3, toml: settings.to_toml() };
        let json = rows(&settings_in_force).expect("valid data");
        assert_eq!(json["revision"], 3);
        let all = json["settings"].as_array().expect("a list");
        let one =
            all.iter().find(|row| row["key"] == "fetch.visits-max").expect("the entry exists");
        assert_eq!((&one["value"], &one["default"]), (&"7".into(), &"1000".into()));
        assert_eq!(one["meaning"], "Maximum number of visits in flight.");
        let fixed =
            all.iter().find(|row| row["key"] == "cluster.strategy").expect("the entry exists");
        assert_eq!(fixed["permanent"], true);
        assert!(rows(&v1::CrawlSettings { revision: 1, toml: "odd".into() }).is_err());
    }

    #[test]
    fn a_change_is_one_thing() {
        let parse = |text: &str| body::<Edit>(text.as_bytes()).and_then(v1::SettingEdit::try_from);
        let one = parse(r#"{"key": "a.b", "value": "5s"}"#).expect("one");
        assert_eq!(one.change, Some(Change::Value("5s".into())));
        let unset = parse(r#"{"key": "a.b", "unset": true}"#).expect("one");
        assert_eq!(unset.change, Some(Change::Unset(v1::Unset {})));
        for bad in [
            r#"{"key": "a.b"}"#,
            r#"{"key": "a.b", "value": "1", "unset": true}"#,
            r#"{"key": "a.b", "vlaue": "1"}"#,
            r#"{"value": "1"}"#,
            "[]",
            "",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
