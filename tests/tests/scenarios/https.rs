//! Metrics and dashboard over TLS: they can be read across an untrusted network by clients that
//! trust the certificate authority and have the token, and by nobody else. Idle connections do not
//! lock out others.
//!
//! Possible failures: browsers are asked for a certificate that they do not have; one address
//! requires a token and another does not; an address is open because TLS was configured without the
//! token, or the token without TLS; held connections exhaust the limit.

use crivello_tests::cluster::COORDINATOR;
use crivello_tests::{Cluster, seed};
use reqwest::{Client, RequestBuilder};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use simweb::Spec;
use std::io::{ErrorKind, Read};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;

const PATIENCE: Duration = Duration::from_secs(60);
/// Limit of a response body, larger than anything read here.
const BODY_MAX: usize = 4 << 20;
/// Text that a node logs before the address of its metrics.
const SAYS: &str = "metrics at ";
/// Number of idle connections, more than a node accepts at once.
const RUDE: usize = 300;

fn cluster() -> Cluster {
    let web = Spec::new(seed()).size(4, 1, 4).latency_ms(0, 20);
    Cluster::new(web)
        .delays(Duration::from_millis(250), Duration::from_millis(40))
        .set("cluster.lease=15s")
}

/// Returns a client that trusts the authority of these certificates and sends no client
/// certificate.
fn client(certs: &Path) -> Client {
    let mut roots = RootCertStore::empty();
    let authority = CertificateDer::from_pem_file(certs.join("ca.pem")).expect("a certificate");
    roots.add(authority).expect("a valid CA certificate");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let builder = Client::builder().no_proxy().timeout(PATIENCE);
    builder.tls_backend_preconfigured(config).build().expect("a client")
}

/// Returns the scheme and address at which a member serves; its certificate is valid for that
/// address.
fn site(cluster: &mut Cluster, name: &str) -> (String, SocketAddr) {
    let said = cluster.process(name).log();
    let (_, rest) = said.split_once(SAYS).unwrap_or_else(|| panic!("{name}: {said}"));
    let (scheme, rest) = rest.split_once("://").expect("a URL");
    let (address, _) = rest.split_once('/').expect("the end of the address");
    let port = address.parse::<SocketAddr>().expect("an address").port();
    (scheme.to_owned(), (Ipv4Addr::LOCALHOST, port).into())
}

#[derive(Debug)]
struct Answer {
    status: u16,
    cookie: String,
    body: String,
}

async fn ask(request: RequestBuilder) -> Answer {
    let mut answer = request.send().await.expect("a response");
    let cookie = answer.headers().get("set-cookie").map(|value| value.to_str().expect("text"));
    let (status, cookie) = (answer.status().as_u16(), cookie.unwrap_or_default().to_owned());
    let mut bytes = Vec::new();
    while let Some(part) = answer.chunk().await.expect("a body") {
        bytes.extend_from_slice(&part);
        assert!(bytes.len() < BODY_MAX, "the response does not end");
    }
    Answer { status, cookie, body: String::from_utf8_lossy(&bytes).into_owned() }
}

#[test]
fn numbers_and_dashboard_are_read_over_tls_with_the_token() {
    // The agent listens on all addresses, and --insecure is not needed.
    let mut cluster = cluster().with_certs(&["a"]).with_https().start(1);
    let certs = cluster.certs().dir().to_owned();
    let token = std::fs::read_to_string(certs.join("token")).expect("a token");
    let token = token.trim();
    let runtime = Runtime::new().expect("a runtime");
    let client = client(&certs);
    for (name, number) in
        [("a", "crivello_pages_fetched_total"), (COORDINATOR, "crivello_coordinator")]
    {
        let (scheme, at) = site(&mut cluster, name);
        assert_eq!(scheme, "https", "{name}");
        runtime.block_on(async {
            let numbers = format!("https://{at}/metrics");
            let health = ask(client.get(format!("https://{at}/healthz"))).await;
            assert_eq!((health.status, health.body.as_str()), (200, "ok\n"), "{name}");
            let stranger = ask(client.get(&numbers)).await;
            assert_eq!(stranger.status, 401, "{name}: {stranger:?}");
            assert!(!stranger.body.contains(number), "{name}: {stranger:?}");
            let wrong = ask(client.get(&numbers).bearer_auth("a-token-of-somebody-else")).await;
            assert_eq!(wrong.status, 401, "{name}: {wrong:?}");
            let told = ask(client.get(&numbers).bearer_auth(token)).await;
            assert_eq!(told.status, 200, "{name}: {told:?}");
            assert!(told.body.contains(number), "{name}: {told:?}");
            // Plain HTTP is refused.
            let plain = client.get(format!("http://{at}/healthz")).send().await;
            assert!(plain.is_err(), "{name}: {plain:?}");
        });
    }
    // A browser logs in.
    let (_, at) = site(&mut cluster, COORDINATOR);
    runtime.block_on(async {
        let login = client.post(format!("https://{at}/api/login"));
        let body = format!(r#"{{"token": "{token}"}}"#);
        let origin = format!("https://{at}");
        let login = login.header("content-type", "application/json").header("origin", origin);
        let login = ask(login.body(body)).await;
        assert_eq!(login.status, 200, "{login:?}");
        assert!(login.cookie.ends_with("; Secure"), "{}", login.cookie);
        let (cookie, _) = login.cookie.split_once(';').expect("attributes");
        let page = ask(client.get(format!("https://{at}/")).header("cookie", cookie)).await;
        assert!(page.status == 200 && page.body.contains("<title>"), "{page:?}");
    });
    cluster.seed();
    cluster.wait();
    let _ = cluster.stop();
    for name in ["a", COORDINATOR] {
        assert!(!cluster.log_of(name).contains(token), "the token is in the log of {name}");
    }
}

#[test]
fn idle_connections_block_nobody() {
    let mut cluster = cluster().with(&["--http", "127.0.0.1:0"]).with_dashboard().start(1);
    let agent = site(&mut cluster, "a").1;
    for (name, at) in [("a", agent), (COORDINATOR, cluster.dashboard())] {
        let rude: Vec<TcpStream> = (0..RUDE)
            .map(|_| TcpStream::connect(at).expect("the server accepts connections"))
            .collect();
        let begun = cluster.web.log().now();
        let (status, body) = crivello_tests::metrics::get(at, "/healthz");
        assert_eq!((status, body.as_str()), (200, "ok\n"), "{name}");
        let took = cluster.web.log().now().since(begun);
        assert!(took < PATIENCE / 2, "{name}: after {took:?}");
        // The oldest connections have been closed by now, or will be soon.
        let mut first = &rude[0];
        first.set_read_timeout(Some(PATIENCE)).expect("set the timeout");
        match first.read(&mut [0; 1]) {
            Ok(n) => assert_eq!(n, 0, "{name}: received a response without a request"),
            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{name}: {error}"),
        }
    }
    let _ = cluster.stop();
}

#[test]
fn incomplete_https_options_are_refused() {
    let cluster = cluster().with_certs(&["a"]);
    let certs = cluster.certs();
    let file = |name: &str| certs.dir().join(name).display().to_string();
    let (dir, cert, key, token) = (
        cluster.dir().join("x").display().to_string(),
        file("a.pem"),
        file("a.key"),
        file("token"),
    );
    let wide = ["--http", "0.0.0.0:0"];
    let tls = ["--http-cert", &cert, "--http-key", &key];
    let crawl = ["crawl", "http://a.example/", "--contact=me@a.example", "--out", &dir];
    for (given, missing) in [
        (vec![], "give --http-cert, --http-key and --token-file"),
        (vec!["--token-file", &token], "give --http-cert and --http-key"),
        (tls.to_vec(), "give --token-file"),
        (vec!["--http-cert", &cert], "--http-key"),
        (vec!["--http-cert", &key, "--http-key", &key, "--token-file", &token], "no certificate"),
    ] {
        let mut command = std::process::Command::new(crivello_tests::binary());
        command.args(crawl).args(wide).args(&given).env_remove("CRIVELLO_TOKEN_FILE");
        let output = crivello_tests::output(&mut command);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(64), "{given:?}: {said}");
        assert!(said.contains(missing), "{given:?}: {said}");
    }
}
