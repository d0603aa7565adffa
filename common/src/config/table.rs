//! How one list becomes a struct, a parser and a document: the rows of the table and the macro
//! that makes them.

use super::settings::{SECTIONS, Settings, TABLE};
use super::value::{Problem, Typed, Value};

/// One setting, its type forgotten.
pub(super) struct Setting {
    /// The section's name.
    pub(super) section: &'static str,
    /// The field's name.
    pub(super) field: &'static str,
    /// Its meaning, line by line.
    pub(super) meaning: &'static [&'static str],
    /// What it counts; empty where the value says it.
    pub(super) unit: &'static str,
    /// Whether a crawl that is resumed must have the same value.
    pub(super) fixed: bool,
    /// Whether a change takes effect while the crawl runs.
    pub(super) live: bool,
    /// What may be written.
    pub(super) kind: fn(&str) -> String,
    /// Takes over a value of a file.
    pub(super) read: fn(&mut Settings, &Typed<'_>) -> Result<(), Problem>,
    /// Takes over a value of an argument.
    pub(super) read_text: fn(&mut Settings, &str) -> Result<(), Problem>,
    /// Adds an entry to a list, unless it is there.
    pub(super) add: fn(&mut Settings, &str) -> Result<(), Problem>,
    /// Takes an entry out of a list, if it is there.
    pub(super) remove: fn(&mut Settings, &str) -> Result<(), Problem>,
    /// The value in force, as in a TOML file.
    pub(super) write: fn(&Settings) -> String,
    /// Whether the value in force is within its bounds.
    pub(super) check: fn(&Settings) -> Result<(), String>,
    /// Makes up a value.
    #[cfg(test)]
    pub(super) draw: fn(&mut Settings, &mut super::tests::Draw),
}

/// A section: its name and what it is about.
pub(super) struct Section {
    pub(super) name: &'static str,
    pub(super) meaning: &'static [&'static str],
}

impl Setting {
    /// `section.key`, as in a file.
    pub(super) fn key(&self) -> String {
        format!("{}.{}", self.section, self.name())
    }

    /// The key within its section.
    pub(super) fn name(&self) -> String {
        kebab(self.field)
    }

    /// The setting of this key.
    pub(super) fn find(key: &str) -> Option<&'static Self> {
        TABLE.iter().find(|setting| setting.key() == key)
    }

    /// The settings of `section`, in order.
    pub(super) fn of(section: &'static Section) -> impl Iterator<Item = &'static Self> {
        TABLE.iter().filter(move |setting| setting.section == section.name)
    }
}

impl Section {
    /// The section of this name.
    pub(super) fn find(name: &str) -> Option<&'static Self> {
        SECTIONS.iter().find(|section| section.name == name)
    }
}

/// A field's name as a key.
pub(super) fn kebab(field: &str) -> String {
    field.replace('_', "-")
}

/// Reads into a field; once for each type, not for each setting: that keeps the build short.
#[inline(never)]
pub(super) fn take<T: Value>(field: &mut T, value: &Typed<'_>) -> Result<(), Problem> {
    *field = T::read(value)?;
    Ok(())
}

/// As [`take`], of an argument.
#[inline(never)]
pub(super) fn take_text<T: Value>(field: &mut T, text: &str) -> Result<(), Problem> {
    *field = T::read_text(text)?;
    Ok(())
}

/// Adds an entry to a field that is a list.
#[inline(never)]
pub(super) fn add<T: Value>(field: &mut T, text: &str) -> Result<(), Problem> {
    field.add_text(text)
}

/// Takes an entry out of a field that is a list.
#[inline(never)]
pub(super) fn remove<T: Value>(field: &mut T, text: &str) -> Result<(), Problem> {
    field.remove_text(text)
}

/// Writes a field.
#[inline(never)]
pub(super) fn give<T: Value>(field: &T) -> String {
    field.write()
}

/// See `settings.rs` for how a list looks.
macro_rules! settings {
    ($(
        $(#[doc = $about:literal])+
        $section:ident: $Section:ident {
            $(
                $(#[doc = $meaning:literal])+
                $field:ident: $Type:ty = $default:expr
                $(, in $unit:literal)? $(, must $check:expr)? $(, fixed $fixed:literal)? $(, live $live:literal)?;
            )+
        }
    )+) => {
        /// Every setting of a crawl.
        #[derive(Clone, Debug, PartialEq, Default)]
        pub struct Settings {
            $($(#[doc = $about])+ pub $section: $Section,)+
        }

        $(
            $(#[doc = $about])+
            #[derive(Clone, Debug, PartialEq)]
            pub struct $Section {
                $(
                    $(#[doc = $meaning])+
                    #[doc = concat!("\n\nDefault: `", stringify!($default), "`", $(" ", $unit,)? ".")]
                    pub $field: $Type,
                )+
            }

            impl Default for $Section {
                fn default() -> Self {
                    Self { $($field: $default,)+ }
                }
            }
        )+

        /// The sections, in order.
        pub(super) static SECTIONS: &[super::table::Section] = &[$(
            super::table::Section { name: stringify!($section), meaning: &[$($about),+] },
        )+];

        /// Every setting, in order.
        pub(super) static TABLE: &[super::table::Setting] = &[$($(
            super::table::Setting {
                section: stringify!($section),
                field: stringify!($field),
                meaning: &[$($meaning),+],
                unit: concat!($($unit)?),
                fixed: false $(|| $fixed)?,
                live: false $(|| $live)?,
                kind: <$Type as super::value::Value>::kind,
                read: |settings, value| {
                    super::table::take(&mut settings.$section.$field, value)
                },
                read_text: |settings, text| {
                    super::table::take_text(&mut settings.$section.$field, text)
                },
                add: |settings, text| super::table::add(&mut settings.$section.$field, text),
                remove: |settings, text| super::table::remove(&mut settings.$section.$field, text),
                write: |settings| super::table::give(&settings.$section.$field),
                check: |_settings| {
                    $(($check)(&_settings.$section.$field)?;)?
                    Ok(())
                },
                #[cfg(test)]
                draw: |settings, draw| {
                    settings.$section.$field = super::value::Value::draw(draw);
                },
            },
        )+)+];
    };
}
