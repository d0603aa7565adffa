//! Numbers without a unit.

use super::{TomlValue, Value, ValueError, quote};
#[cfg(test)]
use crate::config::tests::Draw;
use toml::de::DeValue;

impl Value for f64 {
    fn expected() -> String {
        "a number".to_owned()
    }

    fn read(value: &TomlValue<'_>) -> Result<Self, ValueError> {
        let text = match value.get_ref() {
            DeValue::Float(number) => number.as_str(),
            DeValue::Integer(number) if number.radix() == 10 => number.as_str(),
            _ => return Err(ValueError::mismatch::<Self>(value)),
        };
        text.parse().map_err(|_| ValueError::mismatch::<Self>(value))
    }

    fn write(&self) -> String {
        format!("{self:?}")
    }

    #[cfg(test)]
    fn draw(draw: &mut Draw) -> Self {
        draw.below(u64::MAX) as Self / 1e9
    }
}

/// Implements [`Value`] for unsigned integers up to a maximum. Integers in TOML are at most 2⁶³ − 1.
macro_rules! whole_number {
    ($($Type:ty, at most $max:expr;)+) => { $(
        impl Value for $Type {
            fn expected() -> String {
                Self::kind("")
            }

            fn kind(of: &str) -> String {
                format!("a whole number{of}")
            }

            fn read(value: &TomlValue<'_>) -> Result<Self, ValueError> {
                let DeValue::Integer(number) = value.get_ref() else {
                    return Err(ValueError::mismatch::<Self>(value));
                };
                let read = i64::from_str_radix(number.as_str(), number.radix()).ok();
                read.and_then(|n| Self::try_from(n).ok()).ok_or_else(|| {
                    let text = format!("{number} is not a whole number from 0 to {}", $max);
                    ValueError::of(value, text)
                })
            }

            fn write(&self) -> String {
                self.to_string()
            }

            #[cfg(test)]
            fn draw(draw: &mut Draw) -> Self {
                draw.below($max as u64) as Self >> draw.below(u64::from($max.ilog2()) + 1)
            }
        }
    )+ };
}
whole_number! {
    u16, at most u16::MAX;
    u32, at most u32::MAX;
    u64, at most i64::MAX;
}

/// `"none"` means no limit.
macro_rules! number_or_none {
    ($($Type:ty)+) => { $(
        impl Value for Option<$Type> {
            fn expected() -> String {
                Self::kind("")
            }

            fn kind(of: &str) -> String {
                format!("a whole number{of}, or \"none\"")
            }

            fn read(value: &TomlValue<'_>) -> Result<Self, ValueError> {
                match value.get_ref() {
                    DeValue::String(text) if text == "none" => Ok(None),
                    DeValue::Integer(_) => <$Type>::read(value).map(Some),
                    _ => Err(ValueError::mismatch::<Self>(value)),
                }
            }

            fn write(&self) -> String {
                self.map_or_else(|| quote("none"), |n| n.write())
            }

            #[cfg(test)]
            fn draw(draw: &mut Draw) -> Self {
                (draw.below(2) > 0).then(|| Value::draw(draw))
            }
        }
    )+ };
}
number_or_none!(u16 u64);
