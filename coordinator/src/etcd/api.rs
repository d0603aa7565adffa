//! Calls of etcd.

#[expect(
    clippy::all,
    clippy::pedantic,
    clippy::nursery,
    unreachable_pub,
    unused_qualifications,
    reason = "generated from proto/etcd.proto"
)]
mod generated {
    include!(concat!(env!("OUT_DIR"), "/etcdserverpb.rs"));
}

use bytes::Bytes;
use crivello_proto::dial;
use crivello_proto::tls::Tls;
use generated::compare::{CompareTarget, TargetUnion};
use generated::kv_client::KvClient;
use generated::lease_client::LeaseClient;
use generated::request_op::Request;
use generated::response_op::Response;
use generated::{
    Compare, LeaseGrantRequest, LeaseKeepAliveRequest, LeaseRevokeRequest, PutRequest,
    RangeRequest, RequestOp, TxnRequest,
};
use std::time::Duration;
use tokio::time::timeout;
use tonic::Status;
use tonic::transport::Channel;

pub(super) use generated::KeyValue;

/// Maximum time of a call.
const CALL_TIMEOUT: Duration = Duration::from_secs(2);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
const KEEP_ALIVE: Duration = Duration::from_secs(1);

/// A client of etcd.
#[derive(Clone, Debug)]
pub(super) struct EtcdApi {
    kv: KvClient<Channel>,
    lease: LeaseClient<Channel>,
}

/// A lease of etcd.
#[derive(Clone, Copy, Debug)]
pub(super) struct EtcdLease {
    pub(super) id: i64,
    pub(super) lasts: Duration,
}

/// A condition of a transaction.
#[derive(Clone, Copy, Debug)]
pub(super) enum Condition<'a> {
    /// The key was created in this revision; 0: there is no such key.
    Created(&'a str, i64),
    /// The key was last written in this revision; 0: there is no such key.
    Written(&'a str, i64),
}

/// The result of a transaction.
#[derive(Debug)]
pub(super) enum TxnOutcome {
    /// All conditions held, and everything was written in this revision.
    Written(i64),
    /// A condition did not hold. The keys of the conditions, in their order.
    Refused(Vec<Option<KeyValue>>),
}

impl EtcdApi {
    /// Returns a client of the etcd at these addresses, which connects when needed. It must be called within a runtime.
    ///
    /// # Errors
    /// Returns what is wrong with an address.
    pub(super) fn at(urls: &str, tls: Option<&Tls>) -> Result<Self, String> {
        let target = dial::target(urls, tls)?.map(|endpoint| {
            endpoint
                .connect_timeout(CONNECT_TIMEOUT)
                .http2_keep_alive_interval(KEEP_ALIVE)
                .keep_alive_timeout(CALL_TIMEOUT)
        });
        let channel = dial::lazy(&target, tls);
        Ok(Self { kv: KvClient::new(channel.clone()), lease: LeaseClient::new(channel) })
    }

    pub(super) async fn get(&self, key: &str) -> Result<Option<KeyValue>, Status> {
        let mut kv = self.kv.clone();
        let range = RangeRequest { key: bytes(key) };
        Ok(in_time(kv.range(range)).await?.into_inner().kvs.pop())
    }

    /// Writes keys, each with a lease (0: none), if all conditions hold.
    pub(super) async fn write(
        &self,
        conditions: &[Condition<'_>],
        puts: Vec<(&str, Vec<u8>, i64)>,
    ) -> Result<TxnOutcome, Status> {
        let keys = conditions.iter().map(|condition| match condition {
            Condition::Created(key, _) | Condition::Written(key, _) => bytes(key),
        });
        let get = |key| Request::RequestRange(RangeRequest { key });
        let put = |(key, value, lease): (&str, Vec<u8>, i64)| {
            Request::RequestPut(PutRequest { key: bytes(key), value: value.into(), lease })
        };
        let op = |request| RequestOp { request: Some(request) };
        let txn = TxnRequest {
            compare: conditions.iter().map(compare).collect(),
            success: puts.into_iter().map(|of| op(put(of))).collect(),
            failure: keys.map(|key| op(get(key))).collect(),
        };
        let mut kv = self.kv.clone();
        let answer = in_time(kv.txn(txn)).await?.into_inner();
        if answer.succeeded {
            return Ok(TxnOutcome::Written(answer.header.unwrap_or_default().revision));
        }
        let found = answer.responses.into_iter().map(|op| match op.response {
            Some(Response::ResponseRange(mut range)) => range.kvs.pop(),
            _ => None,
        });
        Ok(TxnOutcome::Refused(found.collect()))
    }

    pub(super) async fn grant_lease(&self, lasts: Duration) -> Result<EtcdLease, Status> {
        let mut lease = self.lease.clone();
        let ttl = i64::try_from(lasts.as_secs().max(1)).unwrap_or(i64::MAX);
        let granted = in_time(lease.lease_grant(LeaseGrantRequest { ttl })).await?.into_inner();
        Ok(EtcdLease { id: granted.id, lasts: seconds(granted.ttl) })
    }

    /// Renews a lease. Returns how long it lasts from now on; `None` if it has ended.
    pub(super) async fn renew_lease(&self, id: i64) -> Result<Option<Duration>, Status> {
        let mut lease = self.lease.clone();
        let renew = async {
            let requests = futures_util::stream::iter([LeaseKeepAliveRequest { id }]);
            lease.lease_keep_alive(requests).await?.into_inner().message().await
        };
        let renewed = in_time(renew).await?;
        let renewed = renewed.ok_or_else(|| Status::unavailable("etcd did not answer"))?;
        Ok(Some(seconds(renewed.ttl)).filter(|lasts| !lasts.is_zero()))
    }

    /// Ends a lease, and deletes its keys.
    pub(super) async fn end_lease(&self, id: i64) -> Result<(), Status> {
        let mut lease = self.lease.clone();
        in_time(lease.lease_revoke(LeaseRevokeRequest { id })).await.map(|_| ())
    }
}

fn compare(condition: &Condition<'_>) -> Compare {
    let (key, target, is) = match *condition {
        Condition::Created(key, at) => {
            (key, CompareTarget::Create, TargetUnion::CreateRevision(at))
        }
        Condition::Written(key, at) => (key, CompareTarget::Mod, TargetUnion::ModRevision(at)),
    };
    Compare { key: bytes(key), target: target.into(), target_union: Some(is), ..Compare::default() }
}

fn bytes(key: &str) -> Bytes {
    Bytes::copy_from_slice(key.as_bytes())
}

fn seconds(n: i64) -> Duration {
    Duration::from_secs(u64::try_from(n).unwrap_or_default())
}

async fn in_time<T>(call: impl Future<Output = Result<T, Status>>) -> Result<T, Status> {
    let late = |_| Err(Status::deadline_exceeded("etcd did not answer in time"));
    timeout(CALL_TIMEOUT, call).await.unwrap_or_else(late)
}
