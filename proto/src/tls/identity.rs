//! The identity of a certificate.

use crivello_common::certificate_id::CertificateId;
use ring::digest::{SHA256, digest};
use rustls::pki_types::CertificateDer;
use rustls::server::ParsedCertificate;

/// Returns the identity of a certificate; `None` if it cannot be parsed.
pub(super) fn certificate_id(certificate: &CertificateDer<'_>) -> Option<CertificateId> {
    let parsed = ParsedCertificate::try_from(certificate).ok()?;
    let hash = digest(&SHA256, parsed.subject_public_key_info().as_ref());
    hash.as_ref().try_into().ok().map(CertificateId)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, KeyPair, PublicKeyData as _};

    #[test]
    fn certificates_of_one_key_have_one_identity() {
        let [one, two] = [(); 2].map(|()| KeyPair::generate().unwrap());
        let of = |key: &KeyPair, name: &str| {
            let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
            certificate_id(params.self_signed(key).unwrap().der()).unwrap()
        };
        assert_eq!(of(&one, "a.example"), of(&one, "b.example"));
        assert_ne!(of(&one, "a.example"), of(&two, "a.example"));
        let expected = digest(&SHA256, &one.subject_public_key_info());
        assert_eq!(of(&one, "a.example").0.as_slice(), expected.as_ref());
        assert_eq!(certificate_id(&CertificateDer::from(vec![1, 2, 3])), None);
    }
}
