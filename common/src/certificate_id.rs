//! The identity of a node's certificate: the SHA-256 of its public key.
//!
//! The key, and not the certificate, is what a node proves to have. A certificate that is renewed with
//! the same key keeps its identity.

use data_encoding::HEXLOWER_PERMISSIVE;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// SHA-256 of the `SubjectPublicKeyInfo` of a certificate.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CertificateId(pub [u8; 32]);

/// 64 hexadecimal digits.
impl fmt::Display for CertificateId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&HEXLOWER_PERMISSIVE.encode(&self.0))
    }
}

impl fmt::Debug for CertificateId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for CertificateId {
    type Err = &'static str;

    /// Parses 64 hexadecimal digits; colons between them are ignored, as OpenSSL writes them.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WRONG: &str = "is not the SHA-256 of a public key: 64 hexadecimal digits";
        let digits: String = text.chars().filter(|&c| c != ':').collect();
        let bytes = HEXLOWER_PERMISSIVE.decode(digits.as_bytes()).map_err(|_| WRONG)?;
        bytes.try_into().map(Self).map_err(|_| WRONG)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_back_in_any_case_and_with_colons() {
        let id = CertificateId(std::array::from_fn(|i| i as u8 ^ 0xa5));
        let text = id.to_string();
        assert_eq!(text.len(), 64);
        let pairs: Vec<&str> = (0..32).map(|i| &text[2 * i..2 * i + 2]).collect();
        for form in [text.clone(), text.to_uppercase(), pairs.join(":")] {
            assert_eq!(form.parse(), Ok(id), "{form}");
        }
        for wrong in ["", "a5", &text[1..], "zz", &format!("{text}00")] {
            assert!(wrong.parse::<CertificateId>().is_err(), "{wrong}");
        }
    }
}
