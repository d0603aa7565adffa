//! Tests of the record and of the directory.

use super::directory;
use super::record::MAGIC;
use super::*;
use crate::error::CoordinatorError;
use crate::members::{Death, FewHolders, MembersRecord, PublishedViews};
use crivello_common::certificate_id::CertificateId;
use crivello_common::config::{Settings, TypedSettings};
use crivello_common::runtime::replacement_path;
use crivello_common::sealed::seal;
use crivello_common::time::Timestamp;
use crivello_common::view::{AgentId, LostArchive, RunState, View};
use crivello_proto::FORMAT_VERSION;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use tempfile::tempdir;

fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.fixed.identity.contact = "you@example.com".to_owned();
    settings
}

fn open(dir: &Path) -> Result<Opened, CoordinatorError> {
    let given = TypedSettings::from([("politeness.delay".to_owned(), "\"1s\"".to_owned())]);
    CoordinatorState::open(None, (dir, dir), &settings(), given, Timestamp::from_secs(1))
}

fn record(epoch: u64) -> Record {
    let one = View::of_one(&format!("agent-{epoch}"));
    let lost_archives = vec![LostArchive { agent: AgentId(5), safe_files: 2 }];
    let mut view = View { epoch, run: RunState::Paused, lost_archives, ..one };
    view.agents[0].disk_id = u64::MAX;
    view.agents[0].certificates = vec![CertificateId([0xa7; 32])];
    Record {
        crawl_id: "c0ffee".into(),
        begun: "today".into(),
        meaning: settings().fingerprint_text(),
        signing_key: "key".into(),
        members: MembersRecord {
            next_id: 2,
            view,
            draining: [AgentId(2)].into(),
            unreplicated: [(AgentId(1), FewHolders { epoch: 7, holders: 2 })].into(),
            deaths: [(AgentId(4), Death { epoch: 3, covered: true, holders: Some(2) })].into(),
            usable: vec![PublishedViews { first: 2, last: 3, living: [AgentId(4)].into() }],
            safe_files: [(AgentId(1), 3)].into(),
        },
        page_quotas: BTreeMap::from([(AgentId(3), epoch)]),
        settings: StoredSettings {
            revision: 7,
            toml: settings().to_toml(),
            given: TypedSettings::from([("a".into(), "b".into())]),
        },
    }
}

fn read(dir: &Path) -> Result<Option<Record>, CoordinatorError> {
    directory::read(None, dir)
}

fn error(dir: &Path) -> String {
    open(dir).expect_err("the directory is refused").to_string()
}

#[test]
fn a_restart_finds_the_last_record_under_a_new_epoch_and_revision() {
    let dir = tempdir().unwrap();
    assert_eq!(stored_settings(dir.path()).unwrap(), None);
    let mut opened = open(dir.path()).unwrap();
    let key = opened.record.signing_key.clone();
    let record = |epoch| Record { signing_key: key.clone(), ..record(epoch) };
    assert!(!opened.resumed);
    assert_eq!((opened.record.members.view.epoch, opened.record.settings.revision), (1, 1));
    for epoch in 1..5 {
        opened.state.save(&record(epoch)).unwrap();
    }
    opened.identity_key.write(dir.path(), &record(4).crawl_id).unwrap();
    drop(opened);
    assert_eq!(stored_settings(dir.path()).unwrap().unwrap(), record(4).settings);
    let again = open(dir.path()).unwrap();
    assert!(again.resumed);
    let mut expected = record(4);
    expected.members.view.epoch = 5;
    expected.settings.revision = 8;
    expected.settings.given = again.record.settings.given.clone();
    assert_eq!(again.record, expected);
    assert_eq!(again.record.settings.given["politeness.delay"], "\"1s\"");
    // The record is stored before the coordinator serves requests.
    drop(again);
    assert_eq!(stored_settings(dir.path()).unwrap().unwrap().revision, 8);
}

#[test]
fn a_crash_during_a_write_leaves_the_record_before() {
    let dir = tempdir().unwrap();
    let mut opened = open(dir.path()).unwrap();
    let key = opened.record.signing_key.clone();
    let record = |epoch| Record { signing_key: key.clone(), ..record(epoch) };
    opened.state.save(&record(4)).unwrap();
    opened.identity_key.write(dir.path(), &record(4).crawl_id).unwrap();
    drop(opened);
    let path = dir.path().join(STATE_FILE);
    let next = record(5).encode().unwrap();
    for len in [0, 1, next.len() / 2, next.len()] {
        // Simulates a kill before the rename.
        fs::write(replacement_path(&path), &next[..len]).unwrap();
        assert_eq!(read(dir.path()).unwrap(), Some(record(4)));
    }
    assert_eq!(open(dir.path()).unwrap().record.members.view.epoch, 5);
}

#[test]
fn damage_is_refused_at_every_byte_and_length() {
    let dir = tempdir().unwrap();
    open(dir.path()).unwrap().state.save(&record(4)).unwrap();
    let path = dir.path().join(STATE_FILE);
    let whole = fs::read(&path).unwrap();
    let check = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        let error = error(dir.path());
        assert!(error.contains("damaged") && error.contains("nothing was changed"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), bytes, "a refused file was changed");
    };
    for at in 0..whole.len() {
        check(&whole[..at]);
        let mut bytes = whole.clone();
        bytes[at] ^= 0x80;
        check(&bytes);
    }
    check(&[&whole[..], b"x"].concat());
}

#[test]
fn a_record_of_another_version_is_refused() {
    // Its form is unknown.
    let bytes = serde_json::to_vec(&(FORMAT_VERSION + 1, "a record")).unwrap();
    let error = Record::decode(&seal(MAGIC, &bytes)).unwrap_err();
    assert!(error.contains("another version"), "{error}");
}

#[test]
fn a_record_with_values_that_do_not_exist_is_damaged() {
    let whole = serde_json::to_value((FORMAT_VERSION, record(4))).unwrap();
    let error = |at: &str, value: serde_json::Value| {
        let mut bad = whole.clone();
        *bad.pointer_mut(at).unwrap() = value;
        let bytes = serde_json::to_vec(&bad).unwrap();
        Record::decode(&seal(MAGIC, &bytes)).expect_err(at)
    };
    let agents = "/1/members/view/agents";
    for (at, value, word) in [
        ("/1/members/view/run", "Hurrying".into(), "Hurrying"),
        (&*format!("{agents}/0/slot"), 70_000.into(), "70000"),
        (&*format!("{agents}/0/weight"), 0.into(), "the view is inconsistent"),
        (&*format!("{agents}/0/certificates"), vec![vec![7; 32]; 3].into(), "certificates"),
        ("/1/members", serde_json::Value::Null, "MembersRecord"),
        ("/1/page_quotas", serde_json::json!({ "agent-1": 7 }), "key"),
    ] {
        let error = error(at, value);
        assert!(error.starts_with("damaged: ") && error.contains(word), "{at}: {error}");
    }
}

#[test]
fn a_second_coordinator_is_refused() {
    let dir = tempdir().unwrap();
    let first = open(dir.path()).unwrap();
    assert!(error(dir.path()).contains("another coordinator uses"));
    drop(first);
    open(dir.path()).unwrap();
}

#[test]
fn a_lost_state_is_not_taken_for_a_new_crawl() {
    let dir = tempdir().unwrap();
    let crawl_id = open(dir.path()).unwrap().record.crawl_id;
    fs::remove_file(dir.path().join(STATE_FILE)).unwrap();
    let missing = error(dir.path());
    assert!(missing.contains("is missing") && missing.contains(&crawl_id), "{missing}");
}

/// The keys in it would otherwise be replaced by those of a new crawl.
#[test]
fn a_directory_for_a_rebuild_is_not_taken_for_a_new_crawl() {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("coordinator.pub"), "").unwrap();
    assert!(read(dir.path()).unwrap().is_none());
    assert!(error(dir.path()).contains("crivello coordinator rebuild"));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn a_directory_of_something_else_is_refused_untouched() {
    let dir = tempdir().unwrap();
    fs::create_dir(dir.path().join("state")).unwrap();
    assert!(error(dir.path()).contains("directory of an agent"));
    fs::remove_dir(dir.path().join("state")).unwrap();
    fs::write(dir.path().join("notes"), "").unwrap();
    assert!(error(dir.path()).contains("is not empty"));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn a_failed_write_changes_nothing_and_the_next_may_succeed() {
    let dir = tempdir().unwrap();
    let mut opened = open(dir.path()).unwrap();
    opened.state.save(&record(1)).unwrap();
    let new = replacement_path(&dir.path().join(STATE_FILE));
    fs::create_dir(&new).unwrap();
    opened.state.save(&record(2)).unwrap_err();
    assert_eq!(read(dir.path()).unwrap(), Some(record(1)));
    fs::remove_dir(&new).unwrap();
    opened.state.save(&record(3)).unwrap();
    assert_eq!(read(dir.path()).unwrap(), Some(record(3)));
}

/// A record somewhere else, as etcd would have it.
#[derive(Clone, Debug, Default)]
struct Elsewhere(Arc<Mutex<Option<Record>>>);

impl RecordStore for Elsewhere {
    fn name(&self) -> String {
        "elsewhere".to_owned()
    }

    fn read(&mut self) -> Result<Option<Record>, CoordinatorError> {
        Ok(self.0.lock().clone())
    }

    fn save(&mut self, record: &Record) -> io::Result<()> {
        *self.0.lock() = Some(record.clone());
        Ok(())
    }
}

#[test]
fn a_record_in_a_file_is_taken_over_once_and_other_keys_are_refused() {
    let (dir, other, place) = (tempdir().unwrap(), tempdir().unwrap(), Elsewhere::default());
    let open_with = |dir: &Path, keys: &Path| {
        let given = TypedSettings::default();
        let now = Timestamp::from_secs(1);
        CoordinatorState::open(Some(Box::new(place.clone())), (dir, keys), &settings(), given, now)
    };
    let begun = open(dir.path()).unwrap().record;
    let opened = open_with(dir.path(), dir.path()).unwrap();
    assert!(opened.resumed);
    assert_eq!(opened.record.crawl_id, begun.crawl_id);
    assert_eq!(opened.record.members.view.epoch, begun.members.view.epoch + 1);
    drop(opened);
    assert!(!dir.path().join(STATE_FILE).exists());
    assert!(open(dir.path()).is_err(), "two coordinators with one record each");
    assert!(open_with(dir.path(), dir.path()).unwrap().resumed);
    // Another coordinator of the same crawl needs its keys.
    let missing = open_with(other.path(), other.path()).unwrap_err().to_string();
    assert!(missing.contains("identity.key"), "{missing}");
    assert!(open_with(other.path(), dir.path()).unwrap().resumed);
    fs::copy(dir.path().join("identity.key"), other.path().join("identity.key")).unwrap();
    crate::signing_key::create(other.path()).unwrap();
    let wrong = open_with(other.path(), other.path()).unwrap_err().to_string();
    assert!(wrong.contains("not the key of this crawl"), "{wrong}");
    // A record of another crawl in the file.
    let third = tempdir().unwrap();
    drop(open(third.path()).unwrap());
    let both = open_with(third.path(), dir.path()).unwrap_err().to_string();
    assert!(both.contains("have a record"), "{both}");
}
