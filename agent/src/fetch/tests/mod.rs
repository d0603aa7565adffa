//! The room against real sockets on loopback: servers that behave, and servers that do not.

mod bad_servers;
mod kit;
mod large_bodies;
mod leases;
mod names;
mod pages;
mod robots_txt;
mod tls;
