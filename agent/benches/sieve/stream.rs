//! The links of a simulated crawl, made up on a thread of their own.

use crate::usage::leave_out_this_thread;
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

/// A group of links, and how many different ones there were up to its end.
pub struct Links<T> {
    pub links: Vec<T>,
    pub distinct: u64,
}

/// A stream of URLs that continues where it stopped.
pub struct Stream<T> {
    random: SmallRng,
    /// Makes a link of the number of its host and its own there.
    make: fn(usize, u32) -> T,
    /// Number of URLs of each host that were ever linked to.
    known: Vec<u32>,
    distinct: u64,
    at: usize,
    /// Made and not yet taken.
    left: Option<Links<T>>,
}

impl<T: Send> Stream<T> {
    /// A web of about `n_urls` URLs in all.
    pub fn new(n_urls: u64, make: fn(usize, u32) -> T) -> Self {
        let n_hosts = (n_urls / URLS_A_HOST).max(10) as usize;
        let random = SmallRng::seed_from_u64(7);
        Self { random, make, known: vec![0; n_hosts], distinct: 0, at: 0, left: None }
    }

    /// Hands group after group to `take`, until that says false.
    pub fn feed(&mut self, mut take: impl FnMut(Links<T>) -> bool) {
        std::thread::scope(|scope| {
            let (sender, groups) = sync_channel(0);
            let maker = std::thread::Builder::new().name("stream".to_owned());
            maker
                .spawn_scoped(scope, move || {
                    loop {
                        let group = self.left.take().unwrap_or_else(|| self.group());
                        if let Err(unsent) = sender.send(group) {
                            self.left = Some(unsent.0);
                            break;
                        }
                    }
                    leave_out_this_thread();
                })
                .expect("a thread");
            while take(groups.recv().expect("the stream is endless")) {}
        });
    }

    fn group(&mut self) -> Links<T> {
        let mut links = Vec::with_capacity(CHECKS_A_GROUP);
        for _ in 0..PAGES_A_GROUP {
            let (n_hosts, skew) = (self.known.len(), self.random.random::<f64>().powi(2));
            // The front moves on through all hosts; the popular ones are met more often.
            let host = (self.at + (skew * FRONT as f64) as usize) % n_hosts;
            self.at += usize::from(self.random.random_ratio(1, 8));
            self.page(host, &mut links);
        }
        Links { links, distinct: self.distinct }
    }

    fn page(&mut self, host: usize, links: &mut Vec<T>) {
        links.extend((0..MENU).map(|n| (self.make)(host, n)));
        self.distinct += u64::from(MENU.saturating_sub(self.known[host]));
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
            self.distinct += u64::from(is_new);
            let last = *known - 1;
            let n = if is_new { last } else { self.random.random_range(0..=last) };
            links.push((self.make)(host, n));
        }
    }
}
