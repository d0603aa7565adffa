//! Tests of fetching with real sockets on loopback, against correct and misbehaving servers.

mod bad_servers;
mod kit;
mod large_bodies;
mod leases;
mod names;
mod pages;
mod robots_txt;
mod tls;
