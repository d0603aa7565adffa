//! Enums whose values are stored on disk by number and reported by name: failures and discards.

/// Declares an enum whose variants have a number (on disk) and a name (in reports, metrics and
/// settings). Numbers run from 0 without gaps.
macro_rules! closed_set {
    (
        $(#[$doc:meta])*
        pub enum $set:ident {
            $($(#[$variant_doc:meta])* $variant:ident = $code:literal => $name:literal,)+
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        #[repr(u8)]
        pub enum $set {
            $($(#[$variant_doc])* $variant = $code,)+
        }

        impl $set {
            /// All variants, in the order of their numbers.
            pub const ALL: [Self; [$($code),+].len()] = [$(Self::$variant),+];

            /// Returns the name used in reports and metrics.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// Returns the variant with this [`Self::name`].
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.name() == name)
            }

            /// Returns the number stored on disk.
            #[must_use]
            pub const fn code(self) -> u8 {
                self as u8
            }

            /// Returns the variant with this [`Self::code`].
            #[must_use]
            pub fn from_code(code: u8) -> Option<Self> {
                Self::ALL.get(usize::from(code)).copied()
            }
        }
    };
}

pub(crate) use closed_set;

#[cfg(test)]
mod tests {
    use crate::discard::Discard;
    use crate::failure::Failure;

    #[test]
    fn numbers_have_no_gaps_and_names_are_unique() {
        let sets = [
            Discard::ALL
                .map(|d| (d.code(), d.name(), Discard::from_code(d.code()).is_some()))
                .to_vec(),
            Failure::ALL
                .map(|f| (f.code(), f.name(), Failure::from_code(f.code()).is_some()))
                .to_vec(),
        ];
        for set in sets {
            for (index, (code, name, known)) in set.iter().enumerate() {
                assert_eq!(usize::from(*code), index, "{name}");
                assert!(known, "{name}");
                assert_eq!(set.iter().filter(|(_, other, _)| other == name).count(), 1, "{name}");
            }
        }
    }
}
