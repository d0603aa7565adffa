//! State that all connections of a web share.

use crate::answer::Responder;
use crate::caller::Callers;
use crate::log::Log;
use crate::world::World;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// State that all connections of a web share.
#[derive(Debug)]
pub struct ServerState {
    /// The simulated world.
    pub world: Arc<World>,
    /// Source of all answers.
    pub responder: Responder,
    /// The access log.
    pub log: Arc<Log>,
    /// Processes whose connections are identified.
    pub callers: Callers,
    /// Number of the last connection.
    pub connections: AtomicU64,
}
