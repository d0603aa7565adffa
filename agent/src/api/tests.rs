use super::*;
use crate::messages::{ArchivedPages, BlockCount};
use crate::storage::ranks::RankStore;
use crivello_common::discard::Discard;
use crivello_common::units::ByteSize;
use crivello_common::view::LostArchive;
use crivello_proto::v1::HostOrder;
use crivello_proto::v1::control_client::ControlClient;
use crivello_proto::v1::seed_response::Outcome;
use crivello_proto::v1::{self, SeedRequest, SeedResponse};
use crivello_proto::{SEED_LINES_MAX, SEEDS_SIZE_MAX};
use crivello_ranks::{HostRanks, digest_of};
use futures_util::future::ready;
use futures_util::stream::{FuturesUnordered, iter, once, pending};
use futures_util::{FutureExt, Stream, StreamExt};
use parking_lot::Mutex;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Code, Status, Streaming};

/// An agent that refuses URLs on hosts that begin with `x`, and answers when the test lets it.
#[derive(Default)]
struct Fake {
    index: OnceLock<Arc<SlowIndex>>,
    ranks: OnceLock<RankStore>,
    got: Mutex<Vec<String>>,
    /// Senders of pending answers; if `None`, batches are answered at once.
    held: Mutex<Option<Vec<oneshot::Sender<SeedAnswer>>>>,
    wanted: Mutex<Vec<HostsQuery>>,
}

impl AgentApi for Fake {
    fn archive(&self) -> Option<TailSource> {
        None
    }

    fn host_arcs(&self) -> Option<Arc<dyn HostArcsApi>> {
        None
    }

    fn ranks(&self) -> Option<RankStore> {
        self.ranks.get().cloned()
    }

    fn index(&self) -> Option<Arc<dyn IndexApi>> {
        self.index.get().map(|index| Arc::clone(index) as Arc<dyn IndexApi>)
    }

    fn cluster_view(&self) -> QueryFuture<v1::ClusterView> {
        ready(Err(QueryError::NotNow)).boxed()
    }

    fn explain(
        &self,
        subject: Subject,
        archive_file: Option<u32>,
    ) -> QueryFuture<v1::ExplainResponse> {
        let answer = match subject {
            Subject::Host(name) if name == "later.test" => Err(QueryError::NotNow),
            Subject::Host(name) if name == "broken.test" => Err(QueryError::Broken("gone".into())),
            subject => Ok(v1::ExplainResponse {
                group_name: subject.host().to_owned(),
                archive_file: archive_file.map(|n| n.to_string()).unwrap_or_default(),
                ..v1::ExplainResponse::default()
            }),
        };
        ready(answer).boxed()
    }

    fn hosts(&self, wanted: HostsQuery) -> QueryFuture<v1::HostsResponse> {
        let busy = wanted.contains == "busy";
        self.wanted.lock().push(wanted);
        ready(if busy { Err(QueryError::Busy) } else { Ok(v1::HostsResponse::default()) }).boxed()
    }

    fn fetches(&self, most: usize, failed_only: bool) -> Vec<v1::FetchSummary> {
        vec![v1::FetchSummary { bytes: most as u64, status: failed_only.into(), ..<_>::default() }]
    }

    fn traces(&self, trace_id: Option<u128>, limit: usize) -> Vec<v1::Span> {
        let span = |n: u32| v1::Span {
            trace_id: trace_id.unwrap_or(9).to_be_bytes().to_vec().into(),
            agent: n,
            ..v1::Span::default()
        };
        (0..limit.min(5) as u32).map(span).collect()
    }

    fn blocks(&self) -> Vec<BlockCount> {
        Vec::new()
    }

    fn archived(&self, lost: LostArchive, answer: oneshot::Sender<Option<ArchivedPages>>) {
        let pages = ArchivedPages { lost: lost.agent.0.into(), safe: lost.safe_files.into() };
        let _ = answer.send(Some(pages));
    }

    fn status(&self) -> v1::StatusResponse {
        status_response()
    }

    fn details(&self) -> Option<v1::DetailsResponse> {
        let discards = [("robots".to_owned(), 3)].into();
        Some(v1::DetailsResponse { discards, groups_owned: 7, ..v1::DetailsResponse::default() })
    }

    fn seed(&self, batch: SeedBatch, answer: oneshot::Sender<SeedAnswer>) {
        let urls = batch.urls;
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

fn status_response() -> v1::StatusResponse {
    let recrawl = v1::RecrawlProgress { changed: 23, freshness: Some(0.5), ..<_>::default() };
    let progress = v1::Progress {
        pages: 1,
        pages_by_class: vec![3, 4, 5, 6, 7],
        pages_left: Some(0),
        bottleneck: v1::Bottleneck::FewHosts.into(),
        bottleneck_delay_ms: 250,
        recrawl: Some(recrawl),
        ..v1::Progress::default()
    };
    v1::StatusResponse {
        id: 3,
        name: "agent-3".into(),
        process: u64::MAX,
        run: v1::RunState::Paused.into(),
        progress: Some(progress),
        ..v1::StatusResponse::default()
    }
}

async fn serve(agent: Arc<Fake>) -> (SocketAddr, ControlClient<tonic::transport::Channel>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let at = listener.local_addr().unwrap();
    let server = Server::builder().add_service(service(agent));
    tokio::spawn(server.serve_with_incoming(TcpIncoming::from(listener)));
    let client = ControlClient::connect(format!("http://{at}")).await.unwrap();
    (at, client.max_encoding_message_size(2 * SEEDS_SIZE_MAX))
}

fn batch(id: u64, lines: &[&str]) -> SeedRequest {
    let lines = lines.iter().map(|&line| line.to_owned()).collect();
    SeedRequest { id, lines, ..SeedRequest::default() }
}

async fn send(
    client: &mut ControlClient<tonic::transport::Channel>,
    batches: impl Stream<Item = SeedRequest> + Send + 'static,
) -> Streaming<SeedResponse> {
    client.seed(batches).await.unwrap().into_inner()
}

async fn next(answers: &mut Streaming<SeedResponse>) -> Result<SeedResponse, Status> {
    let answer = tokio::time::timeout(Duration::from_secs(20), answers.message()).await;
    answer.expect("a response in time").map(|answer| answer.expect("an answer"))
}

fn safe(id: u64, taken: u64, refused: &[(u32, Discard)]) -> SeedResponse {
    let refusal =
        |&(line, why): &(u32, Discard)| v1::RejectedSeed { line, reason: why.description().into() };
    let refused = refused.iter().map(refusal).collect();
    SeedResponse {
        id,
        outcome: Some(Outcome::Stored(v1::SeedsStored { accepted: taken, rejected: refused })),
    }
}

#[tokio::test]
async fn a_status_arrives_as_it_was() {
    let (_, mut client) = serve(Arc::default()).await;
    let sent = client.status(v1::StatusRequest {}).await.unwrap().into_inner();
    assert_eq!(sent, status_response());
}

#[tokio::test]
async fn spans_are_asked_for_by_their_trace_and_no_more_than_there_may_be() {
    let (_, mut client) = serve(Arc::default()).await;
    let mut ask = async |limit, trace_id: &[u8]| {
        let request = v1::TracesRequest { limit, trace_id: trace_id.to_vec().into() };
        client.traces(request).await.map(|answer| answer.into_inner().spans)
    };
    assert_eq!(ask(0, &[]).await.unwrap().len(), 5);
    let spans = ask(2, &[7; 16]).await.unwrap();
    assert_eq!((spans.len(), &spans[0].trace_id[..]), (2, &[7; 16][..]));
    assert_eq!(ask(10_001, &[]).await.unwrap_err().code(), Code::InvalidArgument);
    assert_eq!(ask(1, &[7; 15]).await.unwrap_err().code(), Code::InvalidArgument);
}

#[tokio::test]
async fn each_line_is_taken_or_refused_with_its_reason() {
    let agent = Arc::new(Fake::default());
    let (_, mut client) = serve(Arc::clone(&agent)).await;
    let lines = ["http://x1/", "no url", "HTTP://A/#f", "", "http://x2/", "ftp://b/", "http://c"];
    let batches = iter([batch(9, &lines), batch(2, &["\u{1b}[2J"]), batch(3, &[])]);
    let mut answers = send(&mut client, batches).await;
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
    assert_eq!(*agent.got.lock(), ["http://a/", "http://c/"]);
    assert!(answers.message().await.unwrap().is_none());
}

#[tokio::test]
async fn nothing_is_answered_before_it_is_safe_and_in_its_order() {
    let agent = Arc::new(Fake { held: Mutex::new(Some(Vec::new())), ..Fake::default() });
    let (_, mut client) = serve(Arc::clone(&agent)).await;
    let batches = (0..100).map(|n| batch(n, &["http://a/"])).collect::<Vec<_>>();
    let mut answers = send(&mut client, iter(batches).chain(pending())).await;
    let many = crate::limits::SEED_BATCHES_A_STREAM;
    let held = |agent: &Fake| agent.held.lock().as_ref().unwrap().len();
    while held(&agent) < many {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(tokio::time::timeout(Duration::from_millis(200), answers.message()).await.is_err());
    assert_eq!(held(&agent), many, "more batches were read while the stream was full");
    let mut waiting = agent.held.lock().take().unwrap();
    // A batch that is never answered must be sent again.
    drop(waiting.remove(1));
    for answer in waiting.into_iter().rev() {
        answer.send(SeedAnswer::Safe { refused: Vec::new() }).unwrap();
    }
    for n in 0..100 {
        let answer = next(&mut answers).await.unwrap();
        let not_now = SeedResponse { id: 1, outcome: Some(Outcome::Retry(v1::Empty {})) };
        assert_eq!(answer, if n == 1 { not_now } else { safe(n, 1, &[]) });
    }
}

#[tokio::test]
async fn what_is_too_much_or_garbage_is_refused_and_ends_only_itself() {
    let agent = Arc::new(Fake::default());
    let (at, mut client) = serve(Arc::clone(&agent)).await;
    let lines = vec!["http://a/"; SEED_LINES_MAX + 1];
    let mut answers = send(&mut client, iter([batch(1, &lines)])).await;
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
    assert!(agent.got.lock().is_empty());
    let mut answers = send(&mut client, iter([batch(4, &lines[..SEED_LINES_MAX])])).await;
    assert_eq!(next(&mut answers).await.unwrap(), safe(4, SEED_LINES_MAX as u64, &[]));
}

#[tokio::test]
async fn concurrent_seed_streams_are_bounded() {
    let (_, mut client) = serve(Arc::default()).await;
    let mut bringers = Vec::new();
    for n in 0..crate::limits::SEED_STREAMS_MAX as u64 {
        // Each stream ends when its first half is dropped.
        let (stay, gone) = oneshot::channel::<SeedRequest>();
        let batches = iter([batch(n, &[])]).chain(once(gone).filter_map(async |gone| gone.ok()));
        let mut answers = send(&mut client, batches).await;
        assert_eq!(next(&mut answers).await.unwrap(), safe(n, 0, &[]));
        bringers.push((stay, answers));
    }
    let refused = client.seed(pending::<SeedRequest>()).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted);
    drop(bringers.pop());
    // Its permit is free once the agent has noticed the end of the stream.
    while client.seed(iter([batch(1, &[])])).await.is_err() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn questions_are_checked_before_the_house_is_asked() {
    let agent = Arc::new(Fake::default());
    let (_, mut client) = serve(Arc::clone(&agent)).await;
    let mut explain = async |subject: &str| {
        let request = v1::ExplainRequest { subject: subject.to_owned(), archive_file: Some(7) };
        client.explain(request).await.map(|answer| answer.into_inner()).map_err(|e| e.code())
    };
    let answer = explain(" HTTP://A.test/x ").await.unwrap();
    assert_eq!((&*answer.group_name, &*answer.archive_file), ("a.test", "7"));
    for (subject, code) in [
        ("", Code::InvalidArgument),
        ("a.test/x", Code::InvalidArgument),
        ("\u{0}", Code::InvalidArgument),
        ("later.test", Code::Unavailable),
        ("broken.test", Code::Internal),
    ] {
        assert_eq!(explain(subject).await.unwrap_err(), code, "{subject:?}");
    }
    let mut hosts = async |contains: &str, limit, order| {
        let asked = v1::HostsRequest { contains: contains.to_owned(), limit, order };
        client.hosts(asked).await.map_err(|e| e.code())
    };
    assert!(hosts("Example", 0, HostOrder::Pages.into()).await.is_ok());
    assert!(hosts("", 1_000, 0).await.is_ok());
    assert_eq!(hosts("", 1_001, 0).await.unwrap_err(), Code::InvalidArgument);
    assert_eq!(hosts("", 1, 99).await.unwrap_err(), Code::InvalidArgument);
    assert_eq!(hosts("busy", 1, 0).await.unwrap_err(), Code::ResourceExhausted);
    let wanted =
        |contains: &str, limit, order| HostsQuery { contains: contains.to_owned(), limit, order };
    assert_eq!(agent.wanted.lock()[0], wanted("example", 100, HostOrder::Pages));
    assert_eq!(agent.wanted.lock()[1], wanted("", 1_000, HostOrder::Unspecified));
    let asked = |limit| v1::FetchesRequest { limit, failed_only: true };
    let received = client.fetches(asked(3)).await.unwrap().into_inner().fetches;
    assert_eq!((received[0].bytes, received[0].status), (3, 1));
    assert!(client.fetches(asked(1_001)).await.is_err());
}

#[tokio::test]
async fn details_have_names() {
    let (_, mut client) = serve(Arc::default()).await;
    let received = client.details(v1::DetailsRequest {}).await.unwrap().into_inner();
    assert_eq!((received.discards["robots"], received.groups_owned), (3, 7));
}

/// An index whose searches end when they are told to.
#[derive(Default)]
struct SlowIndex {
    running: Mutex<usize>,
    is_free: parking_lot::Condvar,
}

impl IndexApi for SlowIndex {
    fn statistics(&self, _: &v1::SearchQuery) -> Result<v1::SearchStatisticsResponse, QueryError> {
        let mut running = self.running.lock();
        *running += 1;
        self.is_free.wait(&mut running);
        Ok(<_>::default())
    }

    fn search(
        &self,
        _: &v1::SearchQuery,
        _: u64,
        _: v1::SearchStatisticsResponse,
    ) -> Result<v1::SearchResponse, QueryError> {
        Err(QueryError::Changed)
    }

    fn page(&self, _: &str) -> Result<v1::StoredPageResponse, QueryError> {
        Err(QueryError::NoPage)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn few_searches_run_at_once_and_their_queries_are_checked() {
    let agent = Arc::new(Fake::default());
    let (_, client) = serve(Arc::clone(&agent)).await;
    let ask = async |query: v1::SearchQuery| {
        let request = v1::SearchStatisticsRequest { query: Some(query) };
        client.clone().search_statistics(request).await.map(drop).map_err(|error| error.code())
    };
    let query = |text: &str| v1::SearchQuery { query: text.to_owned(), ..<_>::default() };
    assert_eq!(ask(query("a")).await, Err(Code::FailedPrecondition), "without an index");
    assert_eq!(ask(query(&"a".repeat(1_025))).await, Err(Code::InvalidArgument));
    assert_eq!(ask(v1::SearchQuery { limit: 101, ..query("a") }).await, Err(Code::InvalidArgument));
    for rank_weight in [-1.0, f64::NAN, f64::INFINITY] {
        let wrong = v1::SearchQuery { rank_weight, ..query("a") };
        assert_eq!(ask(wrong).await, Err(Code::InvalidArgument));
    }
    let index = agent.index.get_or_init(Arc::default).clone();
    let search = v1::SearchRequest { query: Some(query("a")), ..<_>::default() };
    let changed = client.clone().search(search).await.map(drop).map_err(|error| error.code());
    assert_eq!(changed, Err(Code::Aborted));
    let page = client.clone().stored_page(v1::StoredPageRequest::default()).await;
    assert_eq!(page.map(drop).map_err(|error| error.code()), Err(Code::NotFound));

    // The third search gives up, and never runs.
    let mut three: FuturesUnordered<_> =
        ["a", "b", "c"].map(|text| ask(query(text))).into_iter().collect();
    assert_eq!(three.next().await, Some(Err(Code::ResourceExhausted)));
    while *index.running.lock() < 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(*index.running.lock(), 2);
    index.is_free.notify_all();
    assert_eq!((three.next().await, three.next().await), (Some(Ok(())), Some(Ok(()))));
    let third = async {
        while *index.running.lock() < 3 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        index.is_free.notify_all();
    };
    assert_eq!(tokio::join!(ask(query("d")), third), (Ok(()), ()));
}

/// Sends a file in parts.
async fn put(
    client: &mut ControlClient<tonic::transport::Channel>,
    (digest, length): (&str, usize),
    bytes: &[u8],
) -> Result<(), Status> {
    let begin = v1::PutHostRanksRequest {
        digest: digest.to_owned(),
        length: length as u64,
        ..v1::PutHostRanksRequest::default()
    };
    let part = |bytes: &[u8]| v1::PutHostRanksRequest {
        bytes: bytes.to_vec().into(),
        ..v1::PutHostRanksRequest::default()
    };
    let parts: Vec<_> = std::iter::once(begin).chain(bytes.chunks(700).map(part)).collect();
    client.put_host_ranks(iter(parts)).await.map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn only_whole_files_of_ranks_within_the_bound_are_stored() {
    let dir = tempfile::tempdir().unwrap();
    let store = RankStore::new(dir.path(), ByteSize::kib(3));
    let agent = Arc::<Fake>::default();
    let (_, mut client) = serve(agent.clone()).await;
    let file = |n: usize| {
        let hosts: Vec<_> = (0..n).map(|i| (format!("h{i}.test"), i as f64)).collect();
        let bytes = HostRanks::build(&hosts, 1).unwrap();
        let digest = digest_of(&bytes);
        (bytes, digest)
    };
    let (bytes, digest) = file(20);
    let of_file = (&*digest, bytes.len());
    let early = put(&mut client, of_file, &bytes).await.unwrap_err();
    assert_eq!(early.code(), Code::Unavailable, "{early}");
    agent.ranks.set(store.clone()).unwrap();
    let (large, of_large) = file(1_000);
    let mut damaged = bytes.clone();
    damaged[1_234] ^= 4;
    for (of, bytes, why) in [
        ((&*of_large, large.len()), &*large, "state.ranks-memory=3"),
        (of_file, &bytes[..bytes.len() - 1], "as announced"),
        (of_file, &[&bytes[..], b"x"].concat(), "as announced"),
        (of_file, &damaged, "checksum"),
        ((&*of_large, bytes.len()), &bytes, "digest"),
        (("../x", bytes.len()), &bytes, "64 hexadecimal digits"),
    ] {
        let refused = put(&mut client, of, bytes).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{refused}");
        assert!(refused.message().contains(why), "{refused}");
    }
    assert!(client.put_host_ranks(iter([])).await.is_err());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "a file was written");
    put(&mut client, of_file, &bytes).await.unwrap();
    assert!(store.load(&digest).unwrap());
    assert_eq!(store.in_force().rank("h19.test"), 255);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_file_of_ranks_is_received_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let agent = Arc::<Fake>::default();
    agent.ranks.set(RankStore::new(dir.path(), ByteSize::kib(3))).unwrap();
    let (_, mut client) = serve(agent).await;
    let mut second = client.clone();
    let first = tokio::spawn(async move { client.put_host_ranks(pending()).await.map(drop) });
    let refused = loop {
        let answer = second.put_host_ranks(iter([])).await.unwrap_err();
        if answer.code() == Code::ResourceExhausted {
            break answer;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    assert!(refused.message().contains("being received"), "{refused}");
    first.abort();
}
