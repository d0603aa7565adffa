//! What is looked for in a response, and what was found so far.

use super::LINKS_READ_MAX;
use super::links::{LinkArena, Via};
use super::microsyntax::{Directives, Rel};
use crivello_common::config::Settings;

/// Which of a page's links are wanted.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub images: bool,
    pub scripts: bool,
    pub agent: String,
    pub links_max: usize,
    pub decoded_max: usize,
    /// Bytes of a `base`: each link is resolved against it, so it must not be longer than they.
    pub base_max: usize,
}

impl Wanted {
    pub(super) fn of(settings: &Settings) -> Self {
        Self {
            images: settings.links.images,
            scripts: settings.links.scripts,
            agent: settings.identity.user_agent_name.clone(),
            links_max: LINKS_READ_MAX.max(settings.links.per_page_max as usize),
            decoded_max: settings.fetch.decoded_size_max.as_usize(),
            base_max: settings.links.url_length_max as usize,
        }
    }

    /// What a `link` of this `rel` is followed as. An alternate style sheet is a style sheet.
    pub(super) fn via(&self, rel: Rel) -> Option<Via> {
        if rel.stylesheet {
            return self.scripts.then_some(Via::Script);
        }
        if rel.canonical {
            Some(Via::Canonical)
        } else if rel.alternate {
            Some(Via::Alternate)
        } else if rel.sequence {
            Some(Via::Sequence)
        } else if rel.icon && self.images {
            Some(Via::Image)
        } else {
            None
        }
    }
}

/// What is gathered from one response.
#[derive(Debug, Default)]
pub(super) struct Gleanings {
    pub links: LinkArena,
    /// What the first `base` says; empty, which means the page itself, where it says too much.
    pub base: Option<String>,
    /// A link led to the page itself, which is the base if the page names one.
    pub to_base: bool,
    pub title: String,
    pub directives: Directives,
}

impl Gleanings {
    pub(super) fn clear(&mut self, links_max: usize) {
        self.links.clear(links_max);
        self.base = None;
        self.to_base = false;
        self.title.clear();
        self.directives = Directives::default();
    }
}
