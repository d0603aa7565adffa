//! Budget of one page: what its links may cost, counted and not timed.

use crivello_common::discard::Discard;
use crivello_common::url::has_other_scheme;

/// A text longer than this multiple of `links.url-length-max` is not parsed.
const LONGER: usize = 3;
/// Bytes of links that a sitemap may have, as a multiple of those of a page.
pub(super) const SITEMAP_BYTES: usize = 5;

/// The bounds of a page's links, and what is left of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkBudget {
    /// Number of links that may still be taken.
    pub links: usize,
    /// Bytes of links that may still be taken.
    pub bytes: usize,
    /// Steps of work that may still be done.
    pub work: u64,
    /// Maximum length of a link in normal form, in bytes.
    pub length_max: usize,
    /// Length of the base, which a relative link is joined with.
    pub base_len: usize,
}

impl LinkBudget {
    /// Checks whether `href` may be taken, by its length and the number of links.
    ///
    /// # Errors
    /// [`Discard::TooManyLinks`] if no link may be taken; [`Discard::Scheme`] or
    /// [`Discard::TooLong`] if it cannot become a link.
    pub fn check(&self, href: &str) -> Result<(), Discard> {
        if self.links == 0 {
            return Err(Discard::TooManyLinks);
        }
        if href.len() > LONGER.saturating_mul(self.length_max) {
            let other = has_other_scheme(href);
            return Err(if other { Discard::Scheme } else { Discard::TooLong });
        }
        Ok(())
    }

    /// Charges `steps` to parse a link, and those to join it with the base.
    ///
    /// # Errors
    /// [`Discard::TooMuchWork`] if not so many are left.
    pub fn charge(&mut self, steps: u64) -> Result<(), Discard> {
        let left = self.work.checked_sub(steps + self.base_len as u64);
        self.work = left.ok_or(Discard::TooMuchWork)?;
        Ok(())
    }

    /// Takes a link of `len` bytes.
    ///
    /// # Errors
    /// [`Discard::TooManyLinkBytes`] if there is no room for it.
    pub const fn take(&mut self, len: usize) -> Result<(), Discard> {
        let Some(left) = self.bytes.checked_sub(len) else {
            return Err(Discard::TooManyLinkBytes);
        };
        self.bytes = left;
        self.links = self.links.saturating_sub(1);
        Ok(())
    }
}
