//! Addresses that other agents visit too: whose turn is here, which must be asked for, which
//! returned. The rules of one turn are in `hold.rs`.

use super::Workbench;
use super::hold::Hold;
use super::ip_entry::IpEntry;
use crate::messages::{HeldTurn, TurnNews, TurnNote, Visit};
use crivello_common::time::Timestamp;
use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::Duration;

/// Who has no answer asks again after this.
const ASK_AGAIN: Duration = Duration::from_secs(2);
/// A visit that lasts has its turn prolonged this long after it was asked for.
const RENEW_AFTER: Duration = Duration::from_secs(4);

/// What is said about turns, and when it must be said again.
#[derive(Debug, Default)]
pub(super) struct Sharing {
    notes: Vec<TurnNote>,
    /// The time of the last note; each has another.
    last: Timestamp,
    /// IP entries that wait for an answer to the ask of then, in order.
    asks: VecDeque<(Timestamp, u32)>,
    /// IP entries whose turn was asked for then, in order.
    renewals: VecDeque<(Timestamp, u32)>,
}

impl Sharing {
    fn stamp(&mut self, now: Timestamp) -> Timestamp {
        self.last = now.max(self.last + Duration::from_micros(1));
        self.last
    }
}

impl Workbench {
    /// The same among other agents: no address is visited without its turn.
    #[must_use]
    pub fn sharing(mut self) -> Self {
        self.sharing = Some(Sharing::default());
        self
    }

    /// Hears the one who lends an address's turn.
    pub fn turn(&mut self, news: &TurnNews, now: Timestamp) {
        match *news {
            TurnNews::Lent { address, asked, rest } => {
                let Some(ip) = self.ips.find(&address) else { return };
                let hold = self.ips[ip].hold.as_mut();
                if hold.is_some_and(|hold| hold.lend(asked, rest, now)) {
                    if let Some(sharing) = &mut self.sharing {
                        sharing.renewals.push_back((asked, ip));
                    }
                    self.touch_ip(ip);
                }
            }
            TurnNews::Wanted { address } => match self.ips.find(&address) {
                Some(ip) => self.turn_wanted(ip, now),
                None => {
                    // An earlier life may have visited it.
                    let rest = self.ip_rests_until().since(now);
                    self.say_returned(address, rest, now);
                }
            },
        }
    }

    fn turn_wanted(&mut self, ip: u32, now: Timestamp) {
        let Some(hold) = self.ips[ip].hold.as_mut() else { return };
        hold.want();
        if !hold.is_held() && !hold.is_asking() {
            self.return_turn(ip, now);
        } else if !self.ips[ip].busy {
            self.yield_turn(ip, now);
        }
    }

    /// Another lender may be in charge of any address. Says which turns are in use; no others that
    /// were lent before will be.
    pub fn begin_turns(&mut self, now: Timestamp) -> Vec<HeldTurn> {
        let mut held = Vec::new();
        if let Some(sharing) = &mut self.sharing {
            sharing.notes.clear();
        }
        for ip in self.ips.ids() {
            let entry = &mut self.ips[ip];
            let (address, busy) = (entry.address, entry.busy);
            let lent = entry.hold.as_mut().and_then(|hold| hold.begin_epoch(busy));
            if let Some(asked) = lent {
                held.push(HeldTurn { address, asked });
                // The new lender prolongs it once it may.
                self.ask_turn(ip, now);
            }
            self.touch_ip(ip);
        }
        held
    }

    /// What is to be said of turns.
    #[must_use]
    pub fn take_turn_notes(&mut self, now: Timestamp) -> Vec<TurnNote> {
        while let Some((ip, asked)) = self.next_of(now, ASK_AGAIN, |sharing| &mut sharing.asks) {
            if self.noted(ip).is_some_and(|(_, hold)| hold.awaits(asked)) {
                if self.ips[ip].busy || self.ips[ip].due().is_some() {
                    self.ask_turn(ip, now);
                } else {
                    self.return_turn(ip, now);
                }
            }
        }
        while let Some((ip, asked)) = self.next_of(now, RENEW_AFTER, |s| &mut s.renewals) {
            let lasts = |hold: &Hold| hold.lent() == asked && !hold.is_asking();
            if self.noted(ip).is_some_and(|(entry, hold)| entry.busy && lasts(hold)) {
                self.ask_turn(ip, now);
            }
        }
        self.sharing.as_mut().map(|sharing| std::mem::take(&mut sharing.notes)).unwrap_or_default()
    }

    /// An IP entry whose number was noted with the time of an ask, which tells whether it is the same.
    fn noted(&self, ip: u32) -> Option<(&IpEntry, &Hold)> {
        let entry = self.ips.get(ip)?;
        Some((entry, entry.hold.as_deref()?))
    }

    /// Whether an IP entry that calls may be visited now; asks for the turn otherwise.
    pub(super) fn has_turn(&mut self, ip: u32, now: Timestamp) -> bool {
        if self.ips[ip].hold.is_none() {
            return true;
        }
        self.yield_turn(ip, now);
        let entry = &self.ips[ip];
        let is_due = entry.due().is_some_and(|due| due <= now);
        if is_due && entry.hold.as_ref().is_some_and(|hold| hold.serves(now)) {
            return true;
        }
        self.ask_turn(ip, now);
        self.touch_ip(ip);
        false
    }

    /// A visit to the address begins.
    pub(super) fn begin_turn(&mut self, ip: u32, visit: &mut Visit, now: Timestamp) {
        self.ips[ip].busy = true;
        self.ips[ip].visited = Some(visit.name.clone());
        let Some(hold) = &mut self.ips[ip].hold else { return };
        visit.turn = hold.begin();
        // The time to have it prolonged passed while there was no visit.
        if now >= hold.lent() + RENEW_AFTER {
            self.ask_turn(ip, now);
        }
    }

    /// Returns the turn of an address that is not being visited, if others wait for it and it has
    /// been used.
    pub(super) fn yield_turn(&mut self, ip: u32, now: Timestamp) {
        let entry = &self.ips[ip];
        if entry.hold.as_ref().is_some_and(|hold| hold.should_return(entry.due(), now)) {
            self.return_turn(ip, now);
        }
    }

    fn ask_turn(&mut self, ip: u32, now: Timestamp) {
        let (Some(sharing), Some(hold)) = (&mut self.sharing, &mut self.ips[ip].hold) else {
            return;
        };
        let asked = sharing.stamp(now);
        hold.ask(asked);
        sharing.asks.push_back((asked, ip));
        sharing.notes.push(TurnNote::Ask { address: self.ips[ip].address, asked });
    }

    fn return_turn(&mut self, ip: u32, now: Timestamp) {
        let entry = &mut self.ips[ip];
        let (address, rest) = (entry.address, entry.next.since(now));
        if let Some(hold) = &mut entry.hold {
            hold.give_back();
        }
        self.say_returned(address, rest, now);
        self.touch_ip(ip);
    }

    fn say_returned(&mut self, address: IpAddr, rest: Duration, now: Timestamp) {
        if let Some(sharing) = &mut self.sharing {
            let asked = sharing.stamp(now);
            sharing.notes.push(TurnNote::Return { address, asked, rest });
        }
    }

    /// The first of a queue that was put there `after` ago, if there is one, with its time.
    fn next_of(
        &mut self,
        now: Timestamp,
        after: Duration,
        queue: impl Fn(&mut Sharing) -> &mut VecDeque<(Timestamp, u32)>,
    ) -> Option<(u32, Timestamp)> {
        let queue = queue(self.sharing.as_mut()?);
        let &(asked, ip) = queue.front()?;
        if asked + after > now {
            return None;
        }
        queue.pop_front();
        Some((ip, asked))
    }
}
