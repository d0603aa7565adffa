//! Settings changed while the coordinator serves.

use crate::kit::{Client, Doors, LONG, client, endpoint, settings, start};
use crivello_common::config::Settings;
use crivello_coordinator::{Coordinator, Listen, stored_settings};
use crivello_proto::auth::NodeAuth;
use crivello_proto::v1::{self, setting_edit::Change};
use std::collections::BTreeMap;
use std::time::Duration;
use tempfile::tempdir;
use tonic::{Code, Status};

fn set(key: &str, value: &str) -> v1::SettingEdit {
    v1::SettingEdit { key: key.to_owned(), change: Some(Change::Value(value.to_owned())) }
}

async fn edit(
    client: &mut Client,
    edits: Vec<v1::SettingEdit>,
    known_revision: u64,
) -> Result<v1::EditSettingsResponse, Status> {
    let request = v1::EditSettingsRequest { edits, known_revision };
    client.edit_settings(request).await.map(tonic::Response::into_inner)
}

fn read(settings: &v1::CrawlSettings) -> Settings {
    Settings::from_toml("settings", &settings.toml).expect("a valid message")
}

#[tokio::test]
async fn an_edit_is_watched_given_to_those_who_join_and_kept_over_a_restart() {
    let (dir, doors) = (tempdir().unwrap(), Doors::open().await);
    let coordinator = start(dir.path(), LONG).await;
    let mut client = client(&coordinator).await;
    let get = v1::GetSettingsRequest {};
    let first = client.get_settings(get).await.unwrap().into_inner();
    assert_eq!(read(&first), settings(LONG));
    let watch = v1::WatchSettingsRequest { known_revision: first.revision };
    let mut watched = client.watch_settings(watch).await.unwrap().into_inner();
    let edits = vec![set("politeness.delay", "3s"), set("fetch.visits-max", "9")];
    let edited = edit(&mut client, edits, first.revision).await.unwrap();
    let in_force = edited.settings.unwrap();
    assert_eq!(edited.at_restart, ["fetch.visits-max"]);
    assert!(in_force.revision > first.revision);
    let received = watched.message().await.unwrap().unwrap();
    assert_eq!(received, in_force);
    let joined = client.join(doors.join(1, "a")).await.unwrap().into_inner();
    assert_eq!((joined.settings, joined.settings_revision), (received.toml, received.revision));
    coordinator.stop().await.unwrap();
    assert_eq!(watched.message().await.unwrap(), None, "the stream ends with the coordinator");

    let kept = stored_settings(dir.path()).unwrap().expect("a crawl");
    let kept = Settings::from_toml("kept", &kept.toml).unwrap();
    assert_eq!(
        (kept.live.politeness.delay, kept.fixed.fetch.visits_max),
        (Duration::from_secs(3), 9)
    );
    let listen = Listen { at: ([127, 0, 0, 1], 0).into(), auth: NodeAuth::default(), token: None };
    let given = BTreeMap::from([("politeness.delay".to_owned(), "\"10s\"".to_owned())]);
    let again = Coordinator::start(dir.path(), &kept, given.clone(), listen).await.unwrap();
    let mut client = crate::kit::client(&again).await;
    let later = client.get_settings(get).await.unwrap().into_inner();
    assert!(later.revision > in_force.revision && read(&later) == kept);
    assert_eq!(stored_settings(dir.path()).unwrap().expect("a crawl").given, given);
    again.stop().await.unwrap();
}

#[tokio::test]
async fn what_cannot_be_changed_is_refused_and_nothing_with_it() {
    let dir = tempdir().unwrap();
    let coordinator = start(dir.path(), LONG).await;
    let mut client = client(&coordinator).await;
    let add = Change::Add("x".to_owned());
    let no_list = v1::SettingEdit { key: "politeness.delay".to_owned(), change: Some(add) };
    let nothing = v1::SettingEdit { key: "politeness.delay".to_owned(), change: None };
    let ok = || set("politeness.burst", "2");
    for (edits, known, code, words) in [
        (vec![], 0, Code::InvalidArgument, "0 edits"),
        (vec![ok(), nothing], 0, Code::InvalidArgument, "no change is given"),
        (vec![ok(), set("politeness.dealy", "1s")], 0, Code::InvalidArgument, "did you mean"),
        (vec![ok(), set("politeness.delay", "1")], 0, Code::InvalidArgument, "politeness.delay: "),
        (vec![ok(), no_list], 0, Code::InvalidArgument, "is not a list"),
        (vec![ok(), set("store.digest", "sha256")], 0, Code::FailedPrecondition, "is fixed"),
        (
            vec![ok(), set("state.sieve", "bloom")],
            0,
            Code::InvalidArgument,
            "is for a single agent",
        ),
        (vec![ok()], 77, Code::Aborted, "not 77"),
    ] {
        let refused = edit(&mut client, edits, known).await.unwrap_err();
        assert!(refused.code() == code && refused.message().contains(words), "{refused:?}");
    }
    let now = client.get_settings(v1::GetSettingsRequest {}).await.unwrap().into_inner();
    assert_eq!((now.revision, read(&now)), (1, settings(LONG)));
    let loud = v1::SetLogLevelRequest { filter: "loud".to_owned() };
    let refused = client.set_log_level(loud).await.unwrap_err();
    assert!(
        refused.code() == Code::InvalidArgument && refused.message().contains("is not a level")
    );
    coordinator.stop().await.unwrap();
}

/// The settings exceed what the watcher buffers unread, so they wait at the coordinator.
#[tokio::test]
async fn a_slow_watcher_is_dropped_and_the_settings_go_on() {
    let dir = tempdir().unwrap();
    let patience = Duration::from_millis(500);
    let coordinator = start(dir.path(), patience).await;
    let mut client = client(&coordinator).await;
    let narrow = endpoint(&coordinator).initial_stream_window_size(1_024).connect().await.unwrap();
    let watch = v1::WatchSettingsRequest { known_revision: 0 };
    let mut slow = Client::new(narrow).watch_settings(watch).await.unwrap().into_inner();
    let mut newest = 0;
    for n in 2..8 {
        let edits = vec![set("politeness.burst", &n.to_string())];
        newest = edit(&mut client, edits, 0).await.unwrap().settings.unwrap().revision;
    }
    tokio::time::sleep(4 * patience).await;
    while let Some(received) = slow.message().await.unwrap() {
        assert!(received.revision < newest, "the coordinator waited for a slow watcher");
    }
    coordinator.stop().await.unwrap();
}
