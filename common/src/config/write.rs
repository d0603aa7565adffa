//! Settings in TOML, with or without comments.

use super::settings::{SECTIONS, Settings};
use super::table::Setting;

/// Name of the file in a crawl's directory with the settings in force.
pub const SETTINGS_FILE: &str = "crawl.toml";
/// Name of the file that replaces [`SETTINGS_FILE`]. In a directory without a crawl, it means that
/// the creation of one was interrupted.
pub const NEW_SETTINGS_FILE: &str = "crawl.toml.new";

/// Maximum width of a comment line.
const WIDTH: usize = 96;

/// Returns a TOML file with all settings at their defaults, each with description and unit.
#[must_use]
pub fn commented_toml() -> String {
    Settings::default().to_commented_toml(
        "All settings of crivello, with their defaults. A settings file needs only the lines that \
         differ. On the command line: --set section.key=value",
    )
}

fn explanation(setting: &Setting, defaults: &Settings) -> String {
    let (kind, default) = (setting.described_kind(), (setting.write)(defaults));
    let change = match (setting.permanent, setting.live) {
        (true, _) => " Fixed for the life of a crawl.",
        (false, true) => " Live: can be changed while the crawl runs.",
        (false, false) => " A change takes effect at the next start.",
    };
    format!("Value: {kind}. Default: {default}.{change}")
}

fn line(setting: &Setting, settings: &Settings) -> String {
    format!("{} = {}\n", setting.name(), (setting.write)(settings))
}

/// Appends `text` as lines of comment.
fn comment(out: &mut String, text: &str) {
    let mut width = 0;
    for word in text.split_whitespace() {
        if width > 0 && width + 1 + word.len() <= WIDTH {
            out.push(' ');
            width += 1 + word.len();
        } else {
            out.push_str(if width > 0 { "\n# " } else { "# " });
            width = 2 + word.len();
        }
        out.push_str(word);
    }
    out.push('\n');
}

impl Settings {
    /// Returns these settings in TOML with descriptions, under a heading.
    pub fn to_commented_toml(&self, heading: &str) -> String {
        let defaults = Self::default();
        let mut out = String::new();
        comment(&mut out, heading);
        out.push_str("#\n");
        comment(
            &mut out,
            "Quantities need units. Durations: \"250ms\", \"10s\", \"2min\", \"1h30min\", \"1d\". \
             Sizes: \"100B\", \"64KiB\", \"2MiB\", \"1GiB\".",
        );
        for section in SECTIONS {
            out.push('\n');
            comment(&mut out, &section.description.concat());
            out.push_str(&format!("[{}]\n", section.name));
            for setting in Setting::of(section) {
                out.push('\n');
                comment(&mut out, &setting.description.concat());
                comment(&mut out, &explanation(setting, &defaults));
                out.push_str(&line(setting, self));
            }
        }
        out
    }

    /// Returns these settings in TOML. Inverse of [`Self::from_toml`].
    pub fn to_toml(&self) -> String {
        let mut out = String::new();
        for section in SECTIONS {
            let gap = if out.is_empty() { "" } else { "\n" };
            out.push_str(&format!("{gap}[{}]\n", section.name));
            out.extend(Setting::of(section).map(|setting| line(setting, self)));
        }
        out
    }
}
