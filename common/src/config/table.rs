//! The rows of the settings table, and the macro that derives them and the structs from one list.

use super::key::kebab;
use super::settings::{Settings, TABLE};
use super::value::{TomlValue, Value, ValueError};

/// A row of the table: one setting, independent of its type.
pub(super) struct Setting {
    /// Name of the section.
    pub(super) section: &'static str,
    /// Name of the field.
    pub(super) field: &'static str,
    /// Lines of the description.
    pub(super) description: &'static [&'static str],
    /// Unit; empty if the value includes it.
    pub(super) unit: &'static str,
    /// True if the setting never changes during the life of a crawl.
    pub(super) permanent: bool,
    /// True if a change takes effect while the crawl runs.
    pub(super) live: bool,
    /// Returns the kind of value expected. The argument is empty or ` of` and the unit.
    pub(super) kind: fn(&str) -> String,
    /// Sets the value from a file.
    pub(super) read: fn(&mut Settings, &TomlValue<'_>) -> Result<(), ValueError>,
    /// Sets the value from an argument.
    pub(super) read_text: fn(&mut Settings, &str) -> Result<(), ValueError>,
    /// Makes an entry of a list present (true) or absent (false).
    pub(super) put_entry: fn(&mut Settings, &str, bool) -> Result<(), ValueError>,
    /// Returns the value in TOML.
    pub(super) write: fn(&Settings) -> String,
    /// Checks the bounds.
    pub(super) check: fn(&Settings) -> Result<(), String>,
    /// Sets a random value.
    #[cfg(test)]
    pub(super) draw: fn(&mut Settings, &mut super::tests::Draw),
}

/// A section of settings.
pub(super) struct Section {
    pub(super) name: &'static str,
    pub(super) description: &'static [&'static str],
}

impl Setting {
    /// Returns the key, `section.name`.
    pub(super) fn key(&self) -> String {
        format!("{}.{}", self.section, self.name())
    }

    /// Returns the name within the section.
    pub(super) fn name(&self) -> String {
        kebab(self.field)
    }

    /// Returns the setting with this key.
    pub(super) fn find(key: &str) -> Option<&'static Self> {
        TABLE.iter().find(|setting| setting.key() == key)
    }

    /// Returns the kind of value expected, with its unit.
    pub(super) fn described_kind(&self) -> String {
        let of = if self.unit.is_empty() { String::new() } else { format!(" of {}", self.unit) };
        (self.kind)(&of)
    }

    /// Returns the settings of `section`, in order.
    pub(super) fn of(section: &'static Section) -> impl Iterator<Item = &'static Self> {
        TABLE.iter().filter(move |setting| setting.section == section.name)
    }
}

/// Sets a field from a file. Not inlined: one copy per type instead of per setting speeds up the
/// build.
#[inline(never)]
pub(super) fn take<T: Value>(field: &mut T, value: &TomlValue<'_>) -> Result<(), ValueError> {
    *field = T::read(value)?;
    Ok(())
}

/// Sets a field from an argument.
#[inline(never)]
pub(super) fn take_text<T: Value>(field: &mut T, text: &str) -> Result<(), ValueError> {
    *field = T::read_text(text)?;
    Ok(())
}

/// Makes an entry of a list present or absent.
#[inline(never)]
pub(super) fn put<T: Value>(field: &mut T, text: &str, present: bool) -> Result<(), ValueError> {
    field.put_entry(text, present)
}

/// Formats a field.
#[inline(never)]
pub(super) fn write<T: Value>(field: &T) -> String {
    field.write()
}

/// Derives the structs and the table from the list in `settings.rs`.
macro_rules! settings {
    ($(
        $(#[doc = $about:literal])+
        $part:ident $section:ident: $Section:ident {
            $(
                $(#[doc = $description:literal])+
                $field:ident: $Type:ty = $default:expr
                $(, in $unit:literal)? $(, must $check:expr)? $(, permanent $permanent:literal)?;
            )+
        }
    )+) => {
        $(
            $(#[doc = $about])+
            #[derive(Clone, Debug, PartialEq)]
            pub struct $Section {
                $(
                    $(#[doc = $description])+
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

        /// All sections, in order.
        pub(super) static SECTIONS: &[super::table::Section] = &[$(
            super::table::Section { name: stringify!($section), description: &[$($about),+] },
        )+];

        /// All settings, in order.
        pub(super) static TABLE: &[super::table::Setting] = &[$($(
            super::table::Setting {
                section: stringify!($section),
                field: stringify!($field),
                description: &[$($description),+],
                unit: concat!($($unit)?),
                permanent: false $(|| $permanent)?,
                live: matches!(stringify!($part).as_bytes(), b"live"),
                kind: <$Type as super::value::Value>::kind,
                read: |settings, value| {
                    super::table::take(&mut settings.$part.$section.$field, value)
                },
                read_text: |settings, text| {
                    super::table::take_text(&mut settings.$part.$section.$field, text)
                },
                put_entry: |settings, text, present| {
                    super::table::put(&mut settings.$part.$section.$field, text, present)
                },
                write: |settings| super::table::write(&settings.$part.$section.$field),
                check: |_settings| {
                    $(($check)(&_settings.$part.$section.$field)?;)?
                    Ok(())
                },
                #[cfg(test)]
                draw: |settings, draw| {
                    settings.$part.$section.$field = super::value::Value::draw(draw);
                },
            },
        )+)+];
    };
}
