//! Fields whose JSON form differs from their type. `build.rs` names these functions in the derived
//! `Serialize` of the messages.

use crivello_common::time::Timestamp;
use serde::{Serialize, Serializer};

/// Serializes a time as RFC 3339; `null` for 0.
pub(crate) fn time<S: Serializer>(micros: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    let time = (*micros > 0).then(|| Timestamp(*micros).to_string());
    time.serialize(serializer)
}

/// Serializes the hash of a group as 16 hexadecimal digits.
pub(crate) fn group<S: Serializer>(group: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{group:016x}"))
}

/// Serializes an enum by the name of its value; `unspecified` for a number that this build does not
/// know.
pub(crate) fn name<E, S>(number: &i32, serializer: S) -> Result<S::Ok, S::Error>
where
    E: TryFrom<i32> + Default + Serialize,
    S: Serializer,
{
    E::try_from(*number).unwrap_or_default().serialize(serializer)
}
