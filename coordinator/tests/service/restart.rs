//! Restarts of a coordinator, and starts that must be refused.

use crate::kit::{Doors, LONG, beat, client, set_run, settings, start, state, view};
use crivello_common::assignment::StrategyKind;
use crivello_common::config::{Settings, SieveKind, TypedSettings};
use crivello_common::identity::{IDENTITY_KEY_FILE, IdentityKey};
use crivello_common::view::{AgentState, RunState};
use crivello_coordinator::{Coordinator, CoordinatorError, Listen, STATE_FILE};
use crivello_proto::auth::NodeAuth;
use crivello_proto::v1;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;
use tempfile::tempdir;

#[tokio::test]
async fn a_restart_goes_on_at_a_higher_epoch_with_the_same_agents() {
    let (dir, doors) = (tempdir().unwrap(), Doors::open().await);
    let coordinator = start(dir.path(), LONG).await;
    let crawl = coordinator.crawl_id().to_owned();
    let mut first = client(&coordinator).await;
    for (n, name) in [(1, "a"), (2, "b"), (3, "c")] {
        first.join(doors.join(n, name)).await.unwrap();
    }
    first.drain(v1::DrainRequest { agent: "c".into() }).await.unwrap();
    first
        .leave(v1::LeaveRequest {
            id: 3,
            process: 3,
            will_return: false,
            cancel_drain: false,
            quota: None,
        })
        .await
        .unwrap();
    let before = set_run(&mut first, v1::RunState::Paused).await.unwrap();
    coordinator.stop().await.unwrap();

    // Uses the shortest lease that keeps the peer leases, which are fixed for a crawl, unchanged. A
    // member that sends no report within it dies.
    let lease = Duration::from_secs(10);
    let coordinator = start(dir.path(), lease).await;
    assert!(coordinator.resumed() && coordinator.crawl_id() == crawl);
    let mut second = client(&coordinator).await;
    let after = view(&mut second).await;
    assert!(after.epoch > before.epoch);
    assert_eq!((after.run, &after.agents), (RunState::Paused, &before.agents));
    // No agent needs to join again, and a new agent gets a new id.
    beat(&mut second, 1, 1).await.unwrap();
    assert_eq!(second.join(doors.join(4, "d")).await.unwrap().into_inner().id, 4);
    loop {
        beat(&mut second, 1, 1).await.unwrap();
        let now = view(&mut second).await;
        if state(&now, "b") == Some(AgentState::Dead) {
            assert_eq!(state(&now, "a"), Some(AgentState::Active));
            break;
        }
        tokio::time::sleep(lease / 20).await;
    }
    coordinator.stop().await.unwrap();
}

async fn refused(dir: &Path, settings: &Settings) -> String {
    let listen = Listen { at: ([127, 0, 0, 1], 0).into(), auth: NodeAuth::default(), token: None };
    match Coordinator::start(dir, settings, TypedSettings::new(), listen).await {
        Err(error) => error.to_string(),
        Ok(_) => panic!("the coordinator started"),
    }
}

#[tokio::test]
async fn what_cannot_be_this_crawl_is_refused() {
    let dir = tempdir().unwrap();
    let coordinator = start(dir.path(), LONG).await;
    let second = refused(dir.path(), &settings(LONG)).await;
    assert!(second.contains("another coordinator uses"), "{second}");
    coordinator.stop().await.unwrap();

    let mut other = settings(LONG);
    other.fixed.cluster.strategy = StrategyKind::MinHash;
    let differs = refused(dir.path(), &other).await;
    assert!(differs.contains("cluster.strategy") && differs.contains("another crawl"), "{differs}");

    let mut alone = settings(LONG);
    alone.fixed.state.sieve = SieveKind::Memory;
    let sieve = refused(dir.path(), &alone).await;
    assert!(sieve.contains("state.sieve") && sieve.contains("write \"rocksdb\" or"), "{sieve}");

    let state = dir.path().join(STATE_FILE);
    let mut bytes = fs::read(&state).unwrap();
    bytes[40] ^= 1;
    fs::write(&state, &bytes).unwrap();
    let damaged = refused(dir.path(), &settings(LONG)).await;
    assert!(damaged.contains("damaged") && damaged.contains("nothing was changed"), "{damaged}");
    fs::remove_file(&state).unwrap();
    let missing = refused(dir.path(), &settings(LONG)).await;
    assert!(missing.contains("coordinator.state is missing"), "{missing}");
    fs::remove_file(dir.path().join("lock")).unwrap();
    fs::create_dir(dir.path().join("state")).unwrap();
    let agents = refused(dir.path(), &settings(LONG)).await;
    assert!(agents.contains("directory of an agent"), "{agents}");
}

#[tokio::test]
async fn the_key_of_the_crawl_outlives_restarts_and_its_loss_is_repaired_by_a_copy() {
    let (dir, agent) = (tempdir().unwrap(), tempdir().unwrap());
    let coordinator = start(dir.path(), LONG).await;
    let crawl = coordinator.crawl_id().to_owned();
    coordinator.stop().await.unwrap();
    let key = IdentityKey::read(dir.path(), &crawl).unwrap();
    // As an agent of the crawl does.
    key.write(agent.path(), &crawl).unwrap();
    let path = dir.path().join(IDENTITY_KEY_FILE);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);

    let whole = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    let missing = refused(dir.path(), &settings(LONG)).await;
    assert!(missing.contains("identity.key is missing") && missing.contains("copy"), "{missing}");
    assert!(!path.exists(), "a new key was drawn for an old crawl");
    fs::write(&path, &whole[..whole.len() - 2]).unwrap();
    let damaged = refused(dir.path(), &settings(LONG)).await;
    assert!(damaged.contains("identity.key is damaged"), "{damaged}");
    key.write(dir.path(), "fedcba9876543210").unwrap();
    let other = refused(dir.path(), &settings(LONG)).await;
    assert!(other.contains("the key of crawl fedcba9876543210"), "{other}");

    fs::copy(agent.path().join(IDENTITY_KEY_FILE), &path).unwrap();
    let coordinator = start(dir.path(), LONG).await;
    assert!(coordinator.resumed() && coordinator.crawl_id() == crawl);
    coordinator.stop().await.unwrap();

    let second = tempdir().unwrap();
    let inner = second.path().join("coordinator");
    let coordinator = start(&inner, LONG).await;
    let other = IdentityKey::read(&inner, coordinator.crawl_id()).unwrap();
    assert!(other != key, "two crawls have one key");
    assert_eq!(mode(&inner), 0o700);
    coordinator.stop().await.unwrap();
}

#[tokio::test]
async fn a_start_that_was_cut_off_is_begun_anew() {
    let dir = tempdir().unwrap();
    IdentityKey::draw().unwrap().write(dir.path(), "0123456789abcdef").unwrap();
    fs::write(dir.path().join("lock"), "").unwrap();
    fs::write(dir.path().join(STATE_FILE), "half").unwrap();
    let begun = refused(dir.path(), &settings(LONG)).await;
    assert!(begun.contains("damaged"), "an incomplete state file was renamed: {begun}");
    fs::remove_file(dir.path().join(STATE_FILE)).unwrap();
    fs::write(dir.path().join("coordinator.state.new"), "half").unwrap();
    let coordinator = start(dir.path(), LONG).await;
    assert!(!coordinator.resumed());
    coordinator.stop().await.unwrap();
}

#[tokio::test]
async fn a_taken_port_is_refused() {
    let dir = tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = Listen { at: taken.local_addr().unwrap(), auth: NodeAuth::default(), token: None };
    let error = Coordinator::start(dir.path(), &settings(LONG), TypedSettings::new(), listen)
        .await
        .unwrap_err();
    assert!(matches!(error, CoordinatorError::Refused(_)), "{error}");
    assert!(!dir.path().join(STATE_FILE).exists(), "a crawl was started");
}
