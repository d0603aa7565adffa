//! A collector of traces: OTLP over gRPC, on loopback, in this process.

use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value};
use opentelemetry_proto::tonic::trace::v1::{Span, status};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};

/// A received span.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Name of the agent.
    pub by: String,
    /// Attributes as text.
    pub attributes: BTreeMap<String, String>,
    /// The whole span.
    pub span: Span,
}

impl Seen {
    /// Returns whether its status is an error.
    pub fn is_error(&self) -> bool {
        self.span.status.as_ref().is_some_and(|s| s.code == status::StatusCode::Error as i32)
    }

    /// Returns an attribute; empty if there is none.
    pub fn attribute(&self, name: &str) -> &str {
        self.attributes.get(name).map_or("", String::as_str)
    }
}

#[derive(Clone, Default)]
struct Taker(Arc<Mutex<Vec<Seen>>>);

#[tonic::async_trait]
impl TraceService for Taker {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for of in request.into_inner().resource_spans {
            let resource = of.resource.map(|resource| texts(&resource.attributes));
            let resource = resource.unwrap_or_default();
            if resource.get("service.name").map(String::as_str) != Some("crivello-agent") {
                return Err(Status::invalid_argument("unknown service"));
            }
            let by = resource.get("service.instance.id").cloned().unwrap_or_default();
            for span in of.scope_spans.into_iter().flat_map(|scope| scope.spans) {
                seen.push(Seen { by: by.clone(), attributes: texts(&span.attributes), span });
            }
        }
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

fn texts(attributes: &[KeyValue]) -> BTreeMap<String, String> {
    let text = |value: &Value| match value {
        Value::StringValue(text) => text.clone(),
        Value::IntValue(n) => n.to_string(),
        Value::BoolValue(flag) => flag.to_string(),
        other => format!("{other:?}"),
    };
    let value = |of: &KeyValue| of.value.as_ref().and_then(|value| value.value.as_ref()).map(text);
    attributes.iter().map(|of| (of.key.clone(), value(of).unwrap_or_default())).collect()
}

/// A running collector. Its spans remain available after [`Self::kill`].
pub struct Collector {
    /// `None` after a kill.
    runtime: Option<Runtime>,
    taker: Taker,
    address: SocketAddr,
}

impl Collector {
    /// Starts a collector on a free port.
    ///
    /// # Panics
    /// Panics if it cannot be started.
    #[must_use]
    pub fn start() -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let taker = Taker::default();
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)));
        let listener = listener.expect("a free port");
        let address = listener.local_addr().expect("the address of the collector");
        let service = TraceServiceServer::new(taker.clone());
        let serving = Server::builder().add_service(service);
        runtime.spawn(serving.serve_with_incoming(TcpIncoming::from(listener)));
        Self { runtime: Some(runtime), taker, address }
    }

    /// Returns the URL for `--otlp`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Stops the collector at once and closes all its connections.
    pub fn kill(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }

    /// Returns the spans received so far.
    pub fn spans(&self) -> Vec<Seen> {
        self.taker.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.kill();
    }
}
