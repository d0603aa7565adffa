//! Credentials of a node.

use super::bearer::BearerToken;
use crate::LiveToken;
use crate::deny::DenyList;
use crate::tls::Tls;
use crivello_common::certificate_id::CertificateId;
use crivello_common::view::{AgentId, View};
use tonic::Status;

/// Credentials that a node presents, and those that it requires.
#[derive(Clone, Debug, Default)]
pub struct NodeAuth {
    /// Mutual TLS. `None`: connections are neither encrypted nor authenticated.
    pub tls: Option<Tls>,
    /// Node secret of the cluster. `None`: no check.
    pub secret: Option<LiveToken>,
    /// Nodes that are refused.
    pub deny: Option<DenyList>,
}

impl NodeAuth {
    /// Returns the credentials for calls to other nodes.
    pub fn bearer(&self) -> BearerToken {
        BearerToken::new(self.secret.as_ref())
    }

    /// Spawns tasks that read the files again while this value or a clone exists.
    pub fn watch(&self) {
        self.tls.iter().for_each(Tls::watch);
        self.secret.iter().for_each(LiveToken::watch);
        self.deny.iter().for_each(DenyList::watch);
    }
}

/// Refuses agents in the deny list.
///
/// # Errors
/// `PERMISSION_DENIED` with the reason.
pub fn check_allowed(deny: Option<&DenyList>, id: AgentId) -> Result<(), Status> {
    match deny.is_some_and(|deny| deny.has_agent(id)) {
        true => Err(Status::permission_denied(format!("agent {id} is in the deny list"))),
        false => Ok(()),
    }
}

/// Refuses calls of agent `id`, if it is in the deny list, or if `view` binds it to other
/// certificates than that of the connection.
///
/// # Errors
/// `PERMISSION_DENIED` with the reason.
pub fn check_sender(
    deny: Option<&DenyList>,
    view: Option<&View>,
    id: AgentId,
    certificate: Option<CertificateId>,
) -> Result<(), Status> {
    check_allowed(deny, id)?;
    let agent = view.and_then(|view| view.agent(id));
    match agent.is_none_or(|agent| agent.is_bound_to(certificate)) {
        true => Ok(()),
        false => Err(Status::permission_denied(format!(
            "agent {id} joined with another certificate than that of this connection"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_common::runtime::Token;

    #[test]
    fn debug_output_hides_the_secret() {
        let secret = Token::parse("0123456789abcdef").unwrap().into();
        let auth = NodeAuth { secret: Some(secret), ..NodeAuth::default() };
        assert!(!format!("{auth:?}").contains("0123456789abcdef"));
    }
}
