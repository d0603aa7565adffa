//! Enums whose values have names, and often numbers that are stored on disk.

/// Declares enums whose variants have a name (in reports, metrics and settings) and, if they are
/// stored, a number. Numbers run from 0 without gaps.
#[macro_export]
macro_rules! closed_set {
    ($(
        $(#[$meta:meta])*
        pub enum $set:ident {
            $($(#[$variant_meta:meta])* $variant:ident $(= $code:literal)? => $name:literal,)+
        }
    )+) => { $(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        #[repr(u8)]
        pub enum $set {
            $($(#[$variant_meta])* $variant $(= $code)?,)+
        }

        impl $set {
            /// All variants, in the order of their numbers.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// Returns the name.
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

            /// Returns the number that is stored on disk, or from which that on the wire follows.
            pub const fn code(self) -> u8 {
                self as u8
            }

            /// Returns the variant with this [`Self::code`].
            #[must_use]
            pub fn from_code(code: u8) -> Option<Self> {
                Self::ALL.get(usize::from(code)).copied()
            }
        }
    )+ };
}

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
