//! A new record for a coordinator whose directory is lost, from the copies of the view that the
//! agents keep.
//!
//! The newest copy counts. Each must be signed by the lost coordinator, whose public key is in the
//! directory of each agent: a captured agent can withhold its copy, not forge one. Settings are not
//! signed, so those of a file, which a person took from a directory, precede those that an agent sent.
//!
//! The epoch is raised by so much that no view of the lost coordinator can have a later one. Missing
//! data are assumed unfavorable: each agent may still use any of the views in the copies, and may be
//! the only one that has its data, until it reports otherwise.

use crate::error::CoordinatorError;
use crate::members::{Death, FewHolders, MembersRecord, PublishedViews};
use crate::state::{CoordinatorState, Record, StoredSettings};
use crivello_common::config::{Settings, TypedSettings};
use crivello_common::time::Timestamp;
use crivello_common::view::{AgentId, AgentState, View};
use crivello_proto::signing::{CoordinatorKey, ViewBook};
use crivello_proto::v1::ClusterView;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Increase of the epoch: more views than a crawl ever publishes while an agent is not reached.
const EPOCHS: u64 = 1 << 32;
/// Increase of the settings revision.
const REVISIONS: u64 = 1 << 32;
/// Epochs and revisions from which on a copy is rejected.
const COUNTS_MAX: u64 = 1 << 62;
/// Increase of the next id: more agents than were added since any of the copies.
const IDS: u32 = 1 << 16;

/// Copy of the view and of the settings, from an agent.
#[derive(Clone, Debug)]
pub struct ViewCopy {
    /// File or address that it comes from.
    pub source: String,
    /// True if it comes from a file.
    pub is_file: bool,
    /// The copy.
    pub content: ClusterView,
}

/// A record that was made anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rebuilt {
    /// Id of the crawl.
    pub crawl_id: String,
    /// The view of the new record.
    pub view: View,
    /// Epoch of the newest copy.
    pub newest: u64,
    /// File or address that the settings come from.
    pub settings_from: String,
    /// Public half of the new signing key, which each agent must accept.
    pub signing_key: CoordinatorKey,
}

/// Makes a record in `dir` from the copies of agents of one crawl, and a new signing key. `signed_by`
/// is the key of the lost coordinator. The identity key of the crawl must be in `dir`, or in one of the
/// directories `key_from`: it is never drawn anew.
///
/// # Errors
/// [`CoordinatorError::Refused`] if `dir` is in use, or if the copies are none, invalid, not signed by
/// that key, or of several crawls; [`CoordinatorError::Broken`] if there is no key or the disk fails.
pub fn rebuild(
    dir: &Path,
    copies: &[ViewCopy],
    signed_by: CoordinatorKey,
    key_from: &[PathBuf],
    now: Timestamp,
) -> Result<Rebuilt, CoordinatorError> {
    let refused = |why: String| CoordinatorError::Refused(why);
    let mut views = Vec::new();
    for copy in copies {
        let ViewCopy { source, content, .. } = copy;
        let book = ViewBook::default();
        book.pin(signed_by, &content.crawl_id);
        let view = book.accept(content.view.clone().unwrap_or_default()).map_err(|error| {
            refused(format!(
                "the copy of {source}: {error}. It must be signed by the key {signed_by}; leave it out"
            ))
        })?;
        views.push((View::clone(&view), copy));
    }
    let newest = views.iter().max_by_key(|(view, _)| view.epoch);
    let (newest, copy) =
        newest.ok_or_else(|| refused("no copy of the view is given".to_owned()))?;
    let crawl_id = &copy.content.crawl_id;
    if let Some((_, other)) = views.iter().find(|(_, c)| c.content.crawl_id != *crawl_id) {
        let (a, b) = (crawl_id, &other.content.crawl_id);
        return Err(refused(format!("the copies are of two crawls, {a} and {b}")));
    }
    let counts = views.iter().map(|(view, copy)| view.epoch.max(copy.content.settings_revision));
    if counts.max().is_some_and(|count| count >= COUNTS_MAX) {
        return Err(refused("a copy has an epoch or a revision that no crawl reaches".to_owned()));
    }
    let by_trust = |copy: &&ViewCopy| (copy.is_file, copy.content.settings_revision);
    let latest = views.iter().map(|&(_, copy)| copy).max_by_key(by_trust).unwrap_or(copy);
    let (toml, revision) = (&latest.content.settings, latest.content.settings_revision);
    let settings = Settings::from_toml(&format!("the settings of {}", latest.source), toml)
        .map_err(|errors| refused(errors.to_string()))?;
    let record = Record {
        crawl_id: crawl_id.clone(),
        begun: now.to_string(),
        meaning: settings.fingerprint_text(),
        members: members(newest, views.iter().map(|(view, _)| view)),
        settings: StoredSettings {
            revision: revision + REVISIONS,
            toml: toml.clone(),
            given: TypedSettings::new(),
        },
        ..Record::default()
    };
    let signing_key = CoordinatorState::create(dir, &record, key_from)?.public();
    let view = record.members.view;
    Ok(Rebuilt {
        crawl_id: record.crawl_id,
        view,
        newest: newest.epoch,
        settings_from: latest.source.clone(),
        signing_key,
    })
}

fn members<'a>(newest: &View, copies: impl Iterator<Item = &'a View>) -> MembersRecord {
    let mut view = newest.clone();
    view.epoch += EPOCHS;
    let ids = |view: &View| -> Vec<AgentId> {
        let agents = view.agents.iter().map(|agent| agent.id);
        agents.chain(view.lost_archives.iter().map(|lost| lost.agent)).collect()
    };
    let mut usable = Vec::new();
    let mut id_max = 0;
    for copy in copies {
        let living: BTreeSet<AgentId> = copy.living().map(|agent| agent.id).collect();
        // Agents may also use later views, up to the last one of the lost coordinator.
        let views = PublishedViews { first: copy.epoch, last: view.epoch - 1, living };
        if !usable.iter().any(|known: &PublishedViews| known.living == views.living) {
            usable.push(views);
        }
        id_max = ids(copy).into_iter().map(|id| id.0).fold(id_max, u32::max);
    }
    usable.sort_by_key(|views| views.first);
    let in_state = |state| view.agents.iter().filter(move |agent| agent.state == state);
    let dead = in_state(AgentState::Dead);
    let death = Death { epoch: view.epoch, covered: false, holders: None };
    let alone = FewHolders { epoch: view.epoch, holders: 1 };
    MembersRecord {
        next_id: id_max.saturating_add(IDS),
        draining: in_state(AgentState::Draining).map(|agent| agent.id).collect(),
        unreplicated: view.living().map(|agent| (agent.id, alone)).collect(),
        deaths: dead.map(|agent| (agent.id, death)).collect(),
        usable,
        // The agents report again how much is safe.
        safe_files: BTreeMap::new(),
        view,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stored_settings;
    use crivello_common::identity::IdentityKey;
    use crivello_common::view::{Agent, LostArchive};
    use crivello_proto::signing::{SigningKey, ViewSigner};
    use tempfile::tempdir;

    fn copy(key: &SigningKey, crawl_id: &str, epoch: u64, revision: u64) -> ViewCopy {
        let agent = |id: u32, state| Agent {
            id: AgentId(id),
            name: format!("agent-{id}"),
            address: format!("a:{id}"),
            slot: id as u16,
            weight: 1,
            state,
            joined_epoch: 1,
            disk_id: u64::from(id),
            unreplicated: false,
            certificates: Vec::new(),
        };
        let agents = vec![agent(1, AgentState::Active), agent(3, AgentState::Dead)];
        let view = View {
            epoch,
            agents,
            lost_archives: vec![LostArchive { agent: AgentId(9), safe_files: 0 }],
            ..View::default()
        };
        let mut settings = Settings::default();
        settings.fixed.identity.contact = "you@example.com".to_owned();
        let key = SigningKey::from_seed(key.seed()).unwrap();
        let content = ClusterView {
            crawl_id: crawl_id.to_owned(),
            view: Some(ViewSigner::new(key, crawl_id.to_owned()).message(&view)),
            settings: settings.to_toml(),
            settings_revision: revision,
        };
        ViewCopy { source: format!("agent-{epoch}"), is_file: false, content }
    }

    #[test]
    fn a_record_is_made_from_the_newest_copy() {
        let (dir, agent) = (tempdir().unwrap(), tempdir().unwrap());
        let now = Timestamp::from_secs(1);
        let lost = SigningKey::draw().unwrap();
        let copies = || vec![copy(&lost, "c", 5, 2), copy(&lost, "c", 7, 1)];
        let rebuild = || rebuild(dir.path(), &copies(), lost.public(), &[agent.path().into()], now);
        let error = rebuild().unwrap_err();
        assert!(error.to_string().contains("copy the file from"), "{error}");
        let key = IdentityKey::draw().unwrap();
        key.write(agent.path(), "c").unwrap();
        let made = rebuild().unwrap();
        assert_eq!(made.settings_from, "agent-5");
        assert!(IdentityKey::read(dir.path(), "c").unwrap() == key, "another key");
        assert_eq!((made.crawl_id.as_str(), made.newest), ("c", 7));
        assert!(made.view.epoch > 7 + (1 << 30));
        let stored = stored_settings(dir.path()).unwrap().unwrap();
        assert_eq!(stored.revision, 2 + REVISIONS);
        let mut settings = Settings::from_toml("stored", &stored.toml).unwrap();
        let open = |settings: &Settings| {
            let dirs = (dir.path(), dir.path());
            CoordinatorState::open(None, dirs, settings, TypedSettings::new(), now)
        };
        let opened = open(&settings).unwrap().record;
        assert_eq!(opened.crawl_id, "c");
        assert_eq!(opened.members.next_id, 9 + IDS, "a removed agent's id may be given again");
        assert!(opened.members.unreplicated.contains_key(&AgentId(1)));
        assert_eq!(opened.members.deaths.len(), 1);
        // The settings that never change are those of the crawl.
        settings.fixed.cluster.replication += 1;
        assert!(open(&settings).is_err());
    }

    #[test]
    fn a_record_is_never_overwritten_and_two_crawls_are_not_mixed() {
        let dir = tempdir().unwrap();
        IdentityKey::draw().unwrap().write(dir.path(), "c").unwrap();
        let now = Timestamp::from_secs(1);
        let [lost, forger] = [(); 2].map(|()| SigningKey::draw().unwrap());
        let rebuild = |copies: Vec<_>| rebuild(dir.path(), &copies, lost.public(), &[], now);
        let error = |copies: Vec<_>| rebuild(copies).unwrap_err().to_string();
        let forged = copy(&forger, "c", 6, 1);
        let copy = |crawl_id, epoch, revision| copy(&lost, crawl_id, epoch, revision);
        assert!(error(Vec::new()).contains("no copy"));
        assert!(error(vec![copy("c", 5, 1), copy("d", 6, 1)]).contains("two crawls"));
        assert!(error(vec![copy("c", 5, 1), copy("c", 1 << 62, 1)]).contains("no crawl reaches"));
        assert!(error(vec![copy("c", 5, u64::MAX)]).contains("no crawl reaches"));
        let mut changed = copy("c", 6, 1);
        changed.content.view.as_mut().unwrap().agents[0].name = "mallory".to_owned();
        for other in [changed, forged] {
            let error = error(vec![copy("c", 5, 1), other]);
            assert!(error.contains("agent-6") && error.contains("must be signed by"), "{error}");
        }
        // The settings of an agent that may be captured do not precede those of a file.
        let file = ViewCopy { is_file: true, source: "cluster.view".to_owned(), ..copy("c", 5, 1) };
        let made = rebuild(vec![copy("c", 6, 9), file]).unwrap();
        assert_eq!((made.newest, made.settings_from.as_str()), (6, "cluster.view"));
        assert!(error(vec![copy("c", 5, 1)]).contains("already has a record"));
    }
}
