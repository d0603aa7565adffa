//! Settings with a fixed set of values.

use super::value::{TomlValue, Value, ValueError, quote};
use crate::assignment::StrategyKind;

macro_rules! choices {
    ($(
        $(#[doc = $about:literal])+
        $Choice:ident { $($(#[$meta:meta])+ $Variant:ident = $word:literal,)+ }
    )+) => { $(
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
        pub enum $Choice { $($(#[$meta])+ $Variant,)+ }

        impl $Choice {
            /// Returns the name used in settings.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$Variant => $word,)+ }
            }

            const ALL: &[Self] = &[$(Self::$Variant),+];
        }

        one_of!($Choice);
    )+ };
}

/// Implements [`Value`] for a type by its `ALL` and `name()`.
macro_rules! one_of {
    ($Choice:ident) => {
        impl Value for $Choice {
            fn expected() -> String {
                let words: Vec<String> = Self::ALL.iter().map(Self::write).collect();
                words.join(" or ")
            }

            fn read(value: &TomlValue<'_>) -> Result<Self, ValueError> {
                let word = value.get_ref().as_str();
                let choice = Self::ALL.iter().find(|choice| Some(choice.name()) == word);
                choice.copied().ok_or_else(|| ValueError::mismatch::<Self>(value))
            }

            fn write(&self) -> String {
                quote(self.name())
            }

            #[cfg(test)]
            fn draw(draw: &mut super::tests::Draw) -> Self {
                Self::ALL[draw.below(Self::ALL.len() as u64) as usize]
            }
        }
    };
}

one_of!(StrategyKind);

choices! {
    /// The definition of a group.
    AssignBy {
        /// All hosts of a registrable domain (public-suffix list with its private section).
        #[default]
        Domain = "domain",
        /// Each host is a group.
        Host = "host",
    }
    /// Mode of the delay; see [`Politeness::mode`](super::Politeness::mode).
    PolitenessMode {
        /// Up to `burst` requests, then the delay.
        #[default]
        Absolute = "absolute",
        /// The delay is a multiple of the response time.
        Relative = "relative",
    }
    /// The digest of WARC payloads and blocks.
    DigestKind {
        /// SHA-1, in Base32.
        #[default]
        Sha1 = "sha1",
        /// SHA-256, in Base32.
        Sha256 = "sha256",
    }
    /// The data structure that decides whether a URL is new.
    SieveKind {
        /// Rows on disk.
        #[default]
        Rocksdb = "rocksdb",
        /// 64-bit signatures in memory.
        Memory = "memory",
        /// A Bloom filter.
        Bloom = "bloom",
        /// A Bloom filter with blocks of one cache line.
        BlockedBloom = "blocked-bloom",
    }
}
