//! What the HTTP client's errors mean: the deepest cause that is known decides.

use super::pins::NotPinned;
use crivello_common::failure::Failure;
use std::error::Error;
use std::io::{self, ErrorKind};

/// Where in a request it went wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// Until the response's head is complete.
    Head,
    /// While its body is read.
    Body,
}

/// The kind of failure behind `error`.
pub(super) fn failure(error: &reqwest::Error, stage: Stage) -> Failure {
    let connecting = stage == Stage::Head && error.is_connect();
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
        return of_hyper(error);
    }
    error.downcast_ref::<io::Error>().and_then(|error| of_io(error, connecting))
}

fn of_hyper(error: &hyper::Error) -> Option<Failure> {
    if error.is_parse_too_large() {
        Some(Failure::HeadTooLarge)
    } else if error.is_parse() {
        Some(Failure::BadResponse)
    } else {
        None
    }
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
        // Closed within the handshake: TCP is up before anything can end.
        ErrorKind::UnexpectedEof if connecting => Some(Failure::Tls),
        ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::BrokenPipe
        | ErrorKind::TimedOut
        | ErrorKind::UnexpectedEof => Some(Failure::Disconnected),
        // A chunk that is none.
        ErrorKind::InvalidData | ErrorKind::InvalidInput => Some(Failure::BadResponse),
        _ => None,
    }
}
