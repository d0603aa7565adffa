//! Joining, heartbeats, leaving and expiry.

use crate::kit::{
    Client, Doors, LONG, beat, client, set_run, settings, start, start_by, state, view,
};
use crivello_common::config::Settings;
use crivello_common::identity::IdentityKey;
use crivello_common::view::{AgentState, RunState, View};
use crivello_proto::v1;
use std::time::Duration;
use tempfile::tempdir;
use tonic::Code;

/// Returns a response without the time at which it was made.
fn timeless(response: v1::JoinResponse) -> v1::JoinResponse {
    v1::JoinResponse { now: 0, ..response }
}

#[tokio::test]
async fn a_member_gets_its_id_its_lease_the_view_and_the_settings() {
    let (dir, doors) = (tempdir().unwrap(), Doors::open().await);
    let coordinator = start(dir.path(), LONG).await;
    let mut client = client(&coordinator).await;
    let joined = client.join(doors.join(1, "a")).await.unwrap().into_inner();
    assert_eq!((joined.id, joined.lease_ms), (1, 600_000));
    assert_eq!(joined.crawl_id, coordinator.crawl_id());
    let seen = View::try_from(joined.view.clone().unwrap()).unwrap();
    assert_eq!(state(&seen, "a"), Some(AgentState::Active));
    assert_eq!(seen.agents[0].address, doors.of(1));
    let settings = Settings::from_toml("joined", &joined.settings).unwrap();
    assert_eq!((settings.fixed.cluster.lease, settings.check()), (LONG, Ok(())));
    // A repeated join: the response with the id may have been lost.
    let again = client.join(doors.join(1, "a")).await.unwrap().into_inner();
    assert_eq!(timeless(again), timeless(joined.clone()));
    let mut known = doors.join(1, "a");
    (known.id, known.crawl_id) = (Some(1), joined.crawl_id.clone());
    known.identity_check = check_of(&joined).into();
    let again = client.join(known).await.unwrap().into_inner();
    assert_eq!(timeless(again), timeless(joined.clone()));
    assert_eq!(client.join(doors.join(2, "b")).await.unwrap().into_inner().id, 2);
    coordinator.stop().await.unwrap();
}

/// Returns the proof that the member has the key that it was sent.
fn check_of(joined: &v1::JoinResponse) -> Vec<u8> {
    let key = IdentityKey::from_bytes(joined.identity_key[..].try_into().expect("16 bytes"));
    key.check(&joined.crawl_id).to_vec()
}

#[tokio::test]
async fn the_identity_key_is_the_members_alone_and_none_has_another() {
    let (dir, doors) = (tempdir().unwrap(), Doors::open().await);
    let coordinator = start(dir.path(), LONG).await;
    let mut client = client(&coordinator).await;
    let joined = client.join(doors.join(1, "a")).await.unwrap().into_inner();
    let key = IdentityKey::read(dir.path(), &joined.crawl_id).unwrap();
    assert_eq!(joined.identity_key, key.to_bytes()[..]);
    let shown = format!("{joined:?}");
    assert!(shown.contains("crawl_id") && !shown.contains("identity_key"), "{shown}");

    let mut known = doors.join(1, "a");
    (known.id, known.crawl_id) = (Some(1), joined.crawl_id.clone());
    let other = IdentityKey::draw().unwrap().check(&joined.crawl_id);
    let of_other_crawl = key.check("0123456789abcdef");
    for check in [&[][..], &other, &of_other_crawl, &check_of(&joined)[..15]] {
        let join = v1::JoinRequest { identity_check: check.to_vec().into(), ..known.clone() };
        let refused = client.join(join).await.unwrap_err();
        assert_eq!(refused.code(), Code::FailedPrecondition);
        let why = refused.message();
        assert!(why.contains("another identity key") && why.contains("copy identity.key"), "{why}");
    }
    known.identity_check = check_of(&joined).into();
    let again = client.join(known).await.unwrap().into_inner();
    assert_eq!(timeless(again), timeless(joined.clone()));
    coordinator.stop().await.unwrap();
}

/// Sends heartbeats for `id` until one is refused.
async fn stay(mut client: Client, id: u32, process: u64) {
    while beat(&mut client, id, process).await.is_ok() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn silent_agent_is_declared_dead_and_rejoins_with_its_id() {
    let (dir, doors) = (tempdir().unwrap(), Doors::open().await);
    let coordinator = start(dir.path(), Duration::from_secs(3)).await;
    let mut client = client(&coordinator).await;
    for (n, name) in [(1, "a"), (2, "b")] {
        client.join(doors.join(n, name)).await.unwrap();
    }
    let staying = tokio::spawn(stay(client.clone(), 1, 1));
    let before = view(&mut client).await;
    let watch = v1::WatchViewRequest { known_epoch: before.epoch };
    let mut views = client.watch_view(watch).await.unwrap().into_inner();
    let after = View::try_from(views.message().await.unwrap().unwrap()).unwrap();
    assert!(after.epoch > before.epoch);
    assert_eq!(state(&after, "a"), Some(AgentState::Active));
    assert_eq!(state(&after, "b"), Some(AgentState::Dead));
    assert_eq!(beat(&mut client, 2, 2).await.unwrap_err().code(), Code::FailedPrecondition);
    let mut back = doors.join(3, "b");
    back.id = Some(2);
    let joined = client.join(back).await.unwrap().into_inner();
    assert_eq!(joined.id, 2);
    assert_eq!(state(&view(&mut client).await, "b"), Some(AgentState::Active));
    staying.abort();
    coordinator.stop().await.unwrap();
}

#[tokio::test]
async fn an_agent_is_drained_leaves_and_is_forgotten() {
    let (dir, doors) = (tempdir().unwrap(), Doors::open().await);
    let coordinator = start(dir.path(), LONG).await;
    let mut client = client(&coordinator).await;
    for (n, name) in [(1, "a"), (2, "b")] {
        client.join(doors.join(n, name)).await.unwrap();
    }
    let leave = v1::LeaveRequest {
        id: 2,
        process: 2,
        will_return: false,
        cancel_drain: false,
        quota: None,
    };
    let early = client.leave(leave).await.unwrap_err();
    assert_eq!(
        (early.code(), early.message()),
        (Code::FailedPrecondition, "drain the agent before it leaves")
    );
    let drain = |agent: &str| v1::DrainRequest { agent: agent.to_owned() };
    client.drain(drain("b")).await.unwrap();
    assert_eq!(state(&view(&mut client).await, "b"), Some(AgentState::Draining));
    let last = client.drain(drain("1")).await.unwrap_err();
    assert!(last.message().contains("last active agent"), "{last}");
    assert_eq!(client.drain(drain("c")).await.unwrap_err().code(), Code::NotFound);
    client.leave(leave).await.unwrap();
    assert_eq!(state(&view(&mut client).await, "b"), None);
    assert_eq!(beat(&mut client, 2, 2).await.unwrap_err().code(), Code::NotFound);
    let remove = v1::RemoveRequest { agent: "a".to_owned(), ..Default::default() };
    let alive = client.remove(remove).await.unwrap_err();
    assert!(alive.message().contains("the agent is alive"), "{alive}");
    coordinator.stop().await.unwrap();
}

/// The agent ends before its next heartbeat could report that it needs no more pages.
#[tokio::test]
async fn what_an_agent_was_allowed_and_did_not_fetch_is_free_when_it_leaves() {
    let (dir, doors) = (tempdir().unwrap(), Doors::open().await);
    let mut settings = settings(LONG);
    settings.live.limits.pages_max = Some(100);
    let coordinator = start_by(dir.path(), &settings).await;
    let mut client = client(&coordinator).await;
    for (n, name) in [(1, "a"), (2, "b")] {
        client.join(doors.join(n, name)).await.unwrap();
    }
    let mut allowed = [0; 3];
    for (number, agent) in [(1, 1), (1, 2)].into_iter().chain((2..200).map(|n| (n, 1))) {
        let pages = v1::QuotaReport { allowed: allowed[agent], fetched: 5, wanted: 50, number };
        let (id, process) = (agent as u32, agent as u64);
        let beat = v1::HeartbeatRequest { id, process, quota: Some(pages), ..Default::default() };
        let answer = client.heartbeat(beat).await.unwrap().into_inner();
        allowed[agent] = answer.quota.unwrap().allowed;
        if number == 1 && agent == 2 {
            assert!(allowed[2] > 5, "expected pages that are granted but not fetched");
            client.drain(v1::DrainRequest { agent: "b".to_owned() }).await.unwrap();
            let pages = Some(v1::QuotaReport { allowed: 5, fetched: 5, wanted: 0, number: 2 });
            let leave = v1::LeaveRequest {
                id: 2,
                process: 2,
                will_return: false,
                cancel_drain: false,
                quota: pages,
            };
            client.leave(leave).await.unwrap();
        }
    }
    assert_eq!(allowed[1], 95, "expected all pages that b has not fetched");
    coordinator.stop().await.unwrap();
}

#[tokio::test]
async fn an_agent_that_means_to_come_back_need_not_wait_for_its_old_lease() {
    let (dir, doors) = (tempdir().unwrap(), Doors::open().await);
    let coordinator = start(dir.path(), LONG).await;
    let mut client = client(&coordinator).await;
    client.join(doors.join(1, "a")).await.unwrap();
    let mut next = doors.join(1, "a");
    (next.id, next.process) = (Some(1), 99);
    assert_eq!(client.join(next.clone()).await.unwrap_err().code(), Code::Aborted);
    client
        .leave(v1::LeaveRequest {
            id: 1,
            process: 1,
            will_return: true,
            cancel_drain: false,
            quota: None,
        })
        .await
        .unwrap();
    assert_eq!(client.join(next).await.unwrap().into_inner().id, 1);
    assert_eq!(beat(&mut client, 1, 1).await.unwrap_err().code(), Code::Aborted);
    coordinator.stop().await.unwrap();
}

#[tokio::test]
async fn the_run_state_travels_with_the_view_and_the_list_shows_the_leases() {
    let (dir, doors) = (tempdir().unwrap(), Doors::open().await);
    let coordinator = start(dir.path(), LONG).await;
    let mut client = client(&coordinator).await;
    client.join(doors.join(1, "a")).await.unwrap();
    let before = view(&mut client).await;
    let paused = set_run(&mut client, v1::RunState::Paused).await.unwrap();
    assert_eq!((paused.run, paused.epoch), (RunState::Paused, before.epoch + 1));
    let nothing = set_run(&mut client, v1::RunState::Unspecified).await.unwrap_err();
    assert_eq!(nothing.code(), Code::InvalidArgument);
    client
        .heartbeat(v1::HeartbeatRequest {
            id: 1,
            process: 1,
            epoch: paused.epoch,
            ..Default::default()
        })
        .await
        .unwrap();
    let listed = client.list_agents(v1::ListAgentsRequest {}).await.unwrap().into_inner();
    let lease = listed.leases[0];
    assert_eq!((listed.leases.len(), lease.id, lease.epoch), (1, 1, paused.epoch));
    assert!(lease.remaining_ms > 0 && lease.remaining_ms <= 600_000);
    coordinator.stop().await.unwrap();
}
