//! Why two nodes do not come together, in words.

use crivello_common::time::Timestamp;
use rustls::pki_types::UnixTime;
use rustls::{AlertDescription, CertificateError, Error};
use std::io;

/// Who does not want.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refuser {
    /// This node does not trust the other.
    Us,
    /// The other does not trust this node.
    Them,
    /// Nobody: the connection broke.
    Nobody,
}

/// What is counted as the same reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
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

/// Why two nodes do not come together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// Who does not want.
    pub by: Refuser,
    pub(crate) kind: Kind,
    /// In words that follow the other's address and a colon.
    pub text: String,
}

impl Reason {
    pub(crate) fn new(by: Refuser, kind: Kind, text: impl Into<String>) -> Self {
        Self { by, kind, text: text.into() }
    }

    fn ours(kind: Kind, text: impl Into<String>) -> Self {
        Self::new(Refuser::Us, kind, text)
    }

    /// The one that a broken handshake or connection has.
    #[must_use]
    pub fn of_io(error: &io::Error) -> Self {
        match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
            Some(error) => Self::of(error),
            None => Self::new(
                Refuser::Nobody,
                Kind::Broken,
                format!("the connection broke before it was trusted: {error}"),
            ),
        }
    }

    /// The one that TLS names.
    #[must_use]
    pub fn of(error: &Error) -> Self {
        match error {
            Error::NoCertificatesPresented => {
                Self::ours(Kind::NoCertificate, "it shows no certificate")
            }
            Error::InvalidCertificate(error) => of_certificate(error),
            Error::InvalidMessage(_) => Self::ours(Kind::NotTls, "it does not speak TLS"),
            Error::AlertReceived(alert) => told(*alert),
            other => Self::ours(Kind::Other, format!("no common TLS: {other}")),
        }
    }
}

fn of_certificate(error: &CertificateError) -> Reason {
    use CertificateError as E;
    match error {
        E::ExpiredContext { not_after, .. } => {
            Reason::ours(Kind::Expired, format!("its certificate expired on {}", time(*not_after)))
        }
        E::Expired => Reason::ours(Kind::Expired, "its certificate has expired"),
        E::NotValidYetContext { not_before, .. } => Reason::ours(
            Kind::NotYet,
            format!("its certificate counts from {} on: is a clock wrong?", time(*not_before)),
        ),
        E::NotValidYet => Reason::ours(Kind::NotYet, "its certificate does not count yet"),
        // The second is that of an authority with the name of ours.
        E::UnknownIssuer | E::BadSignature => {
            Reason::ours(Kind::Authority, "its certificate is of another authority")
        }
        E::NotValidForNameContext { expected, presented } => {
            let names: Vec<&str> = presented.iter().map(|name| bare(name)).collect();
            let names = if names.is_empty() { "nobody".to_owned() } else { names.join(", ") };
            let name = expected.to_str();
            Reason::ours(Kind::Name, format!("its certificate is for {names}, and not for {name}"))
        }
        other => Reason::ours(Kind::Other, format!("its certificate cannot be used: {other}")),
    }
}

/// The name in what TLS calls `DnsName("a.example")` or `IpAddress(10.0.0.1)`.
fn bare(name: &str) -> &str {
    let inner = name.split_once('(').map_or(name, |(_, rest)| rest.trim_end_matches(')'));
    inner.trim_matches('"')
}

/// What the other says of us.
fn told(alert: AlertDescription) -> Reason {
    use AlertDescription as A;
    let (kind, text) = match alert {
        A::CertificateRequired => (Kind::NoCertificate, "that it needs a certificate".to_owned()),
        A::CertificateExpired => {
            (Kind::Expired, "that our certificate has expired (or does not count yet)".to_owned())
        }
        A::UnknownCA | A::DecryptError => {
            (Kind::Authority, "that our certificate is of another authority".to_owned())
        }
        A::BadCertificate => (
            Kind::Name,
            "that our certificate is broken, or not for the name by which it reaches us".to_owned(),
        ),
        other => (Kind::Other, format!("{other:?}")),
    };
    Reason::new(Refuser::Them, kind, format!("it says {text}"))
}

/// As people read it.
fn time(time: UnixTime) -> String {
    let text = Timestamp::from_secs(time.as_secs()).to_string();
    match text.split_once('.') {
        Some((whole, _)) => format!("{}Z", whole.replace('T', " ")),
        None => text,
    }
}
