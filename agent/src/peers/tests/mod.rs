//! Agents over real sockets: order, loss, refusals, strangers.

mod delivery;
mod kit;
mod refusals;
mod robots;
mod tls;
mod turns;
