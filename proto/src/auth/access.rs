//! Access rules of the three services: which credentials each call needs.

use super::bearer::ticket_in;
use super::guarded::{Access, Denial};
use crate::LiveToken;
use crate::signing::{CoordinatorClock, Scope, TicketError, TicketVerifier};
use std::sync::{Arc, OnceLock};

/// Calls of nodes to the coordinator. All others are those of people.
pub const NODE_CALLS: &[&str] =
    &["Join", "Heartbeat", "Leave", "RequestDrain", "WatchView", "WatchSettings"];
/// Calls to an agent that change nothing. All others are orders.
const READS: &[&str] = &[
    "Status",
    "CountArchived",
    "Explain",
    "Search",
    "SearchStatistics",
    "StoredPage",
    "Hosts",
    "Fetches",
    "Blocks",
    "Traces",
    "Details",
    "Tail",
    "HostArcs",
];
/// Calls to an agent for a coordinator that is lost: it can issue no tickets.
const OF_LOST_COORDINATOR: &[&str] = &["GetClusterView"];

const GIVE_TOKEN: &str = "give --token-file FILE (or CRIVELLO_TOKEN_FILE) with the token that the \
                          coordinator was started with";
const GIVE_SECRET: &str = "give --node-secret-file FILE (or CRIVELLO_NODE_SECRET_FILE) with the node \
                           secret that the coordinator was started with";

/// Checks that a header carries the secret, if there is one. `name` is its name, `remedy` is the
/// advice to callers.
fn check_secret(
    secret: Option<&LiveToken>,
    header: Option<&[u8]>,
    (name, remedy): (&str, &str),
) -> Result<(), Denial> {
    let Some(secret) = secret else { return Ok(()) };
    let (logged, sent) = match header {
        Some(header) if secret.matches_header(header) => return Ok(()),
        None => ("it sent no", format!("this call needs the {name} of the cluster")),
        Some(_) => ("it sent another", format!("the {name} is not that of this cluster")),
    };
    Err(Denial { logged: Some(format!("{logged} {name}")), sent: format!("{sent}: {remedy}") })
}

fn check_node(secret: Option<&LiveToken>, header: Option<&[u8]>) -> Result<(), Denial> {
    check_secret(secret, header, ("node secret", GIVE_SECRET))
}

/// Rule of the coordinator: calls of nodes need the node secret, all others the token.
#[derive(Clone, Debug, Default)]
pub struct CoordinatorAccess {
    /// Node secret. `None`: no check.
    pub node_secret: Option<LiveToken>,
    /// Token of people. `None`: no check.
    pub token: Option<LiveToken>,
}

impl Access for CoordinatorAccess {
    fn check(&self, call: &str, header: Option<&[u8]>) -> Result<(), Denial> {
        if NODE_CALLS.contains(&call) {
            return check_node(self.node_secret.as_ref(), header);
        }
        check_secret(self.token.as_ref(), header, ("token", GIVE_TOKEN))
    }
}

/// Rule of calls between agents: all need the node secret.
#[derive(Clone, Debug, Default)]
pub struct NodeAccess(pub Option<LiveToken>);

impl Access for NodeAccess {
    fn check(&self, _: &str, header: Option<&[u8]>) -> Result<(), Denial> {
        check_node(self.0.as_ref(), header)
    }
}

/// Rule of an agent's control service: all calls need a ticket of the coordinator for this agent.
#[derive(Clone, Debug)]
pub struct AgentAccess {
    /// Checks tickets. Empty until the agent has joined.
    pub verifier: Arc<OnceLock<TicketVerifier>>,
    /// Clock by which tickets expire.
    pub clock: Arc<CoordinatorClock>,
    /// Node secret.
    pub node_secret: Option<LiveToken>,
}

impl Access for AgentAccess {
    fn check(&self, call: &str, header: Option<&[u8]>) -> Result<(), Denial> {
        if OF_LOST_COORDINATOR.contains(&call) {
            return check_node(self.node_secret.as_ref(), header);
        }
        let scope = if READS.contains(&call) { Scope::Read } else { Scope::Order };
        let denial =
            |logged: String, sent: &str| Denial { logged: Some(logged), sent: sent.to_owned() };
        let ticket = header.and_then(ticket_in).ok_or_else(|| {
            let sent = "this call needs a ticket of the coordinator; `crivello` with --coordinator \
                        requests one";
            denial("it sent no ticket".to_owned(), sent)
        })?;
        let verifier = self.verifier.get().ok_or_else(|| Denial {
            logged: None,
            sent: "the agent has not joined yet".to_owned(),
        })?;
        verifier.check(&ticket, scope, self.clock.now()).map_err(|error: TicketError| {
            denial(error.to_string(), &format!("the agent refuses the call: {error}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::BearerToken;
    use crate::signing::{SigningKey, TICKET_LIFETIME, Ticket, ViewBook};
    use crivello_common::runtime::Token;
    use crivello_common::time::Clock;
    use crivello_common::view::AgentId;

    const TOKEN: &str = "0123456789abcdef";
    const SECRET: &str = "fedcba9876543210";

    fn live(text: &str) -> LiveToken {
        Token::parse(text).unwrap().into()
    }

    fn bearer(text: &str) -> Vec<u8> {
        format!("Bearer {text}").into_bytes()
    }

    #[test]
    fn nodes_and_people_have_secrets_of_their_own() {
        let access =
            CoordinatorAccess { node_secret: Some(live(SECRET)), token: Some(live(TOKEN)) };
        for call in NODE_CALLS {
            assert_eq!(access.check(call, Some(&bearer(SECRET))), Ok(()), "{call}");
            for wrong in [None, Some(bearer(TOKEN)), Some(bearer("x")), Some(Vec::new())] {
                let denial = access.check(call, wrong.as_deref()).expect_err(call);
                assert!(denial.sent.contains("--node-secret-file"), "{denial:?}");
                let text = format!("{denial:?}");
                assert!(!text.contains(SECRET) && !text.contains(TOKEN), "{text}");
            }
        }
        // Includes future calls and similar names.
        for call in ["ListAgents", "Drain", "Remove", "SetRun", "Tickets", "New", "join", "Join/"] {
            assert_eq!(access.check(call, Some(&bearer(TOKEN))), Ok(()), "{call}");
            for wrong in [None, Some(bearer(SECRET)), Some(bearer("x")), Some(TOKEN.into())] {
                let denial = access.check(call, wrong.as_deref()).expect_err(call);
                assert!(denial.sent.contains("--token-file"), "{denial:?}");
            }
        }
        let open = CoordinatorAccess::default();
        assert_eq!(open.check("Join", None), Ok(()));
        assert_eq!(open.check("Drain", None), Ok(()));
    }

    #[test]
    fn the_calls_exist() {
        let descriptors = String::from_utf8_lossy(crate::DESCRIPTORS);
        for call in [NODE_CALLS, READS, OF_LOST_COORDINATOR].concat() {
            assert!(descriptors.contains(&format!("{call}Request")), "no method {call}");
        }
    }

    #[test]
    fn an_agent_obeys_only_tickets_of_its_coordinator() {
        let (key, clock) = (SigningKey::draw().unwrap(), Clock::start());
        let access = AgentAccess {
            verifier: Arc::default(),
            clock: Arc::new(CoordinatorClock::new(clock)),
            node_secret: Some(live(SECRET)),
        };
        let header = |agent, scope| {
            let expiry = clock.now() + TICKET_LIFETIME;
            let ticket = Ticket { agent: AgentId(agent), scope, expiry }.sign(&key, "c");
            let mut request = tonic::Request::new(());
            BearerToken::ticket(&ticket).add_to(&mut request);
            request.metadata().get("authorization").unwrap().as_bytes().to_vec()
        };
        let (read, order) = (header(3, Scope::Read), header(3, Scope::Order));
        let early = access.check("Status", Some(&read)).unwrap_err();
        assert!(early.sent.contains("not joined") && early.logged.is_none(), "{early:?}");
        let book = Arc::<ViewBook>::default();
        book.pin(key.public(), "c");
        let verifier = TicketVerifier { book, agent: AgentId(3) };
        access.verifier.set(verifier).unwrap();
        for call in READS {
            assert_eq!(access.check(call, Some(&read)), Ok(()), "{call}");
            assert_eq!(access.check(call, Some(&order)), Ok(()), "{call}");
        }
        for call in ["Seed", "PutHostRanks", "SetLogLevel", "New"] {
            assert_eq!(access.check(call, Some(&order)), Ok(()), "{call}");
            assert!(access.check(call, Some(&read)).is_err(), "{call}");
        }
        for call in ["Status", "Seed", "SetLogLevel"] {
            let others = [bearer(SECRET), bearer(TOKEN), header(4, Scope::Order), Vec::new()];
            for wrong in others {
                assert!(access.check(call, Some(&wrong)).is_err(), "{call}");
            }
            assert!(access.check(call, None).is_err(), "{call}");
        }
        assert_eq!(access.check("GetClusterView", Some(&bearer(SECRET))), Ok(()));
        assert!(access.check("GetClusterView", Some(&order)).is_err());
        assert!(access.check("GetClusterView", None).is_err());
    }
}
