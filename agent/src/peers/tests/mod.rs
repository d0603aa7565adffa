//! Agents over real sockets: order, loss, refusals, strangers.

mod delivery;
mod ip_leases;
mod kit;
mod payloads;
mod ranks;
mod refusals;
mod robots;
mod tls;
