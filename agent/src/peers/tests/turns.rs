use super::kit::{ME, PEER, node, sender, view};
use crate::messages::{LeaseNotice, LeaseReport, LeaseRequest, ReportedLease};
use crate::peers::{Brought, LeaseBatch};
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
async fn what_is_said_of_turns_arrives_as_it_was() {
    let node = node(None).await;
    let view = view(5, &[node.server.address()]);
    node.views.send_replace(Some(Arc::clone(&view)));
    let (outgoing, _hears) = sender(None);
    outgoing.set_view(&view);
    let (asked, rest) = (Timestamp(1_700_000_000_000_001), Duration::from_micros(1_234_567));
    let left = Duration::from_secs(3);
    let batch = LeaseBatch {
        number: 1,
        report: Some(LeaseReport {
            held: vec![ReportedLease { address: V6, asked, left }],
            is_clear: true,
        }),
        notes: vec![
            LeaseRequest::Return { address: V4, asked, rest: Duration::ZERO },
            LeaseRequest::Acquire { address: V4, asked },
            LeaseRequest::Return { address: V6, asked, rest },
        ],
        news: vec![
            LeaseNotice::Granted { address: V6, asked, rest },
            LeaseNotice::Wanted { address: V4 },
        ],
    };
    assert_eq!(outgoing.turns(PEER, 5, batch.clone()).await.unwrap(), Brought::Taken);
    let nothing =
        LeaseBatch { number: 2, report: Some(LeaseReport::default()), ..LeaseBatch::default() };
    assert_eq!(outgoing.turns(PEER, 5, nothing.clone()).await.unwrap(), Brought::Taken);
    assert_eq!(*node.inbox.turns.lock(), [batch, nothing.clone()]);
    let refused = outgoing.turns(PEER, 4, nothing).await.unwrap();
    assert_eq!(refused, Brought::Refused(Some(view)), "said under an earlier epoch");
    assert_eq!(node.inbox.turns.lock().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_is_none_is_refused() {
    let node = node(None).await;
    let address = node.server.address();
    node.views.send_replace(Some(view(1, &[address])));
    let mut client = PeerClient::connect(format!("http://{address}")).await.unwrap();
    for bytes in [&[][..], &[1, 2, 3], &[0; 17]] {
        let note = v1::IpLeaseFromBorrower {
            address: bytes.to_vec().into(),
            requested_at: 1,
            rest_us: None,
        };
        let (sender, notes) = (ME.0, vec![note]);
        let request = v1::IpLeaseBatch {
            sender,
            epoch: 1,
            number: 1,
            from_borrower: notes,
            ..Default::default()
        };
        let status = client.exchange_ip_leases(request).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument, "{status}");
    }
    assert!(node.inbox.turns.lock().is_empty());
}
