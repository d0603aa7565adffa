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
    Denied,
    TooMany,
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

    pub(crate) fn broken(text: impl Into<String>) -> Self {
        Self::new(RejectedBy::Neither, RejectionKind::Broken, text)
    }

    /// Returns the reason for an I/O error during the handshake.
    #[must_use]
    pub fn of_io(error: &io::Error) -> Self {
        match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
            Some(error) => Self::of(error),
            None => Self::broken(format!("the connection broke before it was trusted: {error}")),
        }
    }

    /// Returns the reason for a TLS error.
    #[must_use]
    pub fn of(error: &Error) -> Self {
        let (kind, text) = match error {
            Error::NoCertificatesPresented => {
                (RejectionKind::NoCertificate, "it has no certificate".to_owned())
            }
            Error::InvalidCertificate(error) => of_certificate(error),
            Error::InvalidMessage(_) => (RejectionKind::NotTls, "it does not use TLS".to_owned()),
            Error::AlertReceived(alert) => {
                let (kind, text) = of_alert(*alert);
                return Self::new(RejectedBy::Remote, kind, format!("it reports: {text}"));
            }
            other => (RejectionKind::Other, format!("the TLS handshake failed: {other}")),
        };
        Self::new(RejectedBy::Local, kind, text)
    }
}

/// Returns the reason why we reject a certificate.
fn of_certificate(error: &CertificateError) -> (RejectionKind, String) {
    use CertificateError as E;
    let (kind, text) = match error {
        E::ExpiredContext { not_after, .. } => {
            (RejectionKind::Expired, format!("expired on {}", time(*not_after)))
        }
        E::Expired => (RejectionKind::Expired, "has expired".to_owned()),
        E::NotValidYetContext { not_before, .. } => {
            let from = time(*not_before);
            (RejectionKind::NotYet, format!("is not valid before {from}: is a clock wrong?"))
        }
        E::NotValidYet => (RejectionKind::NotYet, "is not yet valid".to_owned()),
        // BadSignature means that the certificate is from another authority with the same name.
        E::UnknownIssuer | E::BadSignature => {
            (RejectionKind::Authority, "is from another authority".to_owned())
        }
        E::NotValidForNameContext { expected, presented } => {
            let names: Vec<&str> = presented.iter().map(|name| bare(name)).collect();
            let names = if names.is_empty() { "no name".to_owned() } else { names.join(", ") };
            (RejectionKind::Name, format!("is for {names}, not for {}", expected.to_str()))
        }
        other => (RejectionKind::Other, format!("cannot be used: {other}")),
    };
    (kind, format!("its certificate {text}"))
}

/// Returns the name in a text such as `DnsName("a.example")` or `IpAddress(10.0.0.1)`.
fn bare(name: &str) -> &str {
    let inner = name.split_once('(').map_or(name, |(_, rest)| rest.trim_end_matches(')'));
    inner.trim_matches('"')
}

/// Returns the reason for an alert of the other node.
fn of_alert(alert: AlertDescription) -> (RejectionKind, String) {
    use AlertDescription as A;
    let (kind, text) = match alert {
        A::CertificateRequired => (RejectionKind::NoCertificate, "it requires a certificate"),
        A::CertificateExpired => {
            (RejectionKind::Expired, "our certificate has expired or is not yet valid")
        }
        A::UnknownCA | A::DecryptError => {
            (RejectionKind::Authority, "our certificate is from another authority")
        }
        A::BadCertificate => (
            RejectionKind::Name,
            "our certificate is broken, or not for the name by which it connects",
        ),
        other => return (RejectionKind::Other, format!("{other:?}")),
    };
    (kind, text.to_owned())
}

/// Formats a time for messages.
fn time(time: UnixTime) -> String {
    let text = Timestamp::from_secs(time.as_secs()).to_string();
    match text.split_once('.') {
        Some((whole, _)) => format!("{}Z", whole.replace('T', " ")),
        None => text,
    }
}
