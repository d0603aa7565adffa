//! `crivello set` and `crivello settings`: the settings of a running crawl.

use crate::args::cluster::{SetArgs, SettingsOfArgs};
use crate::cluster::edits::{SettingsClient, edit};
use crate::exit::{CliError, Exit, usage};
use crate::screen;
use anyhow::anyhow;
use crivello_common::config::Settings;
use crivello_common::fields::priority::PriorityRule;
use crivello_proto::v1::setting_edit::Change;
use crivello_proto::v1::{self, CrawlSettings};

/// Applies the edits, prints the new values, and waits until the agents use them.
///
/// # Errors
/// Fails if an edit is invalid, or the coordinator cannot be reached.
pub async fn run(args: &SetArgs) -> Result<Exit, CliError> {
    let edits = edits(args)?;
    let keys: Vec<String> = edits.iter().map(|edit| edit.key.clone()).collect();
    let mut client = SettingsClient::connect_to(&args.coordinator).await?;
    let (CrawlSettings { revision, toml }, at_restart) = client.edit(edits).await?;
    let settings = read(&toml)?;
    let mut printed = Vec::new();
    for key in keys {
        let line = format!("{key} = {}", settings.value(&key).unwrap_or_default());
        if !printed.contains(&line) {
            screen::print_out(&format!("{line}\n"));
            printed.push(line);
        }
    }
    if !at_restart.is_empty() {
        let keys = at_restart.join(", ");
        screen::print_line(&format!("takes effect when the agents start again: {keys}"));
    }
    let changes_order = printed.iter().any(|line| line.starts_with("links.priority = "));
    if changes_order
        && let Ok(Some(rule)) = PriorityRule::compile(&settings.live.links.priority)
        && !rule.is_of_row()
    {
        screen::print_line(
            "links.priority holds for links that are found from now on: it names fields that queued \
             URLs do not keep",
        );
    }
    client.wait(revision).await
}

/// Prints the settings in force, or one of them.
///
/// # Errors
/// Fails if there is no such setting, or the coordinator cannot be reached.
pub async fn show(args: &SettingsOfArgs) -> Result<Exit, CliError> {
    let mut client = SettingsClient::connect_to(&args.coordinator).await?;
    let CrawlSettings { revision, toml } = client.settings().await?;
    let settings = read(&toml)?;
    let text = match &args.key {
        Some(key) => format!("{}\n", settings.value(key).map_err(CliError::usage)?),
        None => settings
            .to_commented_toml(&format!("Settings of the crawl in force, revision {revision}.")),
    };
    screen::print_out(&text);
    Ok(Exit::Finished)
}

pub(super) fn read(toml: &str) -> Result<Settings, CliError> {
    Settings::from_toml("the coordinator's settings", toml)
        .map_err(|errors| CliError::Internal(anyhow!(errors.to_string())))
}

fn edits(args: &SetArgs) -> Result<Vec<v1::SettingEdit>, CliError> {
    const VALUE: &str = "KEY=VALUE, such as politeness.delay=5s";
    const ENTRY: &str = "KEY=ENTRY, such as politeness.paused=www.example.com";
    let mut edits = Vec::new();
    for (texts, example, change) in [
        (&args.sets, VALUE, Change::Value as fn(String) -> Change),
        (&args.adds, ENTRY, Change::Add),
        (&args.removes, ENTRY, Change::Remove),
    ] {
        for text in texts {
            let wrong = || usage!("{text}: write {example}");
            let (key, value) = text.split_once('=').ok_or_else(wrong)?;
            edits.push(edit(key.trim(), change(value.trim().to_owned())));
        }
    }
    edits.extend(args.unsets.iter().map(|key| edit(key.trim(), Change::Unset(v1::Unset {}))));
    Ok(edits)
}
