use super::*;
use crate::flow::BlockCount;
use crate::progress::{HostGauges, Pace, Snapshot};
use crivello_common::view::{AgentId, AgentState, RunState};
use crivello_proto::v1::control_client::ControlClient;
use crivello_proto::v1::seed_response::Verdict;
use crivello_proto::v1::{self, SeedRequest, SeedResponse};
use crivello_proto::{SEED_LINES_MAX, SEEDS_SIZE_MAX};
use futures_util::stream::{iter, once, pending};
use futures_util::{Stream, StreamExt};
use parking_lot::Mutex;
use proptest::prelude::*;
use prost::Message as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Code, Status, Streaming};

/// Lets nothing in from hosts that begin with `x`; answers when it is told to.
#[derive(Default)]
struct Fake {
    got: Mutex<Vec<String>>,
    /// Answers wait here once there is a place for them.
    held: Mutex<Option<Vec<oneshot::Sender<SeedAnswer>>>>,
}

impl House for Fake {
    fn blocks(&self) -> Vec<BlockCount> {
        Vec::new()
    }

    fn archived(&self, by: AgentId, answer: oneshot::Sender<Option<u64>>) {
        let _ = answer.send(Some(u64::from(by.0)));
    }

    fn status(&self) -> AgentStatus {
        standing()
    }

    fn seed(&self, urls: Vec<CrawlUrl>, answer: oneshot::Sender<SeedAnswer>) {
        let is_refused = |url: &CrawlUrl| url.host().starts_with('x');
        let refused = urls.iter().enumerate().filter(|(_, url)| is_refused(url));
        let refused = refused.map(|(i, _)| (i, Discard::OutOfScope)).collect();
        self.got.lock().extend(urls.iter().filter(|url| !is_refused(url)).map(ToString::to_string));
        match self.held.lock().as_mut() {
            Some(held) => held.push(answer),
            None => drop(answer.send(SeedAnswer::Safe { refused })),
        }
    }
}

fn standing() -> AgentStatus {
    AgentStatus {
        id: AgentId(3),
        name: "agent-3".into(),
        crawl_id: "c0ffee".into(),
        process: u64::MAX,
        epoch: 7,
        run: RunState::Paused,
        state: AgentState::Draining,
        idle: true,
        work: 1 << 40,
        fence_open: true,
        outbox: 5,
        handoffs: 6,
        replication: 2,
        settings_revision: 7,
        snapshot: Snapshot {
            elapsed: Duration::from_millis(1_500),
            pages: 1,
            bytes: 2,
            by_class: [3, 4, 5, 6, 7],
            duplicates: 8,
            robots_fetched: 9,
            errors: 10,
            discards: 11,
            urls_queued: 12,
            urls_seen: 13,
            hosts: HostGauges { ready: 14, waiting: 15, resting: 16, resolving: 17 },
            visits: 18,
            pipeline_pages: 19,
            pages_left: Some(0),
            pace: Pace::FewHosts { delay: Duration::from_millis(250) },
        },
    }
}

async fn serve(house: Arc<Fake>) -> (SocketAddr, ControlClient<tonic::transport::Channel>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let at = listener.local_addr().unwrap();
    let server = Server::builder().add_service(service(house));
    tokio::spawn(server.serve_with_incoming(TcpIncoming::from(listener)));
    let client = ControlClient::connect(format!("http://{at}")).await.unwrap();
    (at, client.max_encoding_message_size(2 * SEEDS_SIZE_MAX))
}

fn batch(id: u64, lines: &[&str]) -> SeedRequest {
    SeedRequest { id, lines: lines.iter().map(|&line| line.to_owned()).collect() }
}

async fn bring(
    client: &mut ControlClient<tonic::transport::Channel>,
    batches: impl Stream<Item = SeedRequest> + Send + 'static,
) -> Streaming<SeedResponse> {
    client.seed(batches).await.unwrap().into_inner()
}

async fn next(answers: &mut Streaming<SeedResponse>) -> Result<SeedResponse, Status> {
    let answer = tokio::time::timeout(Duration::from_secs(20), answers.message()).await;
    answer.expect("in time").map(|answer| answer.expect("an answer"))
}

fn safe(id: u64, taken: u64, refused: &[(u32, Discard)]) -> SeedResponse {
    let refusal =
        |&(line, why): &(u32, Discard)| v1::RefusedSeed { line, why: why.meaning().into() };
    let refused = refused.iter().map(refusal).collect();
    SeedResponse { id, verdict: Some(Verdict::Safe(v1::SeedsSafe { taken, refused })) }
}

#[tokio::test]
async fn a_status_arrives_as_it_was() {
    let (_, mut client) = serve(Arc::default()).await;
    let sent = client.status(v1::StatusRequest {}).await.unwrap().into_inner();
    assert_eq!(AgentStatus::try_from(sent), Ok(standing()));
}

#[test]
fn every_pace_and_only_a_pace_has_a_number() {
    let mut paces = 0;
    for number in -1..100 {
        let mut sent = v1::StatusResponse::from(&standing());
        sent.progress.as_mut().unwrap().pace = number;
        match AgentStatus::try_from(sent.clone()) {
            Ok(status) => {
                paces += 1;
                let back = v1::StatusResponse::from(&status).progress.unwrap().pace;
                assert_eq!(back, number);
            }
            Err(BadStatus(field, n)) => assert_eq!((field, n), ("pace", number.into())),
        }
    }
    assert_eq!(paces, 14);
    let wrong = v1::StatusResponse { run: 9, ..v1::StatusResponse::from(&standing()) };
    assert!(AgentStatus::try_from(wrong).unwrap_err().to_string().contains("run state is 9"));
}

proptest! {
    #[test]
    fn garbage_is_no_status_or_one_that_can_be_sent(
        bytes in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        if let Ok(sent) = v1::StatusResponse::decode(bytes.as_slice())
            && let Ok(status) = AgentStatus::try_from(sent)
        {
            let again = AgentStatus::try_from(v1::StatusResponse::from(&status));
            prop_assert_eq!(again, Ok(status));
        }
    }
}

#[tokio::test]
async fn each_line_is_taken_or_refused_with_its_reason() {
    let house = Arc::new(Fake::default());
    let (_, mut client) = serve(Arc::clone(&house)).await;
    let lines = ["http://x1/", "no url", "HTTP://A/#f", "", "http://x2/", "ftp://b/", "http://c"];
    let batches = iter([batch(9, &lines), batch(2, &["\u{1b}[2J"]), batch(3, &[])]);
    let mut answers = bring(&mut client, batches).await;
    let refused = [
        (0, Discard::OutOfScope),
        (1, Discard::Unparsable),
        (3, Discard::Unparsable),
        (4, Discard::OutOfScope),
        (5, Discard::Scheme),
    ];
    assert_eq!(next(&mut answers).await.unwrap(), safe(9, 2, &refused));
    assert_eq!(next(&mut answers).await.unwrap(), safe(2, 0, &[(0, Discard::Unparsable)]));
    assert_eq!(next(&mut answers).await.unwrap(), safe(3, 0, &[]));
    assert_eq!(*house.got.lock(), ["http://a/", "http://c/"]);
    assert!(answers.message().await.unwrap().is_none());
}

#[tokio::test]
async fn nothing_is_answered_before_it_is_safe_and_in_its_order() {
    let house = Arc::new(Fake { held: Mutex::new(Some(Vec::new())), ..Fake::default() });
    let (_, mut client) = serve(Arc::clone(&house)).await;
    let batches = (0..100).map(|n| batch(n, &["http://a/"])).collect::<Vec<_>>();
    let mut answers = bring(&mut client, iter(batches).chain(pending())).await;
    let many = crate::limits::SEED_BATCHES_A_STREAM;
    let held = |house: &Fake| house.held.lock().as_ref().unwrap().len();
    while held(&house) < many {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(tokio::time::timeout(Duration::from_millis(200), answers.message()).await.is_err());
    assert_eq!(held(&house), many, "no more are read meanwhile");
    let mut waiting = house.held.lock().take().unwrap();
    // One that was never answered is one to send again.
    drop(waiting.remove(1));
    for answer in waiting.into_iter().rev() {
        answer.send(SeedAnswer::Safe { refused: Vec::new() }).unwrap();
    }
    for n in 0..100 {
        let answer = next(&mut answers).await.unwrap();
        let not_now = SeedResponse { id: 1, verdict: Some(Verdict::NotNow(v1::Nothing {})) };
        assert_eq!(answer, if n == 1 { not_now } else { safe(n, 1, &[]) });
    }
}

#[tokio::test]
async fn what_is_too_much_or_garbage_is_refused_and_ends_only_itself() {
    let house = Arc::new(Fake::default());
    let (at, mut client) = serve(Arc::clone(&house)).await;
    let lines = vec!["http://a/"; SEED_LINES_MAX + 1];
    let mut answers = bring(&mut client, iter([batch(1, &lines)])).await;
    assert_eq!(next(&mut answers).await.unwrap_err().code(), Code::InvalidArgument);
    let long = format!("http://a/{}", "a".repeat(SEEDS_SIZE_MAX));
    let refused = match client.seed(iter([batch(1, &[&long])])).await {
        Ok(answers) => next(&mut answers.into_inner()).await.unwrap_err(),
        Err(refused) => refused,
    };
    assert_eq!(refused.code(), Code::OutOfRange, "{refused}");
    for garbage in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0xff; 4_096]] {
        let mut socket = TcpStream::connect(at).await.unwrap();
        let _ = socket.write_all(garbage).await;
        let _ = socket.shutdown().await;
        let _ = socket.read_to_end(&mut Vec::new()).await;
    }
    assert!(house.got.lock().is_empty());
    let mut answers = bring(&mut client, iter([batch(4, &lines[..SEED_LINES_MAX])])).await;
    assert_eq!(next(&mut answers).await.unwrap(), safe(4, SEED_LINES_MAX as u64, &[]));
}

#[tokio::test]
async fn only_so_many_bring_seeds_at_once() {
    let (_, mut client) = serve(Arc::default()).await;
    let mut bringers = Vec::new();
    for n in 0..crate::limits::SEED_STREAMS_MAX as u64 {
        // Each goes when its first half is dropped.
        let (stay, gone) = oneshot::channel::<SeedRequest>();
        let batches = iter([batch(n, &[])]).chain(once(gone).filter_map(async |gone| gone.ok()));
        let mut answers = bring(&mut client, batches).await;
        assert_eq!(next(&mut answers).await.unwrap(), safe(n, 0, &[]));
        bringers.push((stay, answers));
    }
    let refused = client.seed(pending::<SeedRequest>()).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted);
    drop(bringers.pop());
    // Its seat is free once the agent has seen it go.
    while client.seed(iter([batch(1, &[])])).await.is_err() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
