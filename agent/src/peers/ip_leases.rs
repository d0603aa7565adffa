//! Batches of IP lease messages, on the wire.

use super::envelope::{PeerError, envelope};
use crate::messages::{LeaseBatch, LeaseNotice, LeaseReport, LeaseRequest, ReportedLease};
use bytes::Bytes;
use crivello_common::time::{Timestamp, micros};
use crivello_proto::v1;
use std::net::IpAddr;
use std::time::Duration;

fn bytes(address: IpAddr) -> Bytes {
    match address {
        IpAddr::V4(v4) => Bytes::copy_from_slice(&v4.octets()),
        IpAddr::V6(v6) => Bytes::copy_from_slice(&v6.octets()),
    }
}

fn address(bytes: &[u8]) -> Result<IpAddr, PeerError> {
    let v4 = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    let v6 = || <[u8; 16]>::try_from(bytes).map(IpAddr::from);
    v4.or_else(|_| v6()).map_err(|_| {
        PeerError(format!("an IP address has {} bytes instead of 4 or 16", bytes.len()))
    })
}

/// Returns the message of a batch. The id of the envelope is that of the batch.
pub(super) fn to_wire(envelope: Option<v1::Envelope>, batch: LeaseBatch) -> v1::IpLeaseBatch {
    let held = |held: ReportedLease| v1::HeldIpLease {
        address: bytes(held.address),
        requested_at: held.requested_at.0,
        remaining_us: micros(held.remaining),
    };
    let report = batch.report.map(|report| v1::IpLeaseReport {
        held: report.held.into_iter().map(held).collect(),
        is_clear: report.is_clear,
    });
    let request = |request| {
        let (address, requested_at, rest) = match request {
            LeaseRequest::Acquire { address, requested_at } => (address, requested_at, None),
            LeaseRequest::Return { address, requested_at, rest } => {
                (address, requested_at, Some(micros(rest)))
            }
        };
        let (address, requested_at) = (bytes(address), requested_at.0);
        v1::IpLeaseFromBorrower { address, requested_at, rest_us: rest }
    };
    let notice = |notice| {
        let (address, requested_at, rest_us, term_us) = match notice {
            LeaseNotice::Granted { address, requested_at, rest, term } => {
                (address, Some(requested_at.0), micros(rest), micros(term))
            }
            LeaseNotice::Wanted { address } => (address, None, 0, 0),
        };
        v1::IpLeaseFromLessor { address: bytes(address), requested_at, rest_us, term_us }
    };
    v1::IpLeaseBatch {
        envelope,
        report,
        from_borrower: batch.requests.into_iter().map(request).collect(),
        from_lessor: batch.notices.into_iter().map(notice).collect(),
    }
}

/// Returns the envelope and the content of a batch.
pub(super) fn from_wire(batch: v1::IpLeaseBatch) -> Result<(v1::Envelope, LeaseBatch), PeerError> {
    let held = |held: &v1::HeldIpLease| {
        Ok(ReportedLease {
            address: address(&held.address)?,
            requested_at: Timestamp(held.requested_at),
            remaining: Duration::from_micros(held.remaining_us),
        })
    };
    let report = |v1::IpLeaseReport { held: all, is_clear }| {
        let all = all.iter().map(held).collect::<Result<_, PeerError>>();
        all.map(|held| LeaseReport { held, is_clear })
    };
    let request = |request: v1::IpLeaseFromBorrower| {
        let address = address(&request.address)?;
        let requested_at = Timestamp(request.requested_at);
        Ok(match request.rest_us.map(Duration::from_micros) {
            None => LeaseRequest::Acquire { address, requested_at },
            Some(rest) => LeaseRequest::Return { address, requested_at, rest },
        })
    };
    let notice = |notice: v1::IpLeaseFromLessor| {
        let address = address(&notice.address)?;
        let rest = Duration::from_micros(notice.rest_us);
        let term = Duration::from_micros(notice.term_us);
        Ok(match notice.requested_at.map(Timestamp) {
            Some(requested_at) => LeaseNotice::Granted { address, requested_at, rest, term },
            None => LeaseNotice::Wanted { address },
        })
    };
    let envelope = envelope(batch.envelope)?;
    let report = batch.report.map(report).transpose()?;
    let requests: Result<_, PeerError> = batch.from_borrower.into_iter().map(request).collect();
    let notices: Result<_, PeerError> = batch.from_lessor.into_iter().map(notice).collect();
    let batch = LeaseBatch { id: envelope.id, report, requests: requests?, notices: notices? };
    Ok((envelope, batch))
}
