//! List entries with several parts, written as inline tables or as `[[section.list]]`.

use super::bounds::CheckedEntry;
use super::key::kebab;
use super::names;
use super::suggest::suggest;
use super::value::{TomlValue, Value, ValueError};
use std::time::Duration;
use toml::de::DeValue;

/// Declares list entries. `via` normalizes a part; `sample` has values for tests.
macro_rules! records {
    ($(
        $(#[$about:meta])+
        $Record:ident, such as $example:literal, whole $whole:expr, {
            $($(#[$description:meta])+ $part:ident: $Type:ty, via $via:expr, sample $sample:expr;)+
        }
    )+) => { $(
        $(#[$about])+
        pub struct $Record { $($(#[$description])+ pub $part: $Type,)+ }

        impl Value for $Record {
            fn expected() -> String {
                concat!("a table such as ", $example).to_owned()
            }

            fn read(value: &TomlValue<'_>) -> Result<Self, ValueError> {
                refuse_unknown_parts::<Self>(value, &[$(kebab(stringify!($part))),+])?;
                let record = Self { $($part: read_part(value, stringify!($part), |part: &$Type| $via(part))?,)+ };
                $whole(&record).map_err(|text| ValueError::of(value, text))?;
                Ok(record)
            }

            fn write(&self) -> String {
                let parts = [$(write_part(stringify!($part), &self.$part)),+];
                let parts: Vec<String> = parts.into_iter().flatten().collect();
                format!("{{ {} }}", parts.join(", "))
            }

            #[cfg(test)]
            fn draw(draw: &mut super::tests::Draw) -> Self {
                Self { $($part: draw.one_of(&$sample),)+ }
            }
        }

        impl CheckedEntry for $Record {
            fn check(&self) -> Result<(), String> {
                $(check_part(stringify!($part), &self.$part, |part: &$Type| $via(part))?;)+
                $whole(self)
            }
        }
    )+ };
}

records! {
    /// A domain (and all hosts below it) with its own delay.
    #[derive(Clone, Debug, PartialEq)]
    DomainDelay, such as "{ suffix = \"example.com\", delay = \"5s\" }", whole |_| Ok::<_, String>(()), {
        /// The host suffix, at a label boundary: `example.com` covers `www.example.com`.
        suffix: String, via names::suffix, sample ["example.com", "xn--bcher-kva.example"].map(String::from);
        /// The delay that replaces `politeness.delay`.
        delay: Duration, via |delay: &Duration| Ok(*delay), sample [Duration::ZERO, Duration::from_millis(1_500)];
    }
    /// A host whose owner agreed that robots.txt is ignored.
    #[derive(Clone, Debug, PartialEq)]
    RobotsExemption, such as "{ host = \"www.example.com\", reason = \"asked on 1 May, A. Smith\" }",
    whole |_| Ok::<_, String>(()), {
        /// The host, without its subdomains.
        host: String, via names::host, sample ["www.example.com", "127.0.0.1", "[::1]"].map(String::from);
        /// The reason, logged at start.
        reason: String, via names::reason, sample ["it is ours", "\"yes\", they\nsaid"].map(String::from);
    }
    /// An include or exclude rule. All parts that are set must match.
    #[derive(Clone, Debug, PartialEq, Default)]
    LinkRule, such as "{ host-suffix = \"example.com\", path-prefix = \"/docs/\", regex = \"[.]html$\" }",
    whole some_part, {
        /// The host is this one or below it.
        host_suffix: Option<String>, via optional(names::suffix),
            sample [None, Some("example.com".to_owned())];
        /// The path starts with this text.
        path_prefix: Option<String>, via optional(names::path_prefix),
            sample [None, Some("/docs/%C3%A9".to_owned())];
        /// The regular expression matches somewhere in the URL.
        regex: Option<String>, via optional(names::regex),
            sample [Some(r#"a\.b"'$"#.to_owned()), Some("none".to_owned())];
    }
}

/// Checks that a rule has at least one part.
fn some_part(rule: &LinkRule) -> Result<(), String> {
    if *rule == LinkRule::default() {
        return Err("an empty rule; set \"host-suffix\", \"path-prefix\" or \"regex\"".to_owned());
    }
    Ok(())
}

fn refuse_unknown_parts<T: Value>(
    value: &TomlValue<'_>,
    known: &[String],
) -> Result<(), ValueError> {
    let DeValue::Table(parts) = value.get_ref() else {
        return Err(ValueError::mismatch::<T>(value));
    };
    let Some(unknown) = parts.keys().find(|name| !known.iter().any(|k| k == name.get_ref())) else {
        return Ok(());
    };
    let name = unknown.get_ref();
    let hint = match suggest(name, known) {
        Some(near) => format!("did you mean {near:?}?"),
        None => format!("write {}", T::expected()),
    };
    Err(ValueError { at: unknown.span().start, text: format!("there is no part {name:?}; {hint}") })
}

fn read_part<T: Value>(
    record: &TomlValue<'_>,
    field: &str,
    via: impl Fn(&T) -> Result<T, String>,
) -> Result<T, ValueError> {
    let name = kebab(field);
    match record.get_ref().get(name.as_str()) {
        Some(part) => {
            let read = T::read(part).map_err(|problem| problem.within(&name))?;
            via(&read).map_err(|text| ValueError::of(part, text).within(&name))
        }
        None => T::missing()
            .ok_or_else(|| ValueError::of(record, format!("the part {name:?} is missing"))),
    }
}

/// Returns the part as `key = value`; `None` if it equals its default.
fn write_part<T: Value + PartialEq>(field: &str, part: &T) -> Option<String> {
    let missing = T::missing().is_some_and(|missing| missing == *part);
    (!missing).then(|| format!("{} = {}", kebab(field), part.write()))
}

fn check_part<T: Value + PartialEq>(
    field: &str,
    part: &T,
    via: impl Fn(&T) -> Result<T, String>,
) -> Result<(), String> {
    let name = kebab(field);
    let normal = via(part).map_err(|text| format!("{name}: {text}"))?;
    if normal == *part { Ok(()) } else { Err(format!("{name}: write {}", normal.write())) }
}

fn optional(
    via: impl Fn(&str) -> Result<String, String>,
) -> impl Fn(&Option<String>) -> Result<Option<String>, String> {
    move |part| part.as_deref().map(&via).transpose()
}
