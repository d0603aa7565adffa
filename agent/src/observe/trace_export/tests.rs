use super::*;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tokio::net::TcpListener;
use tonic::Response;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Identity, Server, ServerTlsConfig};

#[test]
fn only_what_can_be_a_collector_is_taken_for_one() {
    assert!(Otlp::parse("http://127.0.0.1:4317", None).is_ok());
    for wrong in ["", "127.0.0.1:4317", "http://", "https:///", "ftp://a:1", "http://a b:1"] {
        assert!(Otlp::parse(wrong, None).is_err(), "{wrong}");
    }
    let ca = Authority::new();
    assert!(Otlp::parse("https://collector:4317", Some(ca.pem().as_bytes())).is_ok());
    let pem = ca.pem();
    let half = &pem.as_bytes()[..80];
    for (url, bad) in [("https://a:1", &b"junk"[..]), ("https://a:1", half), ("https://a:1", b"")] {
        let why = Otlp::parse(url, Some(bad)).expect_err(url);
        assert!(why.contains("no certificate"), "{why}");
    }
    let why = Otlp::parse("http://a:1", Some(ca.pem().as_bytes())).expect_err("without TLS");
    assert!(why.contains("https://"), "{why}");
}

/// Authority that signs the certificate of a collector.
struct Authority {
    certificate: rcgen::Certificate,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(Vec::new()).expect("a certificate");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).expect("a certificate");
        Self { certificate, issuer: Issuer::new(params, key) }
    }

    fn pem(&self) -> String {
        self.certificate.pem()
    }

    /// Returns the identity of a collector on this machine.
    fn identity(&self) -> Identity {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("a certificate");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        Identity::from_pem(certificate.pem(), key.serialize_pem())
    }
}

/// Collector that accepts everything.
struct Taker;

#[tonic::async_trait]
impl TraceService for Taker {
    async fn export(
        &self,
        _: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, tonic::Status> {
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

#[tokio::test]
async fn spans_go_to_a_collector_with_a_trusted_certificate_only() {
    let (ours, other) = (Authority::new(), Authority::new());
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("https://{}", listener.local_addr().expect("bound"));
    let tls = ServerTlsConfig::new().identity(ours.identity());
    let mut server = Server::builder().tls_config(tls).expect("a server");
    let server = server.add_service(TraceServiceServer::new(Taker));
    let serving = tokio::spawn(server.serve_with_incoming(TcpIncoming::from(listener)));
    let send = async |ca: &Authority| {
        let otlp = Otlp::parse(&url, Some(ca.pem().as_bytes())).expect("a collector");
        let mut client = TraceServiceClient::new(otlp.channel());
        client.export(Request::new(ExportTraceServiceRequest::default())).await
    };
    assert!(send(&ours).await.is_ok());
    assert!(
        send(&other).await.is_err(),
        "spans were sent to a collector that is not authenticated"
    );
    serving.abort();
}
