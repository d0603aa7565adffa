use super::kit::{ME, PEER, node, sender, view};
use crate::messages::{LeaseNotice, LeaseReport, LeaseRequest, ReportedLease};
use crate::peers::{LeaseBatch, PeerReply};
use crivello_common::time::Timestamp;
use crivello_proto::v1;
use crivello_proto::v1::peer_client::PeerClient;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;
use tonic::Code;

const V4: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 51, 100, 7));
const V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 7));

#[tokio::test(flavor = "multi_thread")]
async fn batches_of_ip_leases_arrive_unchanged() {
    let node = node(None).await;
    let view = view(5, &[node.server.address()]);
    node.show(Arc::clone(&view));
    let (outgoing, _hears) = sender(None);
    outgoing.set_view(&view);
    let (requested_at, rest) = (Timestamp(1_700_000_000_000_001), Duration::from_micros(1_234_567));
    let remaining = Duration::from_secs(3);
    let batch = LeaseBatch {
        id: 1,
        report: Some(LeaseReport {
            held: vec![ReportedLease { address: V6, requested_at, remaining }],
            is_clear: true,
        }),
        requests: vec![
            LeaseRequest::Return { address: V4, requested_at, rest: Duration::ZERO },
            LeaseRequest::Acquire { address: V4, requested_at },
            LeaseRequest::Return { address: V6, requested_at, rest },
        ],
        notices: vec![
            LeaseNotice::Granted { address: V6, requested_at, rest, term: Duration::from_secs(60) },
            LeaseNotice::Wanted { address: V4 },
        ],
    };
    assert_eq!(
        outgoing.exchange_ip_leases(PEER, 5, batch.clone()).await.unwrap(),
        PeerReply::Accepted
    );
    let nothing =
        LeaseBatch { id: 2, report: Some(LeaseReport::default()), ..LeaseBatch::default() };
    assert_eq!(
        outgoing.exchange_ip_leases(PEER, 5, nothing.clone()).await.unwrap(),
        PeerReply::Accepted
    );
    assert_eq!(*node.inbox.ip_leases.lock(), [batch, nothing.clone()]);
    let refused = outgoing.exchange_ip_leases(PEER, 4, nothing).await.unwrap();
    assert_eq!(refused, PeerReply::ViewMismatch(Some(view)), "sent in an earlier epoch");
    assert_eq!(node.inbox.ip_leases.lock().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_is_none_is_refused() {
    let node = node(None).await;
    let address = node.server.address();
    node.show(view(1, &[address]));
    let mut client = PeerClient::connect(format!("http://{address}")).await.unwrap();
    for bytes in [&[][..], &[1, 2, 3], &[0; 17]] {
        let from_borrower = vec![v1::IpLeaseFromBorrower {
            address: bytes.to_vec().into(),
            requested_at: 1,
            rest_us: None,
        }];
        let envelope = Some(v1::Envelope { sender: ME.0, epoch: 1, id: 1, sent_at: 0 });
        let request = v1::IpLeaseBatch { envelope, from_borrower, ..Default::default() };
        let status = client.exchange_ip_leases(request).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument, "{status}");
    }
    assert!(node.inbox.ip_leases.lock().is_empty());
}
