//! Certificates bound to members.
//!
//! A member is bound to the certificate with which it first joined. Its running process may replace
//! it; the last one stays valid for connections that were made with it. A process that joins with
//! another certificate is refused until a person accepts it. Without TLS nothing is bound.

use super::{MemberRefusal, Members, StepResult};
use crivello_common::certificate_id::CertificateId;
use crivello_common::view::{Agent, AgentId, CERTIFICATES_MAX};

/// Returns the certificates of a member that joins again with `shown`.
pub(super) fn rejoined(
    agent: &Agent,
    shown: Option<CertificateId>,
) -> Result<Vec<CertificateId>, MemberRefusal> {
    match shown {
        None => Ok(Vec::new()),
        Some(shown) if agent.certificates.is_empty() => Ok(vec![shown]),
        Some(shown) if agent.certificates.contains(&shown) => Ok(agent.certificates.clone()),
        Some(certificate) => Err(MemberRefusal::OtherCertificate { id: agent.id, certificate }),
    }
}

impl Members {
    /// Handles the report of a member on the certificate that it uses from now on.
    pub(super) fn on_certificate_reported(&mut self, id: AgentId, certificate: CertificateId) {
        let is_bound = |agent: &Agent| !agent.certificates.is_empty();
        if self.view.agent(id).is_some_and(is_bound) {
            self.add_certificate(id, certificate);
        }
    }

    pub(super) fn accept_certificate(
        &mut self,
        id: AgentId,
        certificate: CertificateId,
    ) -> StepResult {
        self.view.agent(id).ok_or(MemberRefusal::Unknown)?;
        self.add_certificate(id, certificate);
        Ok(None)
    }

    fn add_certificate(&mut self, id: AgentId, certificate: CertificateId) {
        let mut agents = self.view.agents.iter_mut();
        let Some(agent) = agents.find(|agent| agent.id == id) else { return };
        if agent.certificates.contains(&certificate) {
            return;
        }
        if agent.certificates.len() == CERTIFICATES_MAX {
            agent.certificates.remove(0);
        }
        agent.certificates.push(certificate);
        self.view.epoch += 1;
    }
}
