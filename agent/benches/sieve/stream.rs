//! The links of a simulated crawl, made up on a thread of their own.

use crate::usage::leave_out_this_thread;
use crivello_agent::flow::{Found, LinkKind};
use crivello_agent::ledger::Group;
use crivello_common::config::AssignBy;
use crivello_common::url::CrawlUrl;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::sync::mpsc::sync_channel;

const PAGES_A_GROUP: usize = 1_000;
const LINKS_A_PAGE: usize = 30;
/// URLs offered in one group.
pub const CHECKS_A_GROUP: usize = PAGES_A_GROUP * LINKS_A_PAGE;
/// Links that all pages of a host share.
const MENU: u32 = 18;
const URLS_A_HOST: u64 = 200;
/// Hosts that are being crawled at the same time.
const FRONT: usize = 3_000;

/// See the module. Goes on where it stopped.
pub struct Stream {
    random: SmallRng,
    /// How many URLs of each host were ever linked to.
    known: Vec<u32>,
    at: usize,
}

impl Stream {
    /// A web of about `n_urls` URLs in all.
    pub fn new(n_urls: u64) -> Self {
        let n_hosts = (n_urls / URLS_A_HOST).max(10) as usize;
        Self { random: SmallRng::seed_from_u64(7), known: vec![0; n_hosts], at: 0 }
    }

    /// Hands group after group to `take`, until that says false. One or two are made in vain.
    pub fn feed(&mut self, mut take: impl FnMut(&Group) -> bool) {
        std::thread::scope(|scope| {
            let (sender, groups) = sync_channel(1);
            let maker = std::thread::Builder::new().name("stream".to_owned());
            maker
                .spawn_scoped(scope, move || {
                    while sender.send(self.group()).is_ok() {}
                    leave_out_this_thread();
                })
                .expect("a thread");
            while take(&groups.recv().expect("the stream does not end")) {}
        });
    }

    fn group(&mut self) -> Group {
        let mut found = Vec::with_capacity(CHECKS_A_GROUP);
        for _ in 0..PAGES_A_GROUP {
            let (n_hosts, skew) = (self.known.len(), self.random.random::<f64>().powi(2));
            // The front moves on through all hosts; the popular ones are met more often.
            let host = (self.at + (skew * FRONT as f64) as usize) % n_hosts;
            self.at += usize::from(self.random.random_ratio(1, 8));
            self.page(host, &mut found);
        }
        Group { found, ..Group::default() }
    }

    fn page(&mut self, host: usize, found: &mut Vec<Found>) {
        for n in 0..MENU {
            found.push(url(host, n));
        }
        self.known[host] = self.known[host].max(MENU);
        for n in 0..LINKS_A_PAGE as u32 - MENU {
            let elsewhere = self.random.random_range(0..self.known.len());
            let (host, is_new) = match n {
                0..5 => (host, true),
                5 => (elsewhere, true),
                6..9 => (host, false),
                _ => (elsewhere, false),
            };
            let known = &mut self.known[host];
            let is_new = is_new || *known == 0;
            *known += u32::from(is_new);
            let last = *known - 1;
            let n = if is_new { last } else { self.random.random_range(0..=last) };
            found.push(url(host, n));
        }
    }
}

fn url(host: usize, n: u32) -> Found {
    let text = format!("http://www.site-{host}.example/section-{}/an-article-{n}.html", n % 7);
    let url = CrawlUrl::parse(&text).expect("a URL");
    let (host, hash) = (url.host_key(AssignBy::Domain), url.hash());
    Found { url, host, hash, depth: 3, kind: LinkKind::Page }
}
