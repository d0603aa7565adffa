//! The porter's lodge: who is alive, and under which epoch. It never sees a URL.
//!
//! [`members`] decides and does nothing else: no clock, no network, no disk. Whoever owns a
//! [`Members`](members::Members) feeds it events with the present time and carries out its effects.

pub mod members;
