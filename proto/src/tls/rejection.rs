//! Reasons why a connection between two nodes fails.

use crivello_common::time::Timestamp;
use rustls::pki_types::UnixTime;
use rustls::{AlertDescription, CertificateError, Error};
use std::io;

/// The node that rejects a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RejectedBy {
    /// This node rejects the other.
    Local,
    /// The other node rejects this one.
    Remote,
    /// Neither: the connection broke.
    Neither,
}

/// The kind of a rejection. Log messages are limited by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum RejectionKind {
    NoCertificate,
    Expired,
    NotYet,
    Authority,
    Name,
    NotTls,
    Token,
    Other,
    Broken,
}

/// The reason why a connection between two nodes failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// Node that rejects the connection.
    pub by: RejectedBy,
    pub(crate) kind: RejectionKind,
    /// Message; it follows the address of the other node and a colon.
    pub text: String,
}

impl Rejection {
    pub(crate) fn new(by: RejectedBy, kind: RejectionKind, text: impl Into<String>) -> Self {
        Self { by, kind, text: text.into() }
    }

    fn local(kind: RejectionKind, text: impl Into<String>) -> Self {
        Self::new(RejectedBy::Local, kind, text)
    }

    /// Returns the reason for an I/O error during the handshake.
    #[must_use]
    pub fn of_io(error: &io::Error) -> Self {
        match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
            Some(error) => Self::of(error),
            None => Self::new(
                RejectedBy::Neither,
                RejectionKind::Broken,
                format!("the connection broke before it was trusted: {error}"),
            ),
        }
    }

    /// Returns the reason for a TLS error.
    #[must_use]
    pub fn of(error: &Error) -> Self {
        match error {
            Error::NoCertificatesPresented => {
                Self::local(RejectionKind::NoCertificate, "it has no certificate")
            }
            Error::InvalidCertificate(error) => of_certificate(error),
            Error::InvalidMessage(_) => Self::local(RejectionKind::NotTls, "it does not use TLS"),
            Error::AlertReceived(alert) => of_alert(*alert),
            other => {
                Self::local(RejectionKind::Other, format!("the TLS handshake failed: {other}"))
            }
        }
    }
}

fn of_certificate(error: &CertificateError) -> Rejection {
    use CertificateError as E;
    match error {
        E::ExpiredContext { not_after, .. } => Rejection::local(
            RejectionKind::Expired,
            format!("its certificate expired on {}", time(*not_after)),
        ),
        E::Expired => Rejection::local(RejectionKind::Expired, "its certificate has expired"),
        E::NotValidYetContext { not_before, .. } => Rejection::local(
            RejectionKind::NotYet,
            format!("its certificate is not valid before {}: is a clock wrong?", time(*not_before)),
        ),
        E::NotValidYet => {
            Rejection::local(RejectionKind::NotYet, "its certificate is not yet valid")
        }
        // BadSignature means that the certificate is from another authority with the same name.
        E::UnknownIssuer | E::BadSignature => {
            Rejection::local(RejectionKind::Authority, "its certificate is from another authority")
        }
        E::NotValidForNameContext { expected, presented } => {
            let names: Vec<&str> = presented.iter().map(|name| bare(name)).collect();
            let names = if names.is_empty() { "no name".to_owned() } else { names.join(", ") };
            let name = expected.to_str();
            Rejection::local(
                RejectionKind::Name,
                format!("its certificate is for {names}, not for {name}"),
            )
        }
        other => Rejection::local(
            RejectionKind::Other,
            format!("its certificate cannot be used: {other}"),
        ),
    }
}

/// Returns the name in a text such as `DnsName("a.example")` or `IpAddress(10.0.0.1)`.
fn bare(name: &str) -> &str {
    let inner = name.split_once('(').map_or(name, |(_, rest)| rest.trim_end_matches(')'));
    inner.trim_matches('"')
}

/// Returns the reason for an alert of the other node.
fn of_alert(alert: AlertDescription) -> Rejection {
    use AlertDescription as A;
    let (kind, text) = match alert {
        A::CertificateRequired => {
            (RejectionKind::NoCertificate, "it requires a certificate".to_owned())
        }
        A::CertificateExpired => {
            (RejectionKind::Expired, "our certificate has expired or is not yet valid".to_owned())
        }
        A::UnknownCA | A::DecryptError => {
            (RejectionKind::Authority, "our certificate is from another authority".to_owned())
        }
        A::BadCertificate => (
            RejectionKind::Name,
            "our certificate is broken, or not for the name by which it connects".to_owned(),
        ),
        other => (RejectionKind::Other, format!("{other:?}")),
    };
    Rejection::new(RejectedBy::Remote, kind, format!("it reports: {text}"))
}

/// Formats a time for messages.
fn time(time: UnixTime) -> String {
    let text = Timestamp::from_secs(time.as_secs()).to_string();
    match text.split_once('.') {
        Some((whole, _)) => format!("{}Z", whole.replace('T', " ")),
        None => text,
    }
}
