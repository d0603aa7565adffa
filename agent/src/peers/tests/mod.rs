//! Agents over real sockets: order, loss, refusals, strangers.

mod delivery;
mod kit;
mod refusals;
mod tls;
mod turns;
