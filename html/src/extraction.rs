//! Selection of the links of a response, and the data extracted so far.

use super::links::{LinkArena, LinkKind, LinkSource};
use super::list_summary::{LinkDates, ListSummary, SITEMAP_URLS_MAX};
use super::microsyntax::Rel;
use super::text;
use crivello_common::config::{Fixed, Live};
use crivello_common::signals::{PageSignals, TdmRights};
use encoding_rs::UTF_8;

/// Selection of a page's links, and its limits.
#[derive(Clone, Debug)]
pub(super) struct LinkFilter {
    pub images: bool,
    pub scripts: bool,
    /// Name of the crawler in robots directives.
    pub agent: String,
    pub links_max: usize,
    pub decoded_max: usize,
    /// Maximum length of a `base` in bytes. Each link is resolved against it, so it must not be
    /// longer than a link.
    pub base_max: usize,
}

impl LinkFilter {
    pub(super) fn of(fixed: &Fixed, live: &Live) -> Self {
        Self {
            images: live.links.images,
            scripts: live.links.scripts,
            agent: fixed.identity.user_agent_name.clone(),
            links_max: SITEMAP_URLS_MAX.max(live.links.per_page_max as usize),
            decoded_max: fixed.fetch.decoded_size_max.as_usize(),
            base_max: live.links.url_length_max as usize,
        }
    }

    /// Returns the source of the links of this `rel`; `None` if they are not extracted. An
    /// alternate style sheet counts as a style sheet.
    pub(super) fn source_of(&self, rel: Rel) -> Option<LinkSource> {
        if rel.stylesheet {
            return self.scripts.then_some(LinkSource::Script);
        }
        if rel.canonical {
            Some(LinkSource::Canonical)
        } else if rel.alternate {
            Some(LinkSource::Alternate)
        } else if rel.sequence {
            Some(LinkSource::Sequence)
        } else if rel.icon && self.images {
            Some(LinkSource::Image)
        } else {
            None
        }
    }
}

/// Data extracted from one response.
#[derive(Debug, Default)]
pub(super) struct Extraction {
    pub links: LinkArena,
    /// First `base`. If it is too long, it is empty, which means the page itself.
    pub base: Option<String>,
    /// True if a link leads to the page itself, or to the base if the page has one.
    pub to_base: bool,
    pub title: String,
    /// Signals of the headers and the page. Licenses and policies of the page are in the next fields
    /// until its base is known.
    pub signals: PageSignals,
    /// Links of the page to licenses, as written.
    pub licenses: Vec<String>,
    /// TDM rights of the page: reservation and policy, as written.
    pub tdm: (String, String),
    /// True if a page declares an icon.
    pub has_icon: bool,
    /// Dates of links, in the order of the links.
    pub dates: Vec<LinkDates>,
    /// Counts of a sitemap or feed; `None` for any other document.
    pub list: Option<ListSummary>,
}

/// Number of dates that stay allocated between pages.
const KEPT_DATES: usize = 1_024;

impl Extraction {
    /// Adds a link of a text in UTF-8, unless it is empty.
    pub(super) fn link(&mut self, text: &str, kind: LinkKind, source: LinkSource) {
        let href = text::href(text, UTF_8);
        if !href.is_empty() {
            self.links.push(&href, kind, source, false);
        }
    }

    /// Completes the signals, with the base of the page. Those of the page precede those of its headers.
    pub(super) fn take_signals(&mut self, base: &url::Url) -> PageSignals {
        let mut signals = std::mem::take(&mut self.signals);
        for license in &self.licenses {
            signals.licenses.add(license, Some(base));
        }
        if !self.tdm.0.is_empty() {
            let mut rights = TdmRights::default();
            rights.set_reservation(&self.tdm.0);
            rights.set_policy(&self.tdm.1, Some(base));
            signals.tdm = rights.or(signals.tdm);
        }
        signals
    }

    pub(super) fn clear(&mut self, links_max: usize) {
        self.links.clear(links_max);
        self.base = None;
        self.to_base = false;
        self.title.clear();
        self.signals = PageSignals::default();
        self.licenses.clear();
        self.tdm.0.clear();
        self.tdm.1.clear();
        self.has_icon = false;
        self.dates.clear();
        self.dates.shrink_to(KEPT_DATES);
        self.list = None;
    }
}
