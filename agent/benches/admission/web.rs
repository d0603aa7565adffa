//! The pages of a made-up web, always the same ones.
//!
//! Half of the sites write their links with the whole URL, the others relative to the page. Of about
//! thirty links of a page, three fifths are the menu of its site, a fifth is new on its site, and the
//! others lead to known pages, to other sites and to new hosts. A few need the parser.

use crivello_common::url::CrawlUrl;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use url::Url;

const SITES: usize = 600;
/// Links that all pages of a site share.
const MENU: usize = 18;
const SUFFIXES: [&str; 6] = ["com", "org", "de", "co.uk", "fr", "net"];
/// Links that the fast path of [`Base`](crivello_common::url::Base) leaves to the parser, or that are
/// discarded.
const ODD: [&str; 10] = [
    "",
    "#top",
    "?page=2",
    "../up/",
    "./here.html",
    "mailto:someone@example.com",
    "/caf%c3%a9/%7euser/",
    "//cdn.example.net/lib.js",
    "HTTP://WWW.Example.ORG:80/Path",
    "https://b\u{fc}cher.example/stra\u{df}e",
];

/// A page as the parser leaves it.
pub struct WebPage {
    /// Its URL.
    pub url: CrawlUrl,
    /// Its URL as the base of its links.
    pub base: Url,
    /// Its links, in order.
    pub hrefs: Vec<String>,
}

/// Returns the first `n` pages.
pub fn pages(n: usize) -> Vec<WebPage> {
    let mut web = Web { random: SmallRng::seed_from_u64(15), articles: vec![1; SITES], hosts: 0 };
    (0..n).map(|_| web.page()).collect()
}

struct Web {
    random: SmallRng,
    /// Number of articles of each site that were linked to.
    articles: Vec<usize>,
    /// Number of hosts outside the sites.
    hosts: usize,
}

impl Web {
    fn page(&mut self) -> WebPage {
        // Some sites are larger than others.
        let site = (self.random.random::<f64>().powi(2) * SITES as f64) as usize;
        let origin = origin(site);
        let base = format!("{origin}{}", article(self.random.random_range(0..self.articles[site])));
        let prefix = if site.is_multiple_of(2) { &*origin } else { "" };
        let mut hrefs: Vec<String> =
            (0..MENU).map(|n| format!("{prefix}/topics/topic-{n}/index.html")).collect();
        for _ in 0..6 {
            hrefs.push(format!("{prefix}{}", article(self.articles[site])));
            self.articles[site] += 1;
        }
        for _ in 0..self.random.random_range(1..4) {
            let known = self.random.random_range(0..self.articles[site]);
            hrefs.push(format!("{prefix}{}", article(known)));
        }
        for _ in 0..self.random.random_range(1..4) {
            let other = self.random.random_range(0..SITES);
            let known = self.random.random_range(0..self.articles[other]);
            hrefs.push(format!("{}{}", self::origin(other), article(known)));
        }
        if self.random.random_ratio(1, 2) {
            self.hosts += 1;
            let (n, suffix) = (self.hosts, SUFFIXES[self.hosts % SUFFIXES.len()]);
            hrefs.push(format!("https://blog.elsewhere-{n}.{suffix}/"));
        }
        hrefs.push(ODD[self.random.random_range(0..ODD.len())].to_owned());
        let url = CrawlUrl::parse(&base).expect("a URL that is crawled");
        WebPage { url, base: Url::parse(&base).expect("a URL"), hrefs }
    }
}

fn origin(site: usize) -> String {
    format!("https://www.site-{site}.{}", SUFFIXES[site % SUFFIXES.len()])
}

fn article(n: usize) -> String {
    format!("/articles/2026/{:02}/a-title-of-some-words-{n}.html", n % 12 + 1)
}
