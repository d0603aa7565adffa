//! Name servers: those of the settings, or else those of the system.
//!
//! The query contains only the requested name, and the answer comes only from the servers: there
//! are no search domains, no hosts file and no cache in the library (ours is in front of it).

use crivello_common::config;
use hickory_resolver::TokioResolver;
use hickory_resolver::config::{
    ConnectionConfig, LookupIpStrategy, NameServerConfig, ResolveHosts, ResolverConfig,
    ResolverOpts,
};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use std::net::SocketAddr;
use tracing::warn;

/// Number of times that a query is sent before the servers count as silent.
pub(super) const ATTEMPTS: u32 = 2;

/// Creates the resolver. Returns `None` and logs a warning if there is no server, or if it cannot
/// be set up.
pub(super) fn connect(settings: &config::Dns) -> Option<TokioResolver> {
    let servers = if settings.servers.is_empty() {
        system_servers()
    } else {
        settings.servers.iter().copied().map(server).collect()
    };
    if servers.is_empty() {
        warn!(
            "no name server is configured, neither in dns.servers nor in the system; no name can \
             be resolved"
        );
        return None;
    }
    let config = ResolverConfig::from_parts(None, Vec::new(), servers);
    TokioResolver::builder_with_config(config, TokioRuntimeProvider::default())
        .with_options(options(settings))
        .build()
        .inspect_err(
            |error| warn!(%error, "the resolver cannot be set up; no name can be resolved"),
        )
        .ok()
}

fn system_servers() -> Vec<NameServerConfig> {
    match hickory_resolver::system_conf::read_system_conf() {
        Ok((config, _)) => config.name_servers().to_vec(),
        Err(error) => {
            warn!(%error, "cannot read the system's name servers");
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
