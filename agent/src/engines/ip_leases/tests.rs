//! IP leases in a simulated cluster.

mod membership;
mod schedules;
mod visits;
mod world;
