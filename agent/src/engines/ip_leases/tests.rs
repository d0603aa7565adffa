//! Turns in a simulated cluster.

mod fates;
mod schedules;
mod visits;
mod world;
