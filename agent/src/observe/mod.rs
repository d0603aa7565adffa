//! Everything that people and programs see of a running agent: status, metrics, explanations,
//! traces.

pub mod agent_api;
pub mod explain;
pub mod host_arcs;
pub mod host_rankings;
pub mod index;
pub mod metrics;
pub mod running_agent;
pub mod status;
pub mod trace_export;
pub mod upload;
pub mod webhook;
