//! The gRPC service: validates requests, calls the [`AgentApi`], and sends the responses.

use super::search::{SearchRunner, checked};
use super::{
    AgentApi, HostsQuery, IndexApi, QueryError, SeedAnswer, SeedBatch, Subject, host_arcs, ranks,
    tail,
};
use crate::limits::{SEED_BATCHES_A_STREAM, SEED_STREAMS_MAX, TAIL_STREAMS_MAX};
use crate::messages::{ArchivedPages, BlockCount};
use crivello_common::discard::Discard;
use crivello_common::runtime::set_log_filter;
use crivello_common::url::{CrawlUrl, is_normal_host};
use crivello_common::view::{AgentId, LostArchive};
use crivello_proto::v1::control_server::{Control, ControlServer};
use crivello_proto::v1::{self, HostOrder, seed_response};
use crivello_proto::{CONTROL_RESPONSE_SIZE_MAX, SEED_LINES_MAX, SEEDS_SIZE_MAX};
use futures_util::future::BoxFuture;
use futures_util::stream::{BoxStream, FuturesOrdered, unfold};
use futures_util::{FutureExt, StreamExt};
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tonic::server::NamedService;
use tonic::{Request, Response, Status, Streaming};

/// The type of the service.
pub type Service = ControlServer<ControlService>;

/// The name of the service in health checks.
pub const NAME: &str = Service::NAME;

type Answer<T> = Result<Response<T>, Status>;

/// Default number of items in a list of hosts or of fetches.
const LIST: u32 = 100;
/// Maximum number of items in such a list.
const LIST_MAX: u32 = 1_000;
/// Number of spans in a response: by default, and at most.
const TRACES: u32 = 1_000;
const TRACES_MAX: u32 = 10_000;

/// Creates the control service of an agent.
#[must_use]
pub fn service(agent: Arc<dyn AgentApi>) -> Service {
    let permits = Arc::new(Semaphore::new(SEED_STREAMS_MAX));
    let tail_permits = Arc::new(Semaphore::new(TAIL_STREAMS_MAX));
    let (searches, stored_pages) = (SearchRunner::new(), SearchRunner::new());
    let ranks_permit = Arc::new(Semaphore::new(1));
    let host_arcs_permit = Arc::new(Semaphore::new(1));
    let service = ControlService {
        agent,
        permits,
        tail_permits,
        searches,
        stored_pages,
        ranks_permit,
        host_arcs_permit,
    };
    ControlServer::new(service)
        .max_decoding_message_size(SEEDS_SIZE_MAX)
        .max_encoding_message_size(CONTROL_RESPONSE_SIZE_MAX)
}

/// The implementation of the service; see [`service`].
#[derive(Clone)]
pub struct ControlService {
    agent: Arc<dyn AgentApi>,
    /// Permits for seed streams at once.
    permits: Arc<Semaphore>,
    /// Permits for streams of captures at once.
    tail_permits: Arc<Semaphore>,
    searches: SearchRunner,
    stored_pages: SearchRunner,
    /// Permit to send ranks, for one at a time: they are received into memory.
    ranks_permit: Arc<Semaphore>,
    /// Permit to make host arcs, once at a time.
    host_arcs_permit: Arc<Semaphore>,
}

#[tonic::async_trait]
impl Control for ControlService {
    type SeedStream = BoxStream<'static, Result<v1::SeedResponse, Status>>;
    type TailStream = BoxStream<'static, Result<v1::TailResponse, Status>>;
    type HostArcsStream = BoxStream<'static, Result<v1::HostArcsResponse, Status>>;

    async fn host_arcs(&self, _: Request<v1::HostArcsRequest>) -> Answer<Self::HostArcsStream> {
        let permit = Arc::clone(&self.host_arcs_permit).try_acquire_owned();
        let permit =
            permit.map_err(|_| Status::resource_exhausted("other host arcs are being made"))?;
        let source = self.agent.host_arcs().ok_or(QueryError::NoGraph)?;
        Ok(Response::new(host_arcs::stream(source, permit)?))
    }

    async fn tail(&self, request: Request<v1::TailRequest>) -> Answer<Self::TailStream> {
        let permit = Arc::clone(&self.tail_permits).try_acquire_owned();
        let permit =
            permit.map_err(|_| Status::resource_exhausted("too many concurrent readers"))?;
        let archive = self.agent.archive();
        let archive = archive.ok_or_else(|| Status::unavailable("the agent has not joined yet"))?;
        Ok(Response::new(tail::stream(archive, request.into_inner(), permit)))
    }

    async fn status(&self, _: Request<v1::StatusRequest>) -> Answer<v1::StatusResponse> {
        Ok(Response::new(self.agent.status()))
    }

    async fn count_archived(
        &self,
        request: Request<v1::CountArchivedRequest>,
    ) -> Answer<v1::CountArchivedResponse> {
        let (answer, answered) = oneshot::channel();
        let v1::CountArchivedRequest { agent, safe_files } = request.into_inner();
        self.agent.archived(LostArchive { agent: AgentId(agent), safe_files }, answer);
        let ArchivedPages { lost, safe } = answered
            .await
            .map_err(|_| Status::unavailable("the agent cannot answer now: try again"))?
            .ok_or_else(|| Status::internal("the agent's state cannot be read"))?;
        Ok(Response::new(v1::CountArchivedResponse { pages: lost, safe_pages: safe }))
    }

    async fn explain(&self, request: Request<v1::ExplainRequest>) -> Answer<v1::ExplainResponse> {
        let request = request.into_inner();
        let subject = Subject::parse(&request.subject).map_err(invalid)?;
        Ok(Response::new(self.agent.explain(subject, request.archive_file).await?))
    }

    async fn hosts(&self, request: Request<v1::HostsRequest>) -> Answer<v1::HostsResponse> {
        let request = request.into_inner();
        let order = HostOrder::try_from(request.order)
            .map_err(|_| invalid(format!("unknown order {}", request.order)))?;
        let query = HostsQuery {
            contains: request.contains.to_lowercase(),
            limit: list_limit(request.limit, LIST, LIST_MAX)?,
            order,
        };
        Ok(Response::new(self.agent.hosts(query).await?))
    }

    async fn fetches(&self, request: Request<v1::FetchesRequest>) -> Answer<v1::FetchesResponse> {
        let v1::FetchesRequest { limit, failed_only } = request.into_inner();
        let fetches = self.agent.fetches(list_limit(limit, LIST, LIST_MAX)?, failed_only);
        Ok(Response::new(v1::FetchesResponse { fetches }))
    }

    async fn blocks(&self, _: Request<v1::BlocksRequest>) -> Answer<v1::BlocksResponse> {
        let block = |BlockCount { what: entry, done, hosts, urls }| v1::BlockProgress {
            entry,
            done,
            hosts,
            urls,
        };
        let blocks = self.agent.blocks().into_iter().map(block).collect();
        Ok(Response::new(v1::BlocksResponse { blocks }))
    }

    async fn traces(&self, request: Request<v1::TracesRequest>) -> Answer<v1::TracesResponse> {
        let v1::TracesRequest { limit, trace_id } = request.into_inner();
        let trace = match <[u8; 16]>::try_from(trace_id.as_ref()) {
            Ok(bytes) => Some(u128::from_be_bytes(bytes)),
            Err(_) if trace_id.is_empty() => None,
            Err(_) => return Err(invalid("trace_id must have 16 bytes, or be empty")),
        };
        let spans = self.agent.traces(trace, list_limit(limit, TRACES, TRACES_MAX)?);
        Ok(Response::new(v1::TracesResponse { spans }))
    }

    async fn search_statistics(
        &self,
        request: Request<v1::SearchStatisticsRequest>,
    ) -> Answer<v1::SearchStatisticsResponse> {
        let query = checked(request.into_inner().query)?;
        let call = move |index: &dyn IndexApi| index.statistics(&query);
        Ok(Response::new(self.searches.run(self.agent.index(), call).await?))
    }

    async fn search(&self, request: Request<v1::SearchRequest>) -> Answer<v1::SearchResponse> {
        let v1::SearchRequest { query, generation, statistics } = request.into_inner();
        let (query, statistics) = (checked(query)?, statistics.unwrap_or_default());
        let call = move |index: &dyn IndexApi| index.search(&query, generation, statistics);
        Ok(Response::new(self.searches.run(self.agent.index(), call).await?))
    }

    async fn stored_page(
        &self,
        request: Request<v1::StoredPageRequest>,
    ) -> Answer<v1::StoredPageResponse> {
        let url = request.into_inner().url;
        let call = move |index: &dyn IndexApi| index.page(&url);
        Ok(Response::new(self.stored_pages.run(self.agent.index(), call).await?))
    }

    async fn put_host_ranks(
        &self,
        request: Request<Streaming<v1::PutHostRanksRequest>>,
    ) -> Answer<v1::PutHostRanksResponse> {
        let permit = self.ranks_permit.try_acquire();
        let _permit =
            permit.map_err(|_| Status::resource_exhausted("other ranks are being received"))?;
        let store = self.agent.ranks();
        let store = store.ok_or_else(|| Status::unavailable("the agent has not joined yet"))?;
        ranks::receive(store, request.into_inner()).await?;
        Ok(Response::new(v1::PutHostRanksResponse {}))
    }

    async fn set_log_level(
        &self,
        request: Request<v1::SetLogLevelRequest>,
    ) -> Answer<v1::SetLogLevelResponse> {
        let filter = request.into_inner().filter;
        let before = set_log_filter(&filter).map_err(Status::invalid_argument)?;
        tracing::info!("log filter changed from {before} to {filter}");
        Ok(Response::new(v1::SetLogLevelResponse { previous: before }))
    }

    async fn get_cluster_view(
        &self,
        _: Request<v1::GetClusterViewRequest>,
    ) -> Answer<v1::ClusterView> {
        Ok(Response::new(self.agent.cluster_view().await?))
    }

    async fn details(&self, _: Request<v1::DetailsRequest>) -> Answer<v1::DetailsResponse> {
        let agent = Arc::clone(&self.agent);
        tokio::task::spawn_blocking(move || agent.details())
            .await
            .map_err(|_| Status::internal("the agent's metrics cannot be read"))?
            .map(Response::new)
            .ok_or_else(|| Status::unavailable("the agent has not joined yet, or has ended"))
    }

    async fn seed(&self, request: Request<Streaming<v1::SeedRequest>>) -> Answer<Self::SeedStream> {
        let permit = Arc::clone(&self.permits).try_acquire_owned();
        let permit =
            permit.map_err(|_| Status::resource_exhausted("too many concurrent seed streams"))?;
        let (agent, batches) = (Arc::clone(&self.agent), request.into_inner());
        let pending = FuturesOrdered::new();
        let requests = SeedRequests { agent, batches, pending, over: false, _permit: permit };
        let answers = unfold(Some(requests), |requests| async {
            let mut requests = requests?;
            let answer = requests.next().await?;
            let goes_on = answer.is_ok();
            Some((answer, goes_on.then_some(requests)))
        });
        Ok(Response::new(answers.boxed()))
    }
}

fn invalid(why: impl std::fmt::Display) -> Status {
    Status::invalid_argument(why.to_string())
}

/// Returns the number of items to list, for the number in a request; 0 stands for the default.
fn list_limit(limit: u32, default: u32, max: u32) -> Result<usize, Status> {
    match limit {
        0 => Ok(default as usize),
        _ if limit <= max => Ok(limit as usize),
        _ => Err(invalid(format!("limit {limit} is too large; the maximum is {max}"))),
    }
}

/// A stream of seeds.
struct SeedRequests {
    agent: Arc<dyn AgentApi>,
    batches: Streaming<v1::SeedRequest>,
    /// Answers to the batches that were passed to the agent, in order.
    pending: FuturesOrdered<BoxFuture<'static, v1::SeedResponse>>,
    /// True if the stream has ended.
    over: bool,
    _permit: OwnedSemaphorePermit,
}

impl SeedRequests {
    /// Returns the next response; `None` if there are no more.
    async fn next(&mut self) -> Option<Result<v1::SeedResponse, Status>> {
        loop {
            let has_room = self.pending.len() < SEED_BATCHES_A_STREAM;
            tokio::select! {
                Some(answer) = self.pending.next() => return Some(Ok(answer)),
                batch = self.batches.message(), if has_room && !self.over => match batch {
                    Ok(Some(batch)) => {
                        if let Err(status) = self.admit(batch) {
                            return Some(Err(status));
                        }
                    }
                    Ok(None) => self.over = true,
                    Err(status) => return Some(Err(status)),
                },
                else => return None,
            }
        }
    }

    /// Passes the URLs of a batch to the agent.
    fn admit(&mut self, batch: v1::SeedRequest) -> Result<(), Status> {
        let v1::SeedRequest { id, lines, fetch_again, hosts } = batch;
        let n = lines.len() + hosts.len();
        if n > SEED_LINES_MAX {
            return Err(invalid(format!(
                "the batch has {n} lines; the maximum is {SEED_LINES_MAX}"
            )));
        }
        let (mut urls, mut places, mut refused) = (Vec::new(), Vec::new(), Vec::new());
        for (line, text) in (0..).zip(lines) {
            match CrawlUrl::parse(&text) {
                Ok(url) => {
                    urls.push(url);
                    places.push(line);
                }
                Err(reason) => refused.push(refusal(line, reason)),
            }
        }
        if let Some(host) = hosts.iter().find(|host| !is_normal_host(host)) {
            return Err(invalid(format!("{host:?} is no host name in normal form")));
        }
        let n_hosts = hosts.len() as u64;
        let (answer, answered) = oneshot::channel();
        if urls.is_empty() && hosts.is_empty() {
            // There is nothing to pass to the agent.
            let _ = answer.send(SeedAnswer::Safe { refused: Vec::new() });
        } else {
            self.agent.seed(SeedBatch { urls, fetch_again, hosts }, answer);
        }
        let response = answered.map(move |answer| {
            let answer = answer.unwrap_or(SeedAnswer::NotNow);
            let outcome = Some(verdict(answer, (&places, n_hosts), refused));
            v1::SeedResponse { id, outcome }
        });
        self.pending.push_back(response.boxed());
        Ok(())
    }
}

fn refusal(line: u32, reason: Discard) -> v1::RejectedSeed {
    v1::RejectedSeed { line, reason: reason.description().to_owned() }
}

/// Converts the agent's answer; `places` are the lines of the URLs that were passed to it, with so many
/// hosts.
fn verdict(
    answer: SeedAnswer,
    (places, n_hosts): (&[u32], u64),
    mut refused: Vec<v1::RejectedSeed>,
) -> seed_response::Outcome {
    let SeedAnswer::Safe { refused: not_let_in } = answer else {
        return seed_response::Outcome::Retry(v1::Empty {});
    };
    let taken = (places.len() as u64).saturating_sub(not_let_in.len() as u64) + n_hosts;
    let lines = not_let_in.iter().filter_map(|&(i, reason)| Some(refusal(*places.get(i)?, reason)));
    refused.extend(lines);
    refused.sort_by_key(|refused| refused.line);
    seed_response::Outcome::Stored(v1::SeedsStored { accepted: taken, rejected: refused })
}
