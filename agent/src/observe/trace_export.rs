//! Export of spans to a collector: OTLP over gRPC.

use crate::limits::SPANS_A_CALL;
use crate::shared::lifecycle::Lifecycle;
use crate::url_tracing::{Span, Stage, Tracer, Value};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_client::TraceServiceClient;
use opentelemetry_proto::tonic::common::v1::{
    AnyValue, InstrumentationScope, KeyValue, any_value::Value as Any,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{
    ResourceSpans, ScopeSpans, Span as OtelSpan, Status, span, status,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use std::error::Error as _;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, Request};

/// Timeout of a call to the collector.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);
/// First pause after a failed call; it doubles each time.
const BACKOFF_FIRST: Duration = Duration::from_millis(500);
const BACKOFF_MAX: Duration = Duration::from_secs(30);
/// Longest time for which pending spans delay the end of a crawl.
const FLUSH_MAX: Duration = Duration::from_secs(2);
/// Pause between two checks for pending spans.
const LOOK_UP: Duration = Duration::from_millis(200);
/// Pause between two collections, unless the queue fills up.
const COLLECT_EVERY: Duration = Duration::from_millis(200);
/// Value of `Span.flags`: the trace is sampled.
const FLAG_SAMPLED: u32 = 1;

/// Address of a collector that accepts OTLP over gRPC.
#[derive(Clone, Debug)]
pub struct Otlp(Endpoint);

impl Otlp {
    /// Parses `http://HOST:PORT` or `https://HOST:PORT`. With `https`, the collector's certificate
    /// must be signed by an authority in `ca` (PEM), or without `ca` by one that the system trusts.
    ///
    /// # Errors
    /// The reason why it is not valid, for people.
    pub fn parse(url: &str, ca: Option<&[u8]>) -> Result<Self, String> {
        let schemes = ["http://", "https://"];
        let authority = schemes.iter().find_map(|scheme| url.strip_prefix(scheme));
        if authority.unwrap_or_default().trim_end_matches('/').is_empty() {
            return Err("write http://HOST:PORT or https://HOST:PORT, where a collector accepts \
                        OTLP over gRPC (usually port 4317)"
                .to_owned());
        }
        let endpoint = Endpoint::from_shared(url.to_owned());
        let endpoint = endpoint.map_err(|error| format!("not a valid URL: {error}"))?;
        let endpoint = endpoint.connect_timeout(CALL_TIMEOUT).timeout(CALL_TIMEOUT);
        match (url.starts_with("https://"), ca) {
            (true, ca) => with_tls(endpoint, ca).map(Self),
            (false, None) => Ok(Self(endpoint)),
            (false, Some(_)) => {
                Err("a CA certificate requires https://: without TLS the collector is not \
                     authenticated"
                    .to_owned())
            }
        }
    }

    /// Returns a channel that connects with the first call. Must be called within a runtime.
    fn channel(&self) -> Channel {
        self.0.connect_lazy()
    }
}

fn with_tls(endpoint: Endpoint, ca: Option<&[u8]>) -> Result<Endpoint, String> {
    let tls = ClientTlsConfig::new();
    let tls = match ca {
        Some(pem) => {
            // Entries that are not certificates would be skipped, and then no authority would be
            // trusted.
            let found: Vec<_> = CertificateDer::pem_slice_iter(pem).collect();
            if found.is_empty() || found.iter().any(Result::is_err) {
                return Err("the CA file contains no certificate in PEM format".to_owned());
            }
            tls.ca_certificate(Certificate::from_pem(pem))
        }
        None => tls.with_native_roots(),
    };
    // The error's own text is only "transport error".
    endpoint.tls_config(tls).map_err(|error| {
        let why = error.source().map_or_else(|| error.to_string(), ToString::to_string);
        format!("TLS cannot be set up: {why}")
    })
}

/// Collects spans from the tracer's queue until the crawl is over.
pub async fn collect(lifecycle: Arc<Lifecycle>, tracer: Arc<Tracer>) {
    while !lifecycle.is_over() {
        let _ = tokio::time::timeout(COLLECT_EVERY, tracer.filling()).await;
        tracer.collect();
    }
}

/// Exporter of spans to a collector.
#[derive(Debug)]
pub struct OtlpExporter {
    tracer: Arc<Tracer>,
    /// Number of spans in the current call.
    in_call: AtomicU64,
    /// Number of calls that failed in a row.
    failures: AtomicU64,
    /// Notified to make the next call at once.
    retry_now: Notify,
}

impl OtlpExporter {
    /// Starts to export on `runtime`, until that ends.
    pub fn start(
        runtime: &Handle,
        tracer: Arc<Tracer>,
        otlp: Otlp,
        resource: Resource,
    ) -> Arc<Self> {
        tracer.enable_export();
        let this = Arc::new(Self {
            tracer,
            in_call: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            retry_now: Notify::new(),
        });
        let exporter = this.clone();
        runtime.spawn(async move { exporter.run(&otlp, &resource).await });
        this
    }

    async fn run(&self, otlp: &Otlp, resource: &Resource) {
        let mut client = TraceServiceClient::new(otlp.channel());
        loop {
            let counted = |n: usize| self.in_call.store(n as u64, Relaxed);
            let batch = self.tracer.take_pending(SPANS_A_CALL, counted);
            if batch.is_empty() {
                let _ = tokio::time::timeout(LOOK_UP, self.retry_now.notified()).await;
                continue;
            }
            let n_spans = batch.len() as u64;
            if !self.send(&mut client, &message(resource, batch)).await {
                self.tracer.count_lost(n_spans);
            }
            self.in_call.store(0, Relaxed);
        }
    }

    /// Repeats a call until it succeeds. Returns false if a retry cannot help.
    async fn send(
        &self,
        client: &mut TraceServiceClient<Channel>,
        message: &ExportTraceServiceRequest,
    ) -> bool {
        let mut wait = BACKOFF_FIRST;
        loop {
            let Err(status) = client.export(Request::new(message.clone())).await else {
                if self.failures.swap(0, Relaxed) > 0 {
                    tracing::info!("the trace collector accepts spans again");
                }
                return true;
            };
            if self.failures.fetch_add(1, Relaxed) == 0 {
                let why = status.message();
                tracing::warn!(code = ?status.code(), why, "the trace collector accepts no spans; the crawl continues");
            }
            if !can_be_repeated(status.code()) {
                return false;
            }
            let _ = tokio::time::timeout(wait, self.retry_now.notified()).await;
            wait = (2 * wait).min(BACKOFF_MAX);
        }
    }

    /// Sends the pending spans, but gives up soon or if the collector does not answer.
    pub async fn flush_with_deadline(&self) {
        self.tracer.collect();
        let before = self.failures.load(Relaxed);
        self.retry_now.notify_one();
        let flushed = async {
            loop {
                let left = self.tracer.pending() as u64 + self.in_call.load(Relaxed);
                if left == 0 || self.failures.load(Relaxed) > before {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let _ = tokio::time::timeout(FLUSH_MAX, flushed).await;
    }
}

/// Returns true if the OTLP specification calls this code retryable.
const fn can_be_repeated(code: Code) -> bool {
    matches!(
        code,
        Code::Cancelled
            | Code::DeadlineExceeded
            | Code::Aborted
            | Code::OutOfRange
            | Code::Unavailable
            | Code::DataLoss
            | Code::ResourceExhausted
            | Code::Unknown
    )
}

fn message(resource: &Resource, spans: Vec<Span>) -> ExportTraceServiceRequest {
    let scope = InstrumentationScope {
        name: "crivello".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..InstrumentationScope::default()
    };
    let spans = spans.into_iter().map(otel).collect();
    let scope_spans = vec![ScopeSpans { scope: Some(scope), spans, ..ScopeSpans::default() }];
    let resource = Some(resource.clone());
    let resource_spans = vec![ResourceSpans { resource, scope_spans, ..ResourceSpans::default() }];
    ExportTraceServiceRequest { resource_spans }
}

/// Describes the exporting agent. `agent` is its id, 0 for one that is alone; `name` is its name,
/// the crawl's id for one that is alone.
pub fn resource(crawl_id: &str, agent: u32, name: &str) -> Resource {
    let attributes = [
        ("service.name", Any::StringValue("crivello-agent".to_owned())),
        ("service.version", Any::StringValue(env!("CARGO_PKG_VERSION").to_owned())),
        ("service.instance.id", Any::StringValue(name.to_owned())),
        ("crivello.crawl.id", Any::StringValue(crawl_id.to_owned())),
        ("crivello.agent.id", Any::IntValue(i64::from(agent))),
    ];
    let attributes = attributes.into_iter().map(|(name, value)| attribute(name, value)).collect();
    Resource { attributes, ..Resource::default() }
}

fn attribute(name: &str, value: Any) -> KeyValue {
    let value = Some(AnyValue { value: Some(value) });
    KeyValue { key: name.to_owned(), value, ..KeyValue::default() }
}

fn otel(span: Span) -> OtelSpan {
    let kind = match span.stage {
        Stage::Fetched | Stage::Resolved => span::SpanKind::Client,
        Stage::Sent => span::SpanKind::Producer,
        _ => span::SpanKind::Internal,
    };
    let error = span.attributes.iter().find(|(name, _)| *name == "error.type");
    let status = span.is_error.then(|| Status {
        message: error.map(|(_, value)| value.to_string()).unwrap_or_default(),
        code: status::StatusCode::Error as i32,
    });
    let links = span.link.iter().map(|link| span::Link {
        trace_id: link.trace.0.to_be_bytes().to_vec(),
        span_id: link.span.0.to_be_bytes().to_vec(),
        flags: FLAG_SAMPLED,
        ..span::Link::default()
    });
    let attributes = span.attributes.into_iter().map(|(name, value)| match value {
        Value::Text(text) => attribute(name, Any::StringValue(text.into())),
        Value::Count(n) => attribute(name, Any::IntValue(i64::try_from(n).unwrap_or(i64::MAX))),
        Value::Flag(flag) => attribute(name, Any::BoolValue(flag)),
    });
    OtelSpan {
        trace_id: span.trace.0.to_be_bytes().to_vec(),
        span_id: span.id.0.to_be_bytes().to_vec(),
        parent_span_id: span.parent.map(|id| id.0.to_be_bytes().to_vec()).unwrap_or_default(),
        flags: FLAG_SAMPLED,
        name: span.stage.name().to_owned(),
        kind: kind as i32,
        start_time_unix_nano: span.begin.0.saturating_mul(1_000),
        end_time_unix_nano: span.end.0.saturating_mul(1_000),
        links: links.collect(),
        status,
        attributes: attributes.collect(),
        ..OtelSpan::default()
    }
}

#[cfg(test)]
mod tests;
