//! The floor: the cost of fetching, extracting links and compressing alone.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::collections::BTreeMap;
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Resolver that returns one address for every name. The simulated web listens on all of them.
struct Anywhere;

impl reqwest::dns::Resolve for Anywhere {
    fn resolve(&self, _: reqwest::dns::Name) -> reqwest::dns::Resolving {
        let addresses = vec![SocketAddr::from(([127, 0, 0, 2], 0))];
        Box::pin(async move { Ok(Box::new(addresses.into_iter()) as reqwest::dns::Addrs) })
    }
}

/// Fetches the URLs listed in a file, `concurrency` hosts at a time and the pages of each host one
/// after another.
pub fn run(list: &Path, concurrency: usize) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut hosts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for url in std::fs::read_to_string(list).expect("the list").lines() {
        let host = url.split('/').nth(2).unwrap_or_default().to_owned();
        hosts.entry(host).or_default().push(url.to_owned());
    }
    let hosts = Arc::new(Mutex::new(hosts.into_values().collect::<Vec<_>>()));
    let out = Arc::new(Mutex::new(tempfile::tempfile().expect("a file")));
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let mut workers = tokio::task::JoinSet::new();
        for _ in 0..concurrency {
            let (hosts, out, client) = (hosts.clone(), out.clone(), client());
            workers.spawn(async move {
                loop {
                    let Some(urls) = hosts.lock().expect("unpoisoned").pop() else { return };
                    for url in urls {
                        page(&client, &url, &out).await;
                    }
                }
            });
        }
        while workers.join_next().await.is_some() {}
    });
}

/// Returns a client for one worker; each worker has its own, so that it keeps the TLS session of
/// its host. It accepts every certificate, as the crawler does by default, and uses HTTP/1.1.
fn client() -> reqwest::Client {
    reqwest::Client::builder()
        .dns_resolver(Arc::new(Anywhere))
        .pool_max_idle_per_host(1)
        .tls_danger_accept_invalid_certs(true)
        .http1_only()
        .build()
        .expect("a client")
}

async fn page(client: &reqwest::Client, url: &str, out: &Mutex<std::fs::File>) {
    let mut response = client.get(url).send().await.expect("a response");
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.expect("a body") {
        body.extend_from_slice(&chunk);
    }
    // The task of the connection returns it to the pool. Without a turn for that, the next request opens another.
    tokio::task::yield_now().await;
    let base = url::Url::parse(url).expect("a URL");
    let links = links(&body, &base);
    assert!(!links.is_empty() || body.len() < 1_000, "no links on {url}");
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 4), Compression::fast());
    encoder.write_all(&body).expect("memory");
    let compressed = encoder.finish().expect("memory");
    out.lock().expect("unpoisoned").write_all(&compressed).expect("disk");
}

fn links(body: &[u8], base: &url::Url) -> Vec<url::Url> {
    let mut links = Vec::new();
    let mut rewriter = lol_html::HtmlRewriter::new(
        lol_html::Settings::new().append_element_content_handler(lol_html::element!(
            "a[href]",
            |element| {
                if let Some(href) = element.get_attribute("href") {
                    links.extend(base.join(&href).ok());
                }
                Ok(())
            }
        )),
        |_: &[u8]| {},
    );
    rewriter.write(body).expect("memory");
    rewriter.end().expect("memory");
    links
}
