//! Result of verifying the certificate of a web site.

use crate::closed_set;

closed_set! {
    /// Result of verifying the certificate of a connection. Stored in archives by name.
    pub enum CertificateStatus {
        /// The chain ends at a root certificate of the system, the certificate is valid now and for
        /// the host's name, and the server has proved that it has the private key.
        Valid = 0 => "valid",
        /// The chain does not end at a root certificate of the system: a self-signed certificate,
        /// for example.
        UnknownIssuer = 1 => "unknown-issuer",
        /// A certificate of the chain has expired.
        Expired = 2 => "expired",
        /// A certificate of the chain is not valid yet.
        NotValidYet = 3 => "not-valid-yet",
        /// The certificate is for other names.
        WrongName = 4 => "wrong-name",
        /// A certificate of the chain is revoked.
        Revoked = 5 => "revoked",
        /// The certificate cannot be read.
        Malformed = 6 => "malformed",
        /// It is invalid for another reason.
        Invalid = 7 => "invalid",
        /// It was not verified: the system has no root certificates, or the result is no longer
        /// known for a resumed session.
        NotVerified = 8 => "not-verified",
    }
}
