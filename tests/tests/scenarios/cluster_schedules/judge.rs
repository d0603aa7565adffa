//! Final checks of a schedule.

use super::world::{Kind, Page, World};
use std::collections::BTreeSet;

impl World {
    pub fn reachable(&self) -> BTreeSet<Page> {
        let mut reached = self.accepted.clone();
        let mut todo: Vec<Page> = reached.iter().copied().collect();
        while let Some(page) = todo.pop() {
            for child in self.web.children(page) {
                if reached.insert(child) {
                    todo.push(child);
                }
            }
        }
        reached
    }

    pub fn is_finished(&self) -> bool {
        let epoch = self.members.view().epoch;
        self.nodes.iter().all(|n| n.left || n.up && n.is_settled(epoch) && n.is_idle())
            && self.reachable().iter().all(|page| self.fetched.contains_key(page))
            && (0..self.web.n_pages() / 8 + 1).all(|page| self.accepted.contains(&page))
            && self.misplaced().is_none()
    }

    pub fn why_not_finished(&self) -> String {
        let epoch = self.members.view().epoch;
        let missing: Vec<Page> =
            self.reachable().into_iter().filter(|p| !self.fetched.contains_key(p)).collect();
        let held: Vec<String> = missing
            .iter()
            .map(|&page| {
                let group = self.web.group(page);
                let by = self
                    .nodes
                    .iter()
                    .filter(|n| !n.left)
                    .map(|n| (n.id, n.store.all_roles().get(&group), n.store.state(page)));
                format!(
                    "{page} of {group:?}, accepted {}: {:?}; parents {:?}",
                    self.accepted.contains(&page),
                    by.collect::<Vec<_>>(),
                    self.fetched
                        .keys()
                        .filter(|&&p| self.web.children(p).contains(&page))
                        .collect::<Vec<_>>()
                )
            })
            .collect();
        if let Some(wrong) = self.misplaced()
            && held.is_empty()
        {
            return wrong;
        }
        if !held.is_empty() {
            return format!("not done, epoch {epoch}:\n{}", held.join("\n"));
        }
        let nodes: Vec<String> =
            self.nodes.iter().filter(|n| !n.left).map(|n| n.describe(epoch)).collect();
        format!("not done: epoch {epoch}, missing {missing:?}\n{}", nodes.join("\n"))
    }

    /// Checks what is visible only at the end; the rest is checked during the run.
    pub fn judge(&mut self) {
        let reachable = self.reachable();
        let astray = self.fetched.keys().find(|page| !reachable.contains(page));
        let twice: Vec<_> = self.fetched.iter().filter(|&(_, &n)| n > 1).collect();
        if let Some(page) = astray {
            self.wrong = Some(format!("fetched a page without a link to it: {page}"));
        } else if matches!(self.kind, Kind::Calm | Kind::Planned) && !twice.is_empty() {
            self.wrong = Some(format!("fetched again without a crash: {twice:?}"));
        }
    }

    /// Returns a description of the first row that is missing or misplaced.
    pub fn misplaced(&self) -> Option<String> {
        self.nodes.iter().filter(|n| !n.left).find_map(|n| n.misplaced(self))
    }
}
