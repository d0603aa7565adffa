//! The control plane among strangers: who joins, who orders, whose word is taken.
//!
//! Possible failures: an agent joins without the node secret, or with the token of people; a forged
//! view stops the others; a captured agent orders the cluster, speaks for another agent, or joins as
//! one; the token of people is accepted by an agent; a ticket works at another agent or for ever; a
//! node in the deny list goes on; silent connections shut others out.

mod callers;
mod rogue;

use callers::{Caller, certificate_of, view};
use crivello_proto::v1::{self, TicketScope};
use crivello_tests::cluster::{COORDINATOR, Process};
use crivello_tests::{Cluster, DEADLINE, binary, seed};
use rogue::Rogue;
use rustix::process::Signal;
use simweb::Spec;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::time::Duration;
use tonic::Code;

/// Returns a cluster with a long lease, so that no agent is declared dead on a busy machine.
fn cluster(pages: u32) -> Cluster {
    let web = Spec::new(seed()).size(16, 1, pages).latency_ms(0, 20);
    Cluster::new(web)
        .delays(Duration::from_millis(250), Duration::from_millis(40))
        .set("cluster.lease=15s")
}

/// Starts an agent outside the cluster's own bookkeeping.
fn agent(cluster: &Cluster, name: &str, log: &str, words: &[String]) -> Process {
    let mut command = Command::new(binary());
    command.args(["agent", "--listen=127.0.0.1:0", "--name", name]);
    command.args(["--coordinator", &cluster.url()]).args(words).env("NO_COLOR", "1");
    command.arg("--data").arg(cluster.disk(name)).env_remove("CRIVELLO_NODE_SECRET_FILE");
    Process::start(&mut command, cluster.dir().join(format!("{log}.txt")), DEADLINE)
}

#[test]
fn nobody_joins_without_the_node_secret() {
    let mut cluster = cluster(2).with_certs(&["a", "rogue"]).start(1);
    let certs = cluster.certs().clone();
    let tls = certs.tls_of("rogue");
    let token = certs.dir().join("token").display().to_string();
    let with_token = [tls.clone(), vec!["--node-secret-file".to_owned(), token]].concat();
    for (log, words, why) in [
        ("none", tls, "needs the node secret"),
        ("token", with_token, "the node secret is not that of this cluster"),
    ] {
        let mut process = agent(&cluster, "rogue", log, &words);
        cluster.until("the agent is refused", |_| process.has_ended());
        let said = process.log();
        assert!(said.contains(why) && said.contains("--node-secret-file"), "{log}: {said}");
        assert_eq!(process.wait().status.code(), Some(64), "{said}");
        assert_eq!(cluster.state("rogue"), None);
    }
    assert!(cluster.log_of(COORDINATOR).contains("it sent no node secret"));
    let _ = cluster.stop();
}

#[test]
fn a_forged_view_stops_nobody() {
    // A node that has all secrets, of which the coordinator believes that it is alive.
    let mut cluster = cluster(200).set("cluster.replication=1").start_until(2, 0.05);
    let before = cluster.epoch().expect("an epoch");
    let rogue = Rogue::join(&cluster.url());
    cluster.until("a and b hear of the forged views", |_| rogue.n_forged() >= 20);
    let n = |cluster: &Cluster, name: &str| cluster.requests_of(name).len();
    let (a, b) = (n(&cluster, "a"), n(&cluster, "b"));
    cluster.until("both go on", |cluster| n(cluster, "a") > a + 20 && n(cluster, "b") > b + 20);
    let epoch = cluster.epoch().expect("an epoch");
    assert!((before..before + 100).contains(&epoch), "{before} {epoch}");
    let agents = cluster.listing()["agents"].clone();
    let living = agents.as_array().expect("a list").iter().filter(|a| a["state"] == "active");
    assert!(living.count() >= 2, "{agents}");
}

#[test]
fn a_captured_agent_neither_orders_nor_speaks_for_another() {
    let mut cluster = cluster(2).with_certs(&["a", "b"]).start(2);
    let (a, b) = (Caller::node(&cluster, "a"), Caller::node(&cluster, "b"));
    let view = view(&a, &cluster.url());
    let id = |name: &str| view.agents.iter().find(|agent| agent.name == name).expect("a member").id;
    let address = |name: &str| {
        let agent = view.agents.iter().find(|agent| agent.name == name).expect("a member");
        format!("https://{}", agent.address)
    };

    // To the other agent.
    let mut control = a.control(&address("b"));
    let status = a.block_on(control.status(v1::StatusRequest {}));
    assert_eq!(status.unwrap_err().code(), Code::Unauthenticated);
    let filter = "trace".to_owned();
    let ordered = a.block_on(control.set_log_level(v1::SetLogLevelRequest { filter }));
    assert_eq!(ordered.unwrap_err().code(), Code::Unauthenticated);

    // To the coordinator.
    let mut coordinator = a.coordinator(&cluster.url());
    let run = v1::SetRunRequest { run: v1::RunState::Stopping.into() };
    let refused = a.block_on(coordinator.set_run(run)).unwrap_err();
    assert_eq!(refused.code(), Code::Unauthenticated);
    let scope = TicketScope::Order.into();
    let refused = a.block_on(coordinator.tickets(v1::TicketsRequest { scope })).unwrap_err();
    assert_eq!(refused.code(), Code::Unauthenticated);
    let drain = v1::RequestDrainRequest { id: id("b"), process: 1 };
    let refused = a.block_on(coordinator.request_drain(drain)).unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied, "{refused}");
    let beat = v1::HeartbeatRequest { id: id("b"), process: 1, ..Default::default() };
    let refused = a.block_on(coordinator.heartbeat(beat)).unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied, "{refused}");
    // As the other agent, by the number of its disk, which is in the view.
    let known = view.agents.iter().find(|agent| agent.name == "b").expect("a member");
    let join = v1::JoinRequest {
        format_version: crivello_proto::FORMAT_VERSION,
        process: 7,
        name: "b".to_owned(),
        weight: 1,
        address: known.address.clone(),
        disk_id: known.disk_id,
        ..Default::default()
    };
    let refused = a.block_on(coordinator.join(join)).unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied, "{refused}");

    // In the name of the other agent, to an agent.
    for (caller, may_speak) in [(&a, false), (&b, true)] {
        let mut peer = caller.peer(&address("a"));
        let envelope = v1::Envelope { sender: id("b"), epoch: view.epoch, id: 0, sent_at: 0 };
        let request = v1::RenewPeerLeaseRequest { envelope: Some(envelope) };
        let answer = caller.block_on(peer.renew_peer_lease(request));
        match may_speak {
            true => drop(answer.expect("b speaks for itself")),
            false => assert_eq!(answer.unwrap_err().code(), Code::PermissionDenied),
        }
    }
    for name in ["a", "b"] {
        assert_eq!(cluster.state(name).as_deref(), Some("active"));
    }
    let _ = cluster.stop();
}

#[test]
fn people_reach_agents_only_by_tickets_that_work_at_one_agent_for_a_while() {
    let mut cluster = cluster(2).with_certs(&["a", "b"]).start(2);
    let people = Caller::people(&cluster);
    let view = view(&Caller::node(&cluster, "a"), &cluster.url());
    let agent = |name: &str| view.agents.iter().find(|agent| agent.name == name).expect("a member");
    let address = |name: &str| format!("https://{}", agent(name).address);

    // The token itself is of no use at an agent.
    let status = |caller: &Caller, name: &str| {
        let mut control = caller.control(&address(name));
        let answer = caller.block_on(control.status(v1::StatusRequest {}));
        answer.map(|status| status.into_inner().id)
    };
    let refused = status(&people, "a").unwrap_err();
    assert_eq!(refused.code(), Code::Unauthenticated);
    assert!(refused.message().contains("needs a ticket"), "{refused}");

    let ticket = |scope: TicketScope, name: &str| {
        let mut coordinator = people.coordinator(&cluster.url());
        let request = v1::TicketsRequest { scope: scope.into() };
        let tickets = people.block_on(coordinator.tickets(request)).expect("tickets").into_inner();
        assert_eq!(tickets.lifetime_ms, 60_000);
        let of = tickets.tickets.into_iter().find(|ticket| ticket.agent == agent(name).id);
        people.with_ticket(&of.expect("a ticket for each agent").ticket)
    };
    let read = ticket(TicketScope::Read, "a");
    assert_eq!(status(&read, "a").expect("a reads"), agent("a").id);
    let refused = status(&read, "b").unwrap_err();
    assert_eq!(refused.code(), Code::Unauthenticated);
    assert!(refused.message().contains("is for agent"), "{refused}");
    let order = |caller: &Caller| {
        let mut control = caller.control(&address("a"));
        let filter = "info".to_owned();
        caller.block_on(control.set_log_level(v1::SetLogLevelRequest { filter })).map(drop)
    };
    let refused = order(&read).unwrap_err();
    assert!(refused.message().contains("permits no orders"), "{refused}");
    let orders = ticket(TicketScope::Order, "a");
    order(&orders).expect("a ticket that orders");
    // Sixty seconds, and five for the way of messages.
    std::thread::sleep(Duration::from_secs(67));
    for caller in [&read, &orders] {
        let refused = status(caller, "a").unwrap_err();
        assert!(refused.message().contains("has expired"), "{refused}");
    }
    // Commands request new ones.
    cluster.run_ok(&["status"]);
    let _ = cluster.stop();
}

#[test]
fn an_agent_with_another_certificate_is_refused_until_a_person_accepts_it() {
    let mut cluster = cluster(2).with_certs(&["a", "b", "new"]).start(2);
    cluster.process("b").signal(Signal::INT);
    let _ = cluster.end("b");
    let certs = cluster.certs().clone();
    for kind in ["pem", "key"] {
        let file = |name: &str| certs.dir().join(format!("{name}.{kind}"));
        fs::copy(file("new"), file("b")).expect("copied");
    }
    let mut process = agent(&cluster, "b", "again", &certs.of("b"));
    cluster.until("the agent is refused", |_| process.has_ended());
    let said = process.log();
    let (_, rest) = said.split_once("crivello accept-certificate ").expect("a hint");
    let words: Vec<&str> = rest.split(['`', ' ']).take(2).collect();
    assert_eq!(process.wait().status.code(), Some(64), "{said}");
    cluster.run_ok(&["accept-certificate", words[0], words[1]]);
    cluster.add("b");
    let _ = cluster.stop();
}

#[test]
fn a_node_in_the_deny_list_is_cut_off_at_once() {
    let web = Spec::new(seed()).size(16, 1, 200).latency_ms(0, 20);
    let cluster = Cluster::new(web)
        .delays(Duration::from_millis(250), Duration::from_millis(40))
        .set("cluster.lease=3s");
    let deny = cluster.dir().join("deny");
    fs::write(&deny, "# nobody\n").expect("written");
    let mut cluster = cluster
        .env("CRIVELLO_DENY_FILE", &deny.display().to_string())
        .allow_log_line("deny list")
        .with_certs(&["a", "b", "c"])
        .start_until(3, 0.02);
    let captured = certificate_of(&cluster, "c");
    let caller = Caller::node(&cluster, "c");
    let mut open = caller.coordinator(&cluster.url());
    let watch = v1::WatchViewRequest { known_epoch: 0 };
    caller.block_on(open.watch_view(watch)).expect("an open connection");
    fs::write(&deny, format!("{captured} # c\n")).expect("written");
    cluster
        .until("the open connection is cut", |_| caller.block_on(open.watch_view(watch)).is_err());
    cluster.until("c is dead", |cluster| cluster.state("c").as_deref() == Some("dead"));
    let n = cluster.requests_of("a").len();
    cluster.until("the others go on", |cluster| cluster.requests_of("a").len() > n + 20);
    let said = cluster.log_of(COORDINATOR);
    assert!(said.contains("is in the deny list"), "{said}");
}

#[test]
fn connections_without_a_call_are_few_and_short() {
    let mut cluster = cluster(2).start(1);
    let ports = ["coordinator", "a"]
        .map(|name| cluster.process(name).listening_address().expect("a listening process"));
    for at in ports {
        let begun = cluster.web.log().now();
        let mut open: Vec<TcpStream> = (0..100).map(|_| preface(at)).collect();
        // Those beyond the bound are closed at once, the others after ten seconds. Without the bounds,
        // unanswered pings would end them after ten (agent) or forty seconds (coordinator).
        let alive = |open: &mut Vec<TcpStream>| {
            open.retain_mut(is_open);
            open.len()
        };
        cluster.until("connections beyond the bound are closed", |_| alive(&mut open) <= 64);
        let took = cluster.web.log().now().since(begun);
        assert!(took < Duration::from_secs(6), "closed after {took:?}");
        assert!(!open.is_empty(), "all connections were closed at once");
        cluster.until("all connections are closed", |_| alive(&mut open) == 0);
        let took = cluster.web.log().now().since(begun);
        assert!(took < Duration::from_secs(25), "closed after {took:?}");
    }
    cluster.run_ok(&["status"]);
    let _ = cluster.stop();
}

/// Opens a connection that says who it is and nothing more.
fn preface(at: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(at).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_millis(1))).expect("a timeout");
    // A closed connection is found later.
    let _ = stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    stream
}

fn is_open(stream: &mut TcpStream) -> bool {
    use std::io::ErrorKind::{TimedOut, WouldBlock};
    match stream.read(&mut [0; 1_024]) {
        Ok(n) => n > 0,
        Err(error) => matches!(error.kind(), TimedOut | WouldBlock),
    }
}
