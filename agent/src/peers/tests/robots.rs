use super::kit::{ME, PEER, node, sender, view};
use crate::messages::RobotsOutcome;
use crivello_common::robots::Rules;
use crivello_common::url::CrawlUrl;
use crivello_proto::v1;
use crivello_proto::v1::peer_client::PeerClient;
use std::sync::Arc;
use tonic::Code;

#[tokio::test(flavor = "multi_thread")]
async fn whatever_is_found_for_another_agent_arrives_as_it_was() {
    let node = node(None).await;
    let view = view(5, &[node.server.address()]);
    node.show(Arc::clone(&view));
    let (outgoing, _hears) = sender(None);
    outgoing.set_view(&view);
    let url = |n: u32| CrawlUrl::parse(&format!("http://{n}.example/robots.txt")).unwrap();
    let rules = Rules::parse(b"User-agent: *\nDisallow: /private\nCrawl-delay: 3", "crivello");
    let all = [
        RobotsOutcome::Rules(Arc::new(rules)),
        RobotsOutcome::Missing,
        RobotsOutcome::Unreachable,
        RobotsOutcome::Redirect(url(9)),
    ];
    node.inbox.robots.lock().extend((0..).map(url).zip(all.clone()));
    for (n, found) in (0..).zip(all) {
        let ack = outgoing.fetch_robots(PEER, &url(n)).await.unwrap();
        assert_eq!(format!("{ack:?}"), format!("{found:?}"));
    }
    let silent = outgoing.fetch_robots(PEER, &url(100)).await.unwrap();
    assert!(matches!(silent, RobotsOutcome::Unreachable), "{silent:?}");
    outgoing.set_view(&super::kit::view(6, &[node.server.address()]));
    let refused = outgoing.fetch_robots(PEER, &url(0)).await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition, "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_url_that_is_none_is_refused() {
    let node = node(None).await;
    let address = node.server.address();
    node.show(view(1, &[address]));
    let mut client = PeerClient::connect(format!("http://{address}")).await.unwrap();
    for url in ["", "robots.txt", "ftp://a.example/robots.txt"] {
        let envelope = Some(v1::Envelope { sender: ME.0, epoch: 1, ..Default::default() });
        let request = v1::FetchRobotsRequest { envelope, url: url.to_owned() };
        let status = client.fetch_robots(request).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument, "{status}");
    }
}
