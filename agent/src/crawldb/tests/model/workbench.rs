//! The model's workbench: actions on the hosts that were handed to it.

use super::Model;
use crate::messages::{Page, PageEnd, ToFrontier};
use crivello_common::discard::{Discard, DiscardTally};
use crivello_common::politeness::HostState;
use std::time::Duration;

impl Model {
    pub(super) fn fetch(&mut self, pick: u16, n: u8) {
        let Some(host) = self.pick(pick) else { return };
        let workbench = self.workbench.get_mut(&host).unwrap();
        let n = u64::from(n).min(workbench.window.len() as u64).min(workbench.pages_left);
        workbench.pages_left -= n;
        if n > 0 {
            self.crawldb().on_workbench(ToFrontier::NameResolved { host });
        }
        let workbench = self.workbench.get_mut(&host).unwrap();
        for url in workbench.window.drain(..n as usize).collect::<Vec<_>>() {
            let page = Page {
                host,
                name: self.names[&host].clone(),
                at: self.now,
                took: Duration::from_millis(1),
                end: PageEnd::Response {
                    status: self.status,
                    bytes: 10,
                    digest: None,
                    duplicate: false,
                    truncated: false,
                },
                row: Some(url),
                records: Vec::new(),
                links: Vec::new(),
                signals: Vec::new(),
                discards: DiscardTally::default(),
                traced: None,
                fingerprint: None,
                original: None,
                revisit_data: None,
            };
            self.group.pages.push((page, None));
        }
    }

    pub(super) fn leave(&mut self, pick: u16, rest_ms: Option<u16>) {
        let Some(host) = self.pick(pick) else { return };
        let workbench = self.workbench.remove(&host).unwrap();
        let unused = workbench.window.iter().map(|url| url.queue_key).collect();
        let mut state = workbench.state;
        if let Some(ms) = rest_ms {
            state.next = self.now + Duration::from_millis(ms.into());
        }
        self.crawldb().on_workbench(ToFrontier::Leave { host, state, unused });
    }

    pub(super) fn give_back(&mut self, pick: u16, keep: u8) {
        let Some(host) = self.pick(pick) else { return };
        let window = &mut self.workbench.get_mut(&host).unwrap().window;
        let cut = window.split_off(usize::from(keep).min(window.len()));
        let unused = cut.iter().map(|url| url.queue_key).collect();
        self.crawldb().on_workbench(ToFrontier::ReturnUrls { host, unused });
    }

    pub(super) fn drop_host(&mut self, pick: u16, forever: bool) {
        let Some(host) = self.pick(pick) else { return };
        let workbench = self.workbench.remove(&host).unwrap();
        let unused = workbench.window.iter().map(|url| url.queue_key).collect();
        let (state, reason) = (HostState::default(), Discard::AddressDenied);
        self.crawldb().on_workbench(ToFrontier::Drop { host, state, unused, reason, forever });
    }

    pub(super) fn reach_limit(&mut self, pick: u16) {
        let Some(host) = self.pick(pick) else { return };
        let workbench = self.workbench.remove(&host).unwrap();
        let unused = workbench.window.iter().map(|url| url.queue_key).collect();
        let (state, reason) = (HostState::default(), Discard::HostLimit);
        self.crawldb().on_workbench(ToFrontier::Drop {
            host,
            state,
            unused,
            reason,
            forever: true,
        });
    }
}
