//! Tests of fetching with real sockets on loopback, against correct and misbehaving servers.

mod bad_servers;
mod kit;
mod large_bodies;
mod names;
mod pages;
mod robots_txt;
mod tls;
mod visit_guard;
