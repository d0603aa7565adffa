//! The spider crate as a program: `peers-spider each|one CONCURRENCY SEEDS` crawls the hosts of the
//! URLs in a file, without delay, and keeps nothing. Each page is sent to a subscriber that drops
//! it, because a crawl without output would be useless.
//!
//! `each` runs one crawl per host, all of them at once, with two requests at a time in each;
//! robots.txt is obeyed. `one` runs a single crawl of all hosts, with CONCURRENCY requests at a
//! time over all hosts. The crate would fetch the robots.txt of the first host only, so robots.txt
//! is not used.

use spider::tokio::sync::broadcast::error::RecvError;
use spider::website::Website;
use std::error::Error;
use tokio::task::JoinSet;

// The allocator of Crivello.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Maximum number of pages that wait for the subscriber.
const PAGES_WAITING_MAX: usize = 1_024;
/// Concurrent requests in the crawl of one host. One would be as polite as Crivello, but then the
/// crate (2.53.9) may end a crawl while links are still queued.
const OF_ONE_HOST: usize = 2;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, way, concurrency, seeds] = args.as_slice() else {
        return Err("peers-spider each|one CONCURRENCY SEEDS".into());
    };
    let concurrency: usize = concurrency.parse()?;
    let seeds: Vec<_> = std::fs::read_to_string(seeds)?.lines().map(str::to_owned).collect();
    match way.as_str() {
        "each" => each(&seeds).await?,
        "one" => one(&seeds, concurrency).await,
        _ => return Err(format!("write each or one, not {way}").into()),
    }
    Ok(())
}

/// Starts all crawls at once, however many there are. With this version of the crate, crawls that
/// began after others in the same process took many times as long and made about one connection per
/// page.
async fn each(seeds: &[String]) -> Result<(), Box<dyn Error>> {
    // All crawls share a client: making one costs about as much as fetching a hundred pages.
    let client = website("http://a.test/", OF_ONE_HOST).configure_http_client();
    let mut crawls = JoinSet::new();
    for seed in seeds {
        let mut website = website(seed, OF_ONE_HOST);
        website.with_respect_robots_txt(true);
        website.set_http_client(client.clone());
        crawls.spawn(crawl(website));
    }
    while let Some(ended) = crawls.join_next().await {
        ended?;
    }
    Ok(())
}

async fn one(seeds: &[String], concurrency: usize) {
    let Some(first) = seeds.first() else { return };
    let mut website = website(first, concurrency);
    website.with_external_domains(Some(seeds.iter().cloned()));
    crawl(website).await;
}

fn website(seed: &str, concurrency: usize) -> Website {
    let mut website = Website::new(seed);
    website
        .with_delay(0)
        .with_concurrency_limit(Some(concurrency))
        .with_respect_robots_txt(false)
        // No thread that waits for commands to pause or stop.
        .with_no_control_thread(true)
        .with_user_agent(Some("peers-spider"))
        .with_retry(0);
    website
}

async fn crawl(mut website: Website) {
    let mut pages = website.subscribe(PAGES_WAITING_MAX);
    let subscriber =
        tokio::spawn(async move { while !matches!(pages.recv().await, Err(RecvError::Closed)) {} });
    website.crawl().await;
    website.unsubscribe();
    drop(website);
    // The subscriber ends with the channel. Pages that it has not received by then do not matter.
    let _ = subscriber.await;
}
