//! Callers of the nodes of a cluster, with the files of one of them.

use crivello_common::certificate_id::CertificateId;
use crivello_proto::auth::{AuthChannel, BearerToken};
use crivello_proto::tls::{Tls, TlsFiles};
use crivello_proto::v1::control_client::ControlClient;
use crivello_proto::v1::coordinator_client::CoordinatorClient;
use crivello_proto::v1::peer_client::PeerClient;
use crivello_proto::{LiveToken, dial, v1};
use crivello_tests::Cluster;
use std::sync::Arc;
use tokio::runtime::Runtime;

/// A certificate, a secret or a ticket, and a thread for calls.
pub struct Caller {
    tls: Tls,
    bearer: BearerToken,
    runtime: Arc<Runtime>,
}

impl Caller {
    /// Has the certificate and the node secret of an agent.
    pub fn node(cluster: &Cluster, name: &str) -> Self {
        Self::with(cluster, name, "node-secret")
    }

    /// Has the certificate and the token of people.
    pub fn people(cluster: &Cluster) -> Self {
        Self::with(cluster, "people", "token")
    }

    fn with(cluster: &Cluster, name: &str, secret: &str) -> Self {
        let file = |file: &str| cluster.certs().dir().join(file);
        let cert = file(&format!("{name}.pem"));
        let files = TlsFiles { cert, key: file(&format!("{name}.key")), ca: file("ca.pem") };
        let secret = LiveToken::load(&file(secret)).expect("a secret");
        let bearer = BearerToken::new(Some(&secret));
        let runtime = Arc::new(Runtime::new().expect("a runtime"));
        Self { tls: Tls::load(files).expect("certificates"), bearer, runtime }
    }

    /// Returns a caller with the same certificate and a ticket.
    pub fn with_ticket(&self, ticket: &[u8]) -> Self {
        let (tls, runtime) = (self.tls.clone(), Arc::clone(&self.runtime));
        Self { tls, bearer: BearerToken::ticket(ticket), runtime }
    }

    pub fn block_on<T>(&self, call: impl Future<Output = T>) -> T {
        self.runtime.block_on(call)
    }

    fn channel(&self, url: &str) -> AuthChannel {
        let _entered = self.runtime.enter();
        let endpoint = dial::target(url, Some(&self.tls)).expect("a URL");
        self.bearer.wrap(dial::lazy(&endpoint, Some(&self.tls)))
    }

    pub fn coordinator(&self, url: &str) -> CoordinatorClient<AuthChannel> {
        CoordinatorClient::new(self.channel(url))
    }

    pub fn control(&self, url: &str) -> ControlClient<AuthChannel> {
        ControlClient::new(self.channel(url))
    }

    pub fn peer(&self, url: &str) -> PeerClient<AuthChannel> {
        PeerClient::new(self.channel(url))
    }
}

/// Returns the view in force, which the coordinator shows to nodes.
pub fn view(caller: &Caller, coordinator: &str) -> v1::View {
    let mut client = caller.coordinator(coordinator);
    let watch = v1::WatchViewRequest { known_epoch: 0 };
    let view =
        caller.block_on(async { client.watch_view(watch).await?.into_inner().message().await });
    view.expect("a stream of views").expect("a view")
}

/// Returns the identity of an agent's certificate in the view.
pub fn certificate_of(cluster: &Cluster, name: &str) -> CertificateId {
    let view = view(&Caller::node(cluster, name), &cluster.url());
    let agent = view.agents.iter().find(|agent| agent.name == name).expect("a member");
    let [certificate] = agent.certificates.as_slice() else { panic!("{agent:?}") };
    CertificateId(certificate.as_ref().try_into().expect("32 bytes"))
}
