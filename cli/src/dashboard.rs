//! Where the dashboard is served: what was typed for it, checked, and an address to listen on.

use crate::args::cluster::HttpArgs;
use crate::exit::Trouble;
use crate::http::{Meters, https};
use crate::screen;
use crivello_coordinator::http::{Door, MetricsText, Options};
use crivello_proto::LiveToken;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Where it is when nobody says.
const DEFAULT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);

/// Listens where the dashboard is to be, with the numbers of `meters` beside it; `None` where there is to be none, and, said aloud, where
/// the default port is taken.
///
/// # Errors
/// A usage error when the address that was asked for cannot be listened on, or when others than this
/// machine could connect and need show no token.
pub async fn open(
    typed: &HttpArgs,
    token: Option<LiveToken>,
    insecure: bool,
    meters: &Meters,
) -> Result<Option<Door>, Trouble> {
    if typed.no_http {
        return Ok(None);
    }
    let at = typed.http.unwrap_or(DEFAULT);
    if !at.ip().is_loopback() && token.is_none() && !insecure {
        return Err(Trouble::usage(format!(
            "--http {at}: others than this machine could connect, and anyone who can connect can \
             steer the crawl; give --token-file, or --insecure if the network keeps strangers out"
        )));
    }
    let https = https(&typed.https)?;
    if !at.ip().is_loopback() && https.is_none() && !insecure {
        tracing::warn!(
            "--http {at}: the token can be read on its way, unless something before it speaks TLS; \
             --http-cert and --http-key have it speak TLS itself"
        );
    }
    let meters = meters.clone();
    let metrics = MetricsText::new(move || meters.render().unwrap_or_default());
    let names = typed.http_hosts.clone();
    let options = Options { names, token, https, metrics: Some(metrics) };
    match Door::bind(at, options).await {
        Ok(door) => Ok(Some(door)),
        Err(error) if typed.http.is_none() && error.kind() == ErrorKind::AddrInUse => {
            screen::say(&format!(
                "no dashboard: {at} is taken; --http 127.0.0.1:0 takes a free port"
            ));
            Ok(None)
        }
        Err(error) => Err(Trouble::usage(format!(
            "--http {at} cannot be listened on: {error}; choose another"
        ))),
    }
}

/// Where to look.
pub fn invitation(door: &Door) -> String {
    let (scheme, at) = (door.scheme(), door.address());
    format!("the dashboard is at {scheme}://{at}/, metrics at {scheme}://{at}/metrics")
}
