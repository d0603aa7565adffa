//! Comparison of docs/settings.md with the table of settings in the code.
//!
//! `CRIVELLO_WRITE_DOCS=1` writes the document.

use crivello_common::config::{SettingInfo, Settings};
use std::fs;
use std::path::Path;

const HEAD: &str = "# Settings

All settings, made from the table in `common/src/config/settings.rs`; do not edit by hand. `crivello config`
prints the same as a settings file with comments.

* In a file: `[politeness]`, then `delay = \"5s\"`. On the command line: `--set politeness.delay=5s`. Later
  ones replace earlier ones: defaults, files, `--set`, flags.
* Quantities need units. Durations: `\"250ms\"`, `\"10s\"`, `\"2min\"`, `\"1h30min\"`, `\"1d\"`. Sizes: `\"100B\"`,
  `\"64KiB\"`, `\"2MiB\"`, `\"1GiB\"`.
* **live**: `crivello set` changes it while the crawl runs. **restart**: a change takes effect when the agents
  start again. **permanent**: fixed for the life of a crawl.
";

fn document() -> String {
    let mut text = HEAD.to_owned();
    let mut section = "";
    for setting in Settings::default().describe() {
        if setting.section != section {
            section = setting.section;
            text.push_str(&format!(
                "\n## {section}\n\n| setting | value | default | change | meaning |\n\
                 | --- | --- | --- | --- | --- |\n"
            ));
        }
        text.push_str(&row(&setting));
    }
    text
}

fn row(setting: &SettingInfo) -> String {
    let change = match (setting.permanent, setting.live) {
        (true, _) => "permanent",
        (false, true) => "live",
        (false, false) => "restart",
    };
    let cell = |text: &str| text.replace('|', "\\|");
    let SettingInfo { key, kind, default, description, .. } = setting;
    let (kind, description) = (cell(kind), cell(description));
    format!("| `{key}` | {kind} | `{}` | {change} | {description} |\n", cell(default))
}

#[test]
fn the_document_is_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/settings.md");
    let document = document();
    if std::env::var_os("CRIVELLO_WRITE_DOCS").is_some() {
        fs::write(&path, &document).expect("write the document");
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    let differs = written.lines().zip(document.lines()).find(|(a, b)| a != b);
    assert!(
        written == document,
        "{} is not the table of settings; first difference: {differs:?}\nType: CRIVELLO_WRITE_DOCS=1 cargo \
         test --release --workspace --test scenarios settings_table",
        path.display()
    );
}
