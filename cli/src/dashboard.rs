//! `--http` of a coordinator: checks the arguments and binds the address of the dashboard.

use crate::args::cluster::HttpArgs;
use crate::cluster::secret_in;
use crate::exit::{CliError, usage};
use crate::http::{Meters, https};
use crate::screen;
use crivello_dashboard::{Dashboard, MetricsText, Options};
use crivello_proto::LiveToken;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

/// Default address.
const DEFAULT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);

/// Binds the address of the dashboard and of the metrics of `meters`. Returns `None` with
/// `--no-http`. Also returns `None`, with a message, if the default port is in use.
///
/// # Errors
/// Returns a usage error if the given address cannot be bound, or if other machines could connect
/// without a token.
pub async fn open(
    args: &HttpArgs,
    token: Option<LiveToken>,
    insecure: bool,
    meters: &Meters,
) -> Result<Option<Dashboard>, CliError> {
    if args.no_http {
        return Ok(None);
    }
    let at = args.http.unwrap_or(DEFAULT);
    if !at.ip().is_loopback() && token.is_none() && !insecure {
        return Err(usage!(
            "--http {at}: other machines could connect, and anyone who can connect can control the \
             crawl; give --token-file, or --insecure if only trusted machines can reach this address"
        ));
    }
    let https = https(&args.https)?;
    if !at.ip().is_loopback() && https.is_none() && !insecure {
        tracing::warn!(
            "--http {at}: the token is sent in plain text unless a proxy adds TLS; --http-cert and \
             --http-key enable TLS"
        );
    }
    let meters = meters.clone();
    let metrics: MetricsText = Arc::new(move || meters.render().unwrap_or_default());
    let names = args.http_hosts.clone();
    let metrics_token = secret_in(args.http_token_file.as_deref())?;
    let options = Options { names, token, metrics_token, https, metrics: Some(metrics) };
    match Dashboard::bind(at, options).await {
        Ok(dashboard) => Ok(Some(dashboard)),
        Err(error) if args.http.is_none() && error.kind() == ErrorKind::AddrInUse => {
            screen::print_line(&format!(
                "no dashboard: {at} is in use; --http 127.0.0.1:0 picks a free port"
            ));
            Ok(None)
        }
        Err(error) => Err(usage!("--http {at}: cannot listen: {error}; choose another address")),
    }
}

/// Returns the line that names the addresses of dashboard and metrics.
pub fn urls(dashboard: &Dashboard) -> String {
    let (scheme, at) = (dashboard.scheme(), dashboard.address());
    format!("dashboard at {scheme}://{at}/, metrics at {scheme}://{at}/metrics")
}
