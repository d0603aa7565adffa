//! The spider crate as a program: `peers-spider each|one CONCURRENCY SEEDS` crawls the hosts of the
//! URLs in a file, without delay, and keeps nothing. Each page is handed to a subscriber that drops
//! it, since a crawl that nobody sees would be no use.
//!
//! `each` is a crawl for each host, all of them at once with two requests at a time in each;
//! robots.txt is obeyed. `one` is a single crawl to which all hosts belong, with so many requests at
//! once wherever they go; the crate would ask for the robots.txt of the first host only, so none is.

use spider::tokio::sync::broadcast::error::RecvError;
use spider::website::Website;
use std::error::Error;
use tokio::task::JoinSet;

// As Crivello does.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Pages that may wait for the subscriber.
const PAGES_WAITING_MAX: usize = 1_024;
/// Requests at a time in the crawl of one host. One would be as polite as Crivello, but then the
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
        _ => return Err(format!("each or one, not {way}").into()),
    }
    Ok(())
}

/// All begin at once, however many: crawls that began after others in the same process took many
/// times as long with this version of the crate, and made a connection for about each page.
async fn each(seeds: &[String]) -> Result<(), Box<dyn Error>> {
    // One client for all: to make one costs about as much as to fetch a hundred pages.
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
        // No thread that listens for orders to pause or stop.
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
    // It ends with the channel; whatever it has not seen by then nobody waits for.
    let _ = subscriber.await;
}
