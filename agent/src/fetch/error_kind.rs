//! Classification of the HTTP client's errors by their deepest known cause.

use super::pins::NotPinned;
use crivello_common::failure::Failure;
use std::error::Error;
use std::io::{self, ErrorKind};

/// Returns the kind of failure of `error`, which occurred before the response's head was complete or
/// while its body was read.
pub(super) fn failure(error: &reqwest::Error) -> Failure {
    let connecting = error.is_connect();
    let mut known = None;
    let mut cause = error.source();
    while let Some(error) = cause {
        known = of_cause(error, connecting).or(known);
        cause = error.source();
    }
    match known {
        Some(failure) => failure,
        None if connecting && error.is_timeout() => Failure::ConnectTimeout,
        None if connecting => Failure::Unreachable,
        None => Failure::Disconnected,
    }
}

fn of_cause(error: &(dyn Error + 'static), connecting: bool) -> Option<Failure> {
    if error.is::<NotPinned>() {
        return Some(Failure::AddressChanged);
    }
    if error.is::<rustls::Error>() {
        return Some(Failure::Tls);
    }
    if let Some(error) = error.downcast_ref::<hyper::Error>() {
        let is_bad = error.is_parse().then_some(Failure::BadResponse);
        return if error.is_parse_too_large() { Some(Failure::HeadTooLarge) } else { is_bad };
    }
    error.downcast_ref::<io::Error>().and_then(|error| of_io(error, connecting))
}

fn of_io(error: &io::Error, connecting: bool) -> Option<Failure> {
    // `io::Error::source` skips the error it was made from.
    if error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()) {
        return Some(Failure::Tls);
    }
    if let Some(inner) = error.get_ref().and_then(|inner| inner.downcast_ref::<io::Error>()) {
        return of_io(inner, connecting);
    }
    match error.kind() {
        ErrorKind::ConnectionRefused => Some(Failure::ConnectRefused),
        ErrorKind::TimedOut if connecting => Some(Failure::ConnectTimeout),
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => Some(Failure::Unreachable),
        // Closed within the TLS handshake: the TCP connection exists already.
        ErrorKind::UnexpectedEof if connecting => Some(Failure::Tls),
        ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::BrokenPipe
        | ErrorKind::TimedOut
        | ErrorKind::UnexpectedEof => Some(Failure::Disconnected),
        // An invalid chunk.
        ErrorKind::InvalidData | ErrorKind::InvalidInput => Some(Failure::BadResponse),
        _ => None,
    }
}
