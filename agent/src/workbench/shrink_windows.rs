//! Room for hosts where URLs have taken it: while few hosts are here each is given a long window;
//! once many more are wanted, windows are cut to what each of so many may have.

use super::Workbench;
use super::visit::weight;
use crate::messages::ToFrontier;

impl Workbench {
    /// Cuts every window to its share, if URLs alone keep out hosts that are wanted. What is cut
    /// off goes back to the crawl database, which gives it out again in its turn.
    pub(super) fn shrink_windows(&mut self) {
        let held = self.held();
        if !self.front.is_crowded_out(held) {
            return;
        }
        let share = self.front.window_share(held);
        for id in self.hosts.ids() {
            // What was asked for goes behind the end of the window as it was then.
            if !self.hosts[id].refilling {
                self.shrink_window(id, share);
            }
        }
    }

    fn shrink_window(&mut self, id: u32, share: usize) {
        let host = &mut self.hosts[id];
        let mut left = share;
        let kept = host.window.iter().take_while(|url| {
            let fits = left > 0;
            left = left.saturating_sub(url.weight());
            fits
        });
        let kept = kept.count();
        if kept == host.window.len() {
            return;
        }
        let cut = host.window.split_off(kept);
        host.window.shrink_to_fit();
        host.more = true;
        // No refill is asked for before half of what is left has been used.
        host.batch = kept as u32;
        self.window_urls -= weight(&cut);
        let unused = cut.iter().map(|url| url.queue_key).collect();
        self.messages.push(ToFrontier::ReturnUrls { host: host.key, unused });
    }
}
