//! Shrinking of windows: while few hosts are in memory, each has a long window. Once many more are
//! wanted, the windows are cut to the share of each.

use super::Workbench;
use super::visit::weight;
use crate::messages::ToFrontier;

impl Workbench {
    /// Cuts every window to its share, if nothing but URLs keeps out hosts that are wanted. The
    /// URLs cut off return to the crawl database, which hands them out again in order.
    pub(super) fn shrink_windows(&mut self) {
        let held = self.held();
        if !self.front.is_crowded_out(held) {
            return;
        }
        let share = self.front.window_share(held);
        for id in self.hosts.ids() {
            // A pending refill continues from the end of the window at the time of the request.
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
        // The next refill is requested once half of the remaining URLs have been used.
        host.batch = kept as u32;
        self.window_urls -= weight(&cut);
        let unused = cut.iter().map(|url| url.queue_key).collect();
        self.messages.push(ToFrontier::ReturnUrls { host: host.key, unused });
    }
}
