//! The promises, each checked from outside: a real crawler on a simulated web, judged by the web's
//! log, the archive and the report. Each promise has one module. `docs/testing.md` lists the sizes.

mod adversaries;
mod archive;
mod bad_input;
mod chaos;
mod chaos_processes;
mod cluster;
mod cluster_schedules;
mod control;
mod control_plane;
mod cost_ceilings;
mod dashboard;
mod deadline;
mod exactly_once;
mod examples;
mod expressions;
mod fair_shares;
mod fleet;
mod full_disk;
mod hostile;
mod https;
mod identity;
mod kill_and_restart;
mod memory;
mod metrics;
mod metrics_table;
mod open_files;
mod politeness;
mod power_cut;
mod private_addresses;
mod recrawl;
mod safety;
mod settings_table;
mod traces;
mod warcio;
mod why;
