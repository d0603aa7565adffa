//! Garbage and invalid requests: each is refused with advice, and the next caller is unaffected.

use crate::kit::{Doors, LONG, client, endpoint, start, view};
use crivello_proto::{REQUEST_SIZE_MAX, v1};
use tempfile::tempdir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tonic::Code;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic_prost::ProstCodec;

#[tokio::test]
async fn a_wrong_join_is_refused_with_what_to_do() {
    let (dir, doors) = (tempdir().unwrap(), Doors::open().await);
    let coordinator = start(dir.path(), LONG).await;
    let mut client = client(&coordinator).await;
    client.join(doors.join(1, "a")).await.unwrap();
    let before = view(&mut client).await;
    let with = |change: &dyn Fn(&mut v1::JoinRequest)| {
        let mut join = doors.join(2, "b");
        change(&mut join);
        join
    };
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let closed = closed.to_string();
    for (join, code, words) in [
        (with(&|j| j.name = "a".into()), Code::AlreadyExists, "another agent has this name"),
        (with(&|j| j.address = doors.of(1)), Code::AlreadyExists, "another agent has this address"),
        (with(&|j| j.name = String::new()), Code::InvalidArgument, "invalid agent name"),
        (with(&|j| j.name = "\u{1b}[2J".into()), Code::InvalidArgument, "control character"),
        (with(&|j| j.weight = 0), Code::InvalidArgument, "1 to 64"),
        (with(&|j| j.weight = u32::MAX), Code::InvalidArgument, "1 to 64"),
        (with(&|j| j.process = 0), Code::InvalidArgument, "must not be 0"),
        (with(&|j| j.format_version += 1), Code::FailedPrecondition, "same version of crivello"),
        (with(&|j| j.crawl_id = "c0ffee".into()), Code::FailedPrecondition, "another crawl"),
        (with(&|j| j.id = Some(7)), Code::FailedPrecondition, "never assigned"),
        (with(&|j| j.id = Some(1)), Code::Aborted, "another process"),
        (
            with(&|j| (j.id, j.process, j.weight) = (Some(1), 1, 2)),
            Code::FailedPrecondition,
            "weight",
        ),
        (with(&|j| j.address = String::new()), Code::InvalidArgument, "invalid agent address"),
        (with(&|j| j.address = "http://a/".into()), Code::InvalidArgument, "invalid agent address"),
        (with(&|j| j.address = closed.clone()), Code::FailedPrecondition, "--advertise HOST:PORT"),
        (with(&|j| j.address = "0.0.0.0:1".into()), Code::FailedPrecondition, "--advertise"),
        (with(&|j| j.address = "no.invalid:1".into()), Code::FailedPrecondition, "looked up"),
    ] {
        let status = client.join(join.clone()).await.unwrap_err();
        assert_eq!(status.code(), code, "{join:?}: {status}");
        assert!(status.message().contains(words), "{join:?}: {status}");
    }
    assert_eq!(view(&mut client).await, before, "a refused join changed the view");
    coordinator.stop().await.unwrap();
}

/// A join request whose name is not valid UTF-8.
#[derive(Clone, PartialEq, prost::Message)]
struct NoJoin {
    #[prost(bytes = "vec", tag = "5")]
    name: Vec<u8>,
}

#[tokio::test]
async fn garbage_and_oversized_messages_are_refused() {
    let (dir, doors) = (tempdir().unwrap(), Doors::open().await);
    let coordinator = start(dir.path(), LONG).await;
    let mut client = client(&coordinator).await;

    let mut oversized = doors.join(1, "a");
    oversized.name = "x".repeat(REQUEST_SIZE_MAX);
    let status = client.join(oversized).await.unwrap_err();
    assert_eq!(status.code(), Code::OutOfRange, "{status}");

    let mut raw = Grpc::new(endpoint(&coordinator).connect().await.unwrap());
    for (path, known) in
        [("/crivello.v1.Coordinator/Join", true), ("/crivello.v1.Coordinator/Nothing", false)]
    {
        raw.ready().await.unwrap();
        let codec = ProstCodec::<NoJoin, v1::JoinResponse>::default();
        let request = tonic::Request::new(NoJoin { name: vec![0xFF; 9] });
        let answer = raw.unary(request, PathAndQuery::from_static(path), codec).await;
        let code = answer.unwrap_err().code();
        assert_eq!(code == Code::Unimplemented, !known, "{code:?}");
    }

    for garbage in
        [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0xFF; 300], b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xFF\xFF"]
    {
        let mut stream = TcpStream::connect(coordinator.address()).await.unwrap();
        stream.write_all(garbage).await.unwrap();
        stream.shutdown().await.unwrap();
        // The reply does not matter, but the stream must end.
        let _ = stream.read_to_end(&mut Vec::new()).await;
    }
    client.join(doors.join(1, "a")).await.unwrap();
    coordinator.stop().await.unwrap();
}

#[tokio::test]
async fn health_and_reflection_are_there() {
    use tonic_health::pb::health_check_response::ServingStatus;
    use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};
    use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
    use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
    use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;

    let dir = tempdir().unwrap();
    let coordinator = start(dir.path(), LONG).await;
    let channel = endpoint(&coordinator).connect().await.unwrap();
    let service = "crivello.v1.Coordinator".to_owned();
    let check = HealthCheckRequest { service: service.clone() };
    let health = HealthClient::new(channel.clone()).check(check).await.unwrap().into_inner();
    assert_eq!(health.status(), ServingStatus::Serving);
    let ask = tonic_reflection::pb::v1::ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let asks = futures_util::stream::iter([ask]);
    let mut reflection = ServerReflectionClient::new(channel);
    let mut answers = reflection.server_reflection_info(asks).await.unwrap().into_inner();
    let answer = answers.message().await.unwrap().unwrap().message_response.unwrap();
    let MessageResponse::ListServicesResponse(list) = answer else { panic!("{answer:?}") };
    assert!(list.service.iter().any(|known| known.name == service), "{list:?}");
    coordinator.stop().await.unwrap();
}
