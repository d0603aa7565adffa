//! Names of settings.

/// Converts the name of a field to the name of a setting.
pub(super) fn kebab(field: &str) -> String {
    field.replace('_', "-")
}
