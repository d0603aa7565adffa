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

pub(super) fn on_wire(batch: LeaseBatch, me: AgentId, epoch: u64) -> v1::TurnsRequest {
    let held = |held: ReportedLease| v1::HeldTurn {
        address: bytes(held.address),
        asked: held.asked.0,
        left: micros(held.left),
    };
    let report = batch.report.map(|report| v1::TurnReport {
        held: report.held.into_iter().map(held).collect(),
        is_clear: report.is_clear,
    });
    let note = |note| match note {
        LeaseRequest::Acquire { address, asked } => {
            v1::TurnNote { address: bytes(address), asked: asked.0, rest: None }
        }
        LeaseRequest::Return { address, asked, rest } => {
            v1::TurnNote { address: bytes(address), asked: asked.0, rest: Some(micros(rest)) }
        }
    };
    let news = |news| match news {
        LeaseNotice::Granted { address, asked, rest } => {
            v1::TurnNews { address: bytes(address), asked: Some(asked.0), rest: micros(rest) }
        }
        LeaseNotice::Wanted { address } => {
            v1::TurnNews { address: bytes(address), asked: None, rest: 0 }
        }
    };
    v1::TurnsRequest {
        sender: me.0,
        epoch,
        number: batch.number,
        report,
        notes: batch.notes.into_iter().map(note).collect(),
        news: batch.news.into_iter().map(news).collect(),
    }
}

pub(super) fn batch_of(request: v1::TurnsRequest) -> Result<LeaseBatch, PeerError> {
    let held = |held: &v1::HeldTurn| {
        let left = Duration::from_micros(held.left);
        Ok(ReportedLease { address: address(&held.address)?, asked: Timestamp(held.asked), left })
    };
    let report = |report: v1::TurnReport| {
        let turns: Result<_, PeerError> = report.held.iter().map(held).collect();
        Ok::<_, PeerError>(LeaseReport { held: turns?, is_clear: report.is_clear })
    };
    let note = |note: v1::TurnNote| {
        let (address, asked) = (address(&note.address)?, Timestamp(note.asked));
        Ok(match note.rest.map(Duration::from_micros) {
            None => LeaseRequest::Acquire { address, asked },
            Some(rest) => LeaseRequest::Return { address, asked, rest },
        })
    };
    let news = |news: v1::TurnNews| {
        let address = address(&news.address)?;
        let rest = Duration::from_micros(news.rest);
        Ok(match news.asked.map(Timestamp) {
            Some(asked) => LeaseNotice::Granted { address, asked, rest },
            None => LeaseNotice::Wanted { address },
        })
    };
    let notes: Result<_, PeerError> = request.notes.into_iter().map(note).collect();
    let all_news: Result<_, PeerError> = request.news.into_iter().map(news).collect();
    let report = request.report.map(report).transpose()?;
    Ok(LeaseBatch { number: request.number, report, notes: notes?, news: all_news? })
}
