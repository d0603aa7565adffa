//! Probe of the address that an agent advertises, before it joins. Its peers would detect a wrong
//! address only much later.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

/// Timeout of the DNS lookup and of each connection.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum number of addresses tried per name.
const ADDRESSES_MAX: usize = 4;

/// Connects to `address` without sending anything. `from` is the agent's own address on this
/// connection.
///
/// # Errors
/// Returns what is wrong with the address and how to fix it.
pub(crate) async fn probe_address(address: &str, from: Option<IpAddr>) -> Result<(), String> {
    let wrong = |why: String| {
        format!(
            "the advertised address {address} {why}: start the agent with --advertise HOST:PORT, where the coordinator and the other agents reach it"
        )
    };
    let found = timeout(TIMEOUT, lookup_host(address)).await;
    let found = found.map_err(|_| wrong("cannot be looked up in time".to_owned()))?;
    let found: Vec<SocketAddr> =
        found.map_err(|error| wrong(format!("cannot be looked up ({error})")))?.collect();
    let mut last = "has no IP address".to_owned();
    for at in found.into_iter().take(ADDRESSES_MAX) {
        if at.ip().is_unspecified() {
            return Err(wrong("stands for every address of a machine".to_owned()));
        }
        if at.ip().is_loopback() && from.is_some_and(|ip| !ip.to_canonical().is_loopback()) {
            last = "is only reachable on the agent's own machine".to_owned();
            continue;
        }
        match timeout(TIMEOUT, TcpStream::connect(at)).await {
            Ok(Ok(_)) => return Ok(()),
            Ok(Err(error)) => last = format!("cannot be reached from here ({error})"),
            Err(_) => last = "does not answer".to_owned(),
        }
    }
    Err(wrong(last))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    #[tokio::test]
    async fn only_an_address_that_answers_can_be_advertised() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let here = listener.local_addr().unwrap();
        let (near, far) = (Some("127.0.0.1".parse().unwrap()), Some("10.0.0.9".parse().unwrap()));
        assert_eq!(probe_address(&here.to_string(), near).await, Ok(()));
        let refused = |address: String, from, word: &'static str| async move {
            let error = probe_address(&address, from).await.unwrap_err();
            assert!(error.contains(word) && error.contains("--advertise"), "{error}");
        };
        refused(here.to_string(), far, "own machine").await;
        refused(format!("0.0.0.0:{}", here.port()), near, "every address").await;
        refused("nowhere.invalid:1".to_owned(), near, "looked up").await;
        drop(listener);
        refused(here.to_string(), near, "cannot be reached").await;
    }
}
