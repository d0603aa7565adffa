//! Values in quotes: texts, quantities, addresses.

use super::{TomlValue, Value, ValueError};
#[cfg(test)]
use crate::config::tests::Draw;
use crate::units::{ByteSize, format_duration, parse_duration};
use ipnet::IpNet;
use std::net::SocketAddr;
use std::time::Duration;
use toml::de::DeValue;

/// Formats a TOML string.
pub(in crate::config) fn quote(text: &str) -> String {
    toml::Value::from(text).to_string()
}

impl Value for String {
    fn expected() -> String {
        "a text".to_owned()
    }

    fn read(value: &TomlValue<'_>) -> Result<Self, ValueError> {
        let text = value.get_ref().as_str().map(str::to_owned);
        text.ok_or_else(|| ValueError::mismatch::<Self>(value))
    }

    fn write(&self) -> String {
        quote(self)
    }

    #[cfg(test)]
    fn draw(draw: &mut Draw) -> Self {
        draw.text()
    }
}

impl Value for Option<String> {
    fn expected() -> String {
        String::expected()
    }

    fn read(value: &TomlValue<'_>) -> Result<Self, ValueError> {
        String::read(value).map(Some)
    }

    fn write(&self) -> String {
        quote(self.as_deref().unwrap_or_default())
    }

    fn missing() -> Option<Self> {
        Some(None)
    }

    #[cfg(test)]
    fn draw(draw: &mut Draw) -> Self {
        (draw.below(2) > 0).then(|| draw.text())
    }
}

/// Implements [`Value`] for types written as a text: kind, examples, parser, formatter, random value.
macro_rules! texts {
    ($($Type:ty: $kind:literal such as $examples:literal, $read:expr, $write:expr, $draw:expr;)+) => { $(
        impl Value for $Type {
            fn expected() -> String {
                concat!($kind, " such as ", $examples).to_owned()
            }

            fn kind(_of: &str) -> String {
                $kind.to_owned()
            }

            fn read(value: &TomlValue<'_>) -> Result<Self, ValueError> {
                let text = match value.get_ref() {
                    DeValue::String(text) => text.to_string(),
                    DeValue::Integer(number) => number.to_string(),
                    DeValue::Float(number) => number.to_string(),
                    _ => return Err(ValueError::mismatch::<Self>(value)),
                };
                let read: Result<Self, String> = $read(&text);
                read.map_err(|text| ValueError::of(value, text))
            }

            fn write(&self) -> String {
                quote(&$write(self))
            }

            #[cfg(test)]
            fn draw(draw: &mut Draw) -> Self {
                $draw(draw)
            }
        }
    )+ };
}

texts! {
    Duration: "a duration" such as "\"250ms\", \"10s\", \"2min\", \"1h30min\", \"1d\"",
        |text: &str| parse_duration(text).map_err(|e| e.to_string()),
        |duration: &Self| format_duration(*duration),
        |draw: &mut Draw| Self::from_millis(u64::draw(draw));
    ByteSize: "a size" such as "\"100B\", \"64KiB\", \"2MiB\", \"1GiB\"",
        |text: &str| text.parse().map_err(|e: crate::units::UnitError| e.to_string()),
        |size: &Self| size.to_string(),
        |draw: &mut Draw| Self(u64::draw(draw));
    IpNet: "a network" such as "\"127.0.0.0/8\" or \"fd00::/8\"",
        |text: &str| network(text),
        |network: &Self| network.to_string(),
        |draw: &mut Draw| draw.network();
    SocketAddr: "an address with its port" such as "\"127.0.0.1:53\" or \"[::1]:53\"",
        |text: &str| socket(text),
        |address: &Self| address.to_string(),
        |draw: &mut Draw| draw.socket();
}

/// Parses a network or a single address. Bits after the prefix are dropped.
fn network(text: &str) -> Result<IpNet, String> {
    let one = || text.parse::<std::net::IpAddr>().ok().map(IpNet::from);
    let network = text.parse::<IpNet>().ok().or_else(one);
    let network = network.map(|network| network.trunc());
    network.ok_or_else(|| format!("{text:?} is not a network; write {}", IpNet::expected()))
}

/// Parses an address with port. There is no default port, so that a missing port is noticed.
fn socket(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        let wanted = SocketAddr::expected();
        let likely = text.parse::<std::net::IpAddr>().map(|ip| SocketAddr::new(ip, 53));
        match likely {
            Ok(address) => format!("{text:?} has no port; write \"{address}\""),
            Err(_) => format!("{text:?} is not an address with a port; write {wanted}"),
        }
    })
}
