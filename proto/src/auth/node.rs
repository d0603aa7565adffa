//! Credentials of a node.

use super::bearer::BearerToken;
use crate::LiveToken;
use crate::deny::DenyList;
use crate::tls::Tls;

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
    #[must_use]
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
