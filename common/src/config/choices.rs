//! Settings with a fixed set of values.

use super::value::{TomlValue, Value, ValueError, quote};
use crate::assignment::StrategyKind;
use crate::closed_set;

closed_set! {
    /// The definition of a group.
    #[derive(Default)]
    pub enum AssignBy {
        /// All hosts of a registrable domain (public-suffix list with its private section).
        #[default]
        Domain => "domain",
        /// Each host is a group.
        Host => "host",
    }
    /// Mode of the delay; see [`Politeness::mode`](super::Politeness::mode).
    #[derive(Default)]
    pub enum PolitenessMode {
        /// Up to `burst` requests, then the delay.
        #[default]
        Absolute => "absolute",
        /// The delay is a multiple of the response time.
        Relative => "relative",
    }
    /// The digest of WARC payloads and blocks.
    #[derive(Default)]
    pub enum DigestKind {
        /// SHA-1, in Base32.
        #[default]
        Sha1 => "sha1",
        /// SHA-256, in Base32.
        Sha256 => "sha256",
    }
    /// The data structure that decides whether a URL is new.
    #[derive(Default)]
    pub enum SieveKind {
        /// Rows on disk.
        #[default]
        Rocksdb => "rocksdb",
        /// 64-bit signatures in memory.
        Memory => "memory",
        /// A Bloom filter.
        Bloom => "bloom",
        /// A Bloom filter with blocks of one cache line.
        BlockedBloom => "blocked-bloom",
        /// A quotient filter for each group.
        Quotient => "quotient",
    }
    /// The index that agents keep; see [`Search::index`](super::Search::index).
    #[derive(Default)]
    pub enum SearchIndex {
        /// None.
        #[default]
        Off => "off",
        /// One with the smallest posting lists.
        Small => "small",
        /// One with posting lists that are decoded fastest.
        Fast => "fast",
    }
    /// Treatment of near-duplicates; see [`Pages::near_duplicates`](super::Pages::near_duplicates).
    #[derive(Default)]
    pub enum NearDuplicates {
        /// They are not recognized.
        #[default]
        Off => "off",
        /// They are noted in the archive.
        Note => "note",
        /// They are noted, and their links are not followed.
        SkipLinks => "skip-links",
    }
    /// Decides when a page is fetched again; see [`Recrawl::policy`](super::Recrawl::policy).
    #[derive(Default)]
    pub enum RecrawlPolicy {
        /// Never.
        #[default]
        None => "none",
        /// After an interval.
        Fixed => "fixed",
        /// About as often as it changes, within a budget.
        Adaptive => "adaptive",
    }
    /// The loss that the adaptive policy minimizes; see [`Recrawl::objective`](super::Recrawl::objective).
    #[derive(Default)]
    pub enum RecrawlObjective {
        /// The harmonic number of missed changes.
        #[default]
        Harmonic => "harmonic",
        /// The time for which copies are out of date.
        Freshness => "freshness",
    }
    /// Treatment of pages with `noarchive`; see [`Pages::noarchive`](super::Pages::noarchive).
    #[derive(Default)]
    pub enum NoArchive {
        /// They are archived, with a note.
        #[default]
        Note => "note",
        /// They are not archived.
        Drop => "drop",
    }
    /// Form of the `Signature-Agent` header; see
    /// [`Identity::signature_agent_form`](super::Identity::signature_agent_form).
    #[derive(Default)]
    pub enum SignatureAgentForm {
        /// A dictionary with the URL of the directory.
        #[default]
        DirectoryUrl => "directory-url",
        /// A dictionary with the origin of the directory.
        Origin => "origin",
        /// The origin, as a bare string.
        String => "string",
    }
    /// Compression of archive files; see [`Store::compression`](super::Store::compression).
    #[derive(Default)]
    pub enum ArchiveCompression {
        /// A gzip member for each record.
        #[default]
        Gzip => "gzip",
        /// A zstd frame for each record.
        Zstd => "zstd",
    }
    /// Survival of a store when the machine is lost; see [`Upload::survives`](super::Upload::survives).
    #[derive(Default)]
    pub enum StoreSurvival {
        /// An S3 service does, a directory does not.
        #[default]
        Auto => "auto",
        /// It does.
        Yes => "yes",
        /// It does not.
        No => "no",
    }
    /// A way to rewrite URLs; see [`Links::rewrite`](super::Links::rewrite).
    pub enum UrlRewrite {
        /// Query parameters that only track visitors are dropped.
        Tracking => "tracking",
        /// Parameters that name a session are dropped from query and path.
        Sessions => "sessions",
        /// The parameters of the query are sorted.
        SortQuery => "sort-query",
        /// A `?` without a query is dropped.
        DropEmptyQuery => "drop-empty-query",
        /// Several slashes in a row become one, in the path.
        CollapseSlashes => "collapse-slashes",
        /// `www.` is dropped from the host.
        StripWww => "strip-www",
        /// http at the default port becomes https.
        ForceHttps => "force-https",
        /// The name of an index page is dropped from the path.
        IndexPages => "index-pages",
    }
}

/// Implements [`Value`] for types declared by `closed_set!`.
macro_rules! one_of {
    ($($Choice:ident)+) => { $(
        impl Value for $Choice {
            fn expected() -> String {
                Self::ALL.map(|choice| choice.write()).join(" or ")
            }

            fn read(value: &TomlValue<'_>) -> Result<Self, ValueError> {
                let choice = value.get_ref().as_str().and_then(Self::from_name);
                choice.ok_or_else(|| ValueError::mismatch::<Self>(value))
            }

            fn write(&self) -> String {
                quote(self.name())
            }

            #[cfg(test)]
            fn draw(draw: &mut super::tests::Draw) -> Self {
                draw.one_of(&Self::ALL)
            }
        }
    )+ };
}
one_of!(AssignBy PolitenessMode DigestKind SieveKind StrategyKind UrlRewrite);
one_of!(NoArchive RecrawlPolicy RecrawlObjective SignatureAgentForm ArchiveCompression);
one_of!(NearDuplicates SearchIndex StoreSurvival);
