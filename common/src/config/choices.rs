//! Settings that are one of a few words.

use super::value::{Problem, Typed, Value, quote};
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
            /// The word used in configuration.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$Variant => $word,)+ }
            }

            const ALL: &[Self] = &[$(Self::$Variant),+];
        }

        one_of!($Choice);
    )+ };
}

/// Reads and writes a type by its `name()`, one of `ALL`.
macro_rules! one_of {
    ($Choice:ident) => {
        impl Value for $Choice {
            fn expected() -> String {
                let words: Vec<String> = Self::ALL.iter().map(Self::write).collect();
                words.join(" or ")
            }

            fn read(value: &Typed<'_>) -> Result<Self, Problem> {
                let word = value.get_ref().as_str();
                let choice = Self::ALL.iter().find(|choice| Some(choice.name()) == word);
                choice.copied().ok_or_else(|| Problem::mismatch::<Self>(value))
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
    /// What a group is.
    AssignBy {
        /// All hosts of a registrable domain (public-suffix list with its private section).
        #[default]
        Domain = "domain",
        /// Each host on its own.
        Host = "host",
    }
    /// See [`Politeness::mode`](super::Politeness::mode).
    PolitenessMode {
        /// Up to `burst` requests, then the delay.
        #[default]
        Absolute = "absolute",
        /// The delay follows the time the site took.
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
    /// What answers whether a URL is new.
    SieveKind {
        /// The rows on disk.
        #[default]
        Rocksdb = "rocksdb",
        /// 64-bit signatures in memory.
        Memory = "memory",
        /// A Bloom filter.
        Bloom = "bloom",
        /// A Bloom filter in blocks of a cache line.
        BlockedBloom = "blocked-bloom",
    }
}
