use super::kit::{PEER, facts, next_event, node, sender, view};
use crate::peers::PeerEvent;
use crivello_proto::tls::{Pem, Tls};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// An authority that signs certificates of agents at 127.0.0.1.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = params.self_signed(&key).unwrap().pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    fn member(&self) -> Pem {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap().pem().into_bytes();
        let (key, ca) = (key.serialize_pem().into_bytes(), self.pem.clone().into_bytes());
        Pem { certificate, key, ca }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_those_of_the_same_authority_speak() {
    let (ours, theirs) = (Authority::new(), Authority::new());
    let node = node(Some(Tls::of(ours.member()).unwrap())).await;
    let view = view(1, &[node.server.address()]);
    node.show(Arc::clone(&view));
    // A client that trusts our authority, with a certificate of another one.
    let impostor = Pem { ca: ours.pem.clone().into_bytes(), ..theirs.member() };
    for stranger in [None, Some(theirs.member()), Some(impostor)] {
        let (outgoing, mut events) = sender(stranger.map(|pem| Tls::of(pem).unwrap()));
        outgoing.set_view(&view);
        outgoing.offer(PEER, facts(1)).unwrap();
        assert!(outgoing.renew_peer_lease(PEER).await.is_err());
        sleep(Duration::from_millis(300)).await;
        assert!(events.try_recv().is_err());
    }
    assert!(node.inbox.got.lock().is_empty());
    let (outgoing, mut events) = sender(Some(Tls::of(ours.member()).unwrap()));
    outgoing.set_view(&view);
    let id = outgoing.offer(PEER, facts(2)).unwrap();
    assert_eq!(next_event(&mut events).await, PeerEvent::Stored { by: PEER, id });
    assert_eq!(*node.inbox.got.lock(), [facts(2)]);
}

#[test]
fn files_that_are_no_certificates_are_refused_at_once() {
    let junk = || b"junk".to_vec();
    let refused = Tls::of(Pem { certificate: junk(), key: junk(), ca: junk() });
    assert!(refused.is_err());
}
