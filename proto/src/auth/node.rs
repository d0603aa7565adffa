//! Credentials of a node.

use super::bearer::BearerToken;
use crate::LiveToken;
use crate::deny::DenyList;
use crate::tls::Tls;

/// What a node shows to other nodes and demands of them.
#[derive(Clone, Debug, Default)]
pub struct NodeAuth {
    /// Mutual TLS. `None`: connections are neither encrypted nor authenticated.
    pub tls: Option<Tls>,
    /// Node secret of the cluster. `None`: whoever can connect is a node.
    pub secret: Option<LiveToken>,
    /// Nodes that are refused.
    pub deny: Option<DenyList>,
}

impl NodeAuth {
    /// Returns what is sent with every call to another node.
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
