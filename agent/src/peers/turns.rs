//! What is said of turns, on the wire.

use super::PeerError;
use crate::messages::{LeaseBatch, LeaseNotice, LeaseReport, LeaseRequest, ReportedLease};
use bytes::Bytes;
use crivello_common::time::Timestamp;
use crivello_common::view::AgentId;
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
    v4.or_else(|_| v6())
        .map_err(|_| PeerError::Malformed(format!("an address of {} bytes", bytes.len())))
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

pub(super) fn on_wire(batch: LeaseBatch, me: AgentId, epoch: u64) -> v1::IpLeaseBatch {
    let held = |held: ReportedLease| v1::HeldIpLease {
        address: bytes(held.address),
        requested_at: held.asked.0,
        remaining_us: micros(held.left),
    };
    let report = batch.report.map(|report| v1::IpLeaseReport {
        held: report.held.into_iter().map(held).collect(),
        is_clear: report.is_clear,
    });
    let note = |note| match note {
        LeaseRequest::Acquire { address, asked } => v1::IpLeaseFromBorrower {
            address: bytes(address),
            requested_at: asked.0,
            rest_us: None,
        },
        LeaseRequest::Return { address, asked, rest } => v1::IpLeaseFromBorrower {
            address: bytes(address),
            requested_at: asked.0,
            rest_us: Some(micros(rest)),
        },
    };
    let news = |news| match news {
        LeaseNotice::Granted { address, asked, rest } => v1::IpLeaseFromLender {
            address: bytes(address),
            requested_at: Some(asked.0),
            rest_us: micros(rest),
        },
        LeaseNotice::Wanted { address } => {
            v1::IpLeaseFromLender { address: bytes(address), requested_at: None, rest_us: 0 }
        }
    };
    v1::IpLeaseBatch {
        sender: me.0,
        epoch,
        number: batch.number,
        report,
        from_borrower: batch.notes.into_iter().map(note).collect(),
        from_lender: batch.news.into_iter().map(news).collect(),
    }
}

pub(super) fn batch_of(request: v1::IpLeaseBatch) -> Result<LeaseBatch, PeerError> {
    let held = |held: &v1::HeldIpLease| {
        let left = Duration::from_micros(held.remaining_us);
        Ok(ReportedLease {
            address: address(&held.address)?,
            asked: Timestamp(held.requested_at),
            left,
        })
    };
    let report = |report: v1::IpLeaseReport| {
        let turns: Result<_, PeerError> = report.held.iter().map(held).collect();
        Ok::<_, PeerError>(LeaseReport { held: turns?, is_clear: report.is_clear })
    };
    let note = |note: v1::IpLeaseFromBorrower| {
        let (address, asked) = (address(&note.address)?, Timestamp(note.requested_at));
        Ok(match note.rest_us.map(Duration::from_micros) {
            None => LeaseRequest::Acquire { address, asked },
            Some(rest) => LeaseRequest::Return { address, asked, rest },
        })
    };
    let news = |news: v1::IpLeaseFromLender| {
        let address = address(&news.address)?;
        let rest = Duration::from_micros(news.rest_us);
        Ok(match news.requested_at.map(Timestamp) {
            Some(asked) => LeaseNotice::Granted { address, asked, rest },
            None => LeaseNotice::Wanted { address },
        })
    };
    let notes: Result<_, PeerError> = request.from_borrower.into_iter().map(note).collect();
    let all_news: Result<_, PeerError> = request.from_lender.into_iter().map(news).collect();
    let report = request.report.map(report).transpose()?;
    Ok(LeaseBatch { number: request.number, report, notes: notes?, news: all_news? })
}
