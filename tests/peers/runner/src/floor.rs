//! The floor: the cost of fetching, extracting links and compressing alone.

use anyhow::{Context, Result, ensure};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::crawlers::CONCURRENCY;

/// Fetches the URLs listed in a file, several hosts at a time and the pages of each host one after
/// another.
pub fn run(list: &Path) -> Result<()> {
    let mut hosts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for url in std::fs::read_to_string(list)?.lines() {
        let host = url.split('/').nth(2).unwrap_or_default().to_owned();
        hosts.entry(host).or_default().push(url.to_owned());
    }
    let hosts = Arc::new(Mutex::new(hosts.into_values().collect::<Vec<_>>()));
    let out = Arc::new(Mutex::new(tempfile::tempfile()?));
    let client = reqwest::Client::builder().pool_max_idle_per_host(1).build()?;
    tokio::runtime::Runtime::new()?.block_on(async {
        let mut workers = tokio::task::JoinSet::new();
        for _ in 0..CONCURRENCY {
            workers.spawn(worker(hosts.clone(), out.clone(), client.clone()));
        }
        while let Some(ended) = workers.join_next().await {
            ended??;
        }
        Ok(())
    })
}

async fn worker(
    hosts: Arc<Mutex<Vec<Vec<String>>>>,
    out: Arc<Mutex<File>>,
    client: reqwest::Client,
) -> Result<()> {
    loop {
        let urls = hosts.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let Some(urls) = urls else { return Ok(()) };
        for url in urls {
            page(&client, &url, &out).await.with_context(|| url.clone())?;
        }
    }
}

async fn page(client: &reqwest::Client, url: &str, out: &Mutex<File>) -> Result<()> {
    let mut response = client.get(url).send().await?;
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        body.extend_from_slice(&chunk);
    }
    let links = links(&body, &url::Url::parse(url)?)?;
    ensure!(!links.is_empty(), "no links");
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 4), Compression::fast());
    encoder.write_all(&body)?;
    let compressed = encoder.finish()?;
    out.lock().unwrap_or_else(PoisonError::into_inner).write_all(&compressed)?;
    Ok(())
}

fn links(body: &[u8], base: &url::Url) -> Result<Vec<url::Url>> {
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
    rewriter.write(body)?;
    rewriter.end()?;
    Ok(links)
}
