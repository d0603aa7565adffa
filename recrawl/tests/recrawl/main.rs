//! Tests of the recrawl policy from outside: simulated pages, and months of simulated time.
#![expect(clippy::print_stdout, reason = "output of a failed test")]

mod bad_input;
mod cluster;
mod estimator;
mod judge;
mod optimum;
mod schedulers;
mod seed;
mod simulation;
mod web;
mod yardstick;
