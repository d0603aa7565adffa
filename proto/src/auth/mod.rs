//! Authorization of calls between nodes and from people.
//!
//! There are two secrets. *Nodes* show the node secret to the coordinator and to each other. *People*
//! show the token to the coordinator alone, which issues tickets for the agents ([`crate::signing`]).

mod access;
mod bearer;
mod guarded;
mod node;

pub use access::{AgentAccess, CoordinatorAccess, NODE_CALLS, NodeAccess};
pub use bearer::{AuthChannel, BearerToken};
pub use guarded::{Access, Denial, Guarded};
pub use node::{NodeAuth, check_allowed, check_sender};
