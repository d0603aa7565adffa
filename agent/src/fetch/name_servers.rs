//! The name servers that are asked: those of the settings, else the system's.
//!
//! Nothing but the name asked for leaves the machine and nothing but the servers' answer comes
//! back: no search domains, no hosts file, no cache of the library (ours is in front of it).

use crivello_common::config;
use hickory_resolver::TokioResolver;
use hickory_resolver::config::{
    ConnectionConfig, LookupIpStrategy, NameServerConfig, ResolveHosts, ResolverConfig,
    ResolverOpts,
};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use std::net::SocketAddr;
use tracing::warn;

/// How often a query is sent before the servers count as silent.
pub(super) const ATTEMPTS: u32 = 2;

/// The resolver; `None`, said in the log, when there is no server to ask.
pub(super) fn connect(settings: &config::Dns) -> Option<TokioResolver> {
    let servers = if settings.servers.is_empty() {
        system_servers()
    } else {
        settings.servers.iter().copied().map(server).collect()
    };
    if servers.is_empty() {
        warn!("no name server is configured, neither here nor in the system: no name resolves");
        return None;
    }
    let config = ResolverConfig::from_parts(None, Vec::new(), servers);
    TokioResolver::builder_with_config(config, TokioRuntimeProvider::default())
        .with_options(options(settings))
        .build()
        .inspect_err(|error| warn!(%error, "the resolver cannot be set up: no name resolves"))
        .ok()
}

fn system_servers() -> Vec<NameServerConfig> {
    match hickory_resolver::system_conf::read_system_conf() {
        Ok((config, _)) => config.name_servers().to_vec(),
        Err(error) => {
            warn!(%error, "the system's name servers are unknown");
            Vec::new()
        }
    }
}

fn server(address: SocketAddr) -> NameServerConfig {
    let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()].map(|mut connection| {
        connection.port = address.port();
        connection
    });
    NameServerConfig::new(address.ip(), true, connections.into())
}

fn options(settings: &config::Dns) -> ResolverOpts {
    let mut options = ResolverOpts::default();
    options.ndots = 0;
    options.timeout = settings.timeout;
    options.attempts = ATTEMPTS as usize;
    options.cache_size = 0;
    options.use_hosts_file = ResolveHosts::Never;
    options.case_randomization = true;
    options.max_active_requests = 1_024;
    options.ip_strategy = match settings.ipv6 {
        true => LookupIpStrategy::Ipv4thenIpv6,
        false => LookupIpStrategy::Ipv4Only,
    };
    options
}
