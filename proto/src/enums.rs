//! Numbers of enum values on the wire: one more than the code of the value, because 0 stands for a
//! value that is absent.

/// Returns the number of the value with this code.
pub const fn number(code: u8) -> i32 {
    code as i32 + 1
}

/// Returns the value with this number, by the `from_code` of its type; `None` if it is absent or
/// unknown.
pub fn from_number<T>(number: i32, from_code: impl FnOnce(u8) -> Option<T>) -> Option<T> {
    number.checked_sub(1).and_then(|code| u8::try_from(code).ok()).and_then(from_code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v1;
    use crivello_common::obstacle::ObstacleKind;
    use crivello_common::view::{AgentState, RunState};

    /// Checks that the values of a pure type have the numbers of the values with the same names on
    /// the wire, and that the wire has no others.
    macro_rules! assert_same {
        ($set:ident, $prefix:literal) => {
            for value in $set::ALL {
                let sent = number(value.code());
                let on_wire = v1::$set::try_from(sent).expect("a value of the wire");
                let name = value.name().replace('-', "_").to_uppercase();
                assert_eq!(on_wire.as_str_name(), format!("{}_{name}", $prefix));
                assert_eq!(from_number(sent, $set::from_code), Some(value));
            }
            for sent in [i32::MIN, -1, 0, number($set::ALL.len() as u8), 256, 257, i32::MAX] {
                assert_eq!(from_number(sent, $set::from_code), None, "{sent}");
                let on_wire = v1::$set::try_from(sent).unwrap_or_default();
                assert_eq!(on_wire, v1::$set::Unspecified, "{sent}");
            }
        };
    }

    #[test]
    fn values_have_the_numbers_of_their_names() {
        assert_same!(RunState, "RUN_STATE");
        assert_same!(AgentState, "AGENT_STATE");
        assert_same!(ObstacleKind, "OBSTACLE_KIND");
        assert_eq!(v1::RunState::from(RunState::Stopping), v1::RunState::Stopping);
        assert_eq!(v1::AgentState::from(AgentState::Dead), v1::AgentState::Dead);
    }
}
