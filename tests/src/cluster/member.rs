//! Members of a cluster: the coordinator and the agents.

use super::net::Gate;
use super::process::Process;

/// Name of the coordinator among the processes.
pub const COORDINATOR: &str = "coordinator";

/// Name of another coordinator.
pub const STANDBY: &str = "standby";
/// Name of etcd in the network.
pub const ETCD: &str = "etcd";

/// A member, running or not.
#[derive(Debug)]
pub struct Member {
    pub process: Option<Process>,
    pub gate: Gate,
    /// Number of processes so far.
    pub n_lives: u32,
    /// True if its last process ended in order.
    pub in_order: bool,
}

impl Member {
    /// Returns a member that has not been started, behind this gate.
    pub const fn new(gate: Gate) -> Self {
        Self { process: None, gate, n_lives: 0, in_order: false }
    }
}
