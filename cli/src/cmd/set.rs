//! `crivello set` and `crivello settings`: the settings of a running crawl.

use crate::args::cluster::{SetArgs, SettingsOfArgs};
use crate::cluster::edits::{SettingsClient, add, remove, set, unset};
use crate::exit::{CliError, Exit};
use crate::screen;
use anyhow::anyhow;
use crivello_common::config::Settings;
use crivello_proto::v1;
use std::io::Write;

/// Applies the edits, prints the new values, and waits until the agents use them.
///
/// # Errors
/// Fails if an edit is invalid, or the coordinator cannot be reached.
pub async fn run(args: &SetArgs) -> Result<Exit, CliError> {
    let edits = edits(args)?;
    let keys: Vec<String> = edits.iter().map(|edit| edit.key.clone()).collect();
    let mut client = SettingsClient::connect_to(&args.coordinator).await?;
    let answer = client.edit(edits).await?;
    let settings = read(answer.toml())?;
    let mut printed = Vec::new();
    for key in keys {
        let line = format!("{key} = {}", settings.value(&key).unwrap_or_default());
        if !printed.contains(&line) {
            print(&format!("{line}\n"));
            printed.push(line);
        }
    }
    if !answer.at_restart().is_empty() {
        screen::print_line(&format!(
            "takes effect when the agents start again: {}",
            answer.at_restart().join(", ")
        ));
    }
    client.wait(answer.revision()).await
}

/// Prints the settings in force, or one of them.
///
/// # Errors
/// Fails if there is no such setting, or the coordinator cannot be reached.
pub async fn show(args: &SettingsOfArgs) -> Result<(), CliError> {
    let mut client = SettingsClient::connect_to(&args.coordinator).await?;
    let v1::CrawlSettings { revision, toml } = client.settings().await?;
    let settings = read(&toml)?;
    let text = match &args.key {
        Some(key) => format!("{}\n", settings.value(key).map_err(CliError::usage)?),
        None => settings
            .to_commented_toml(&format!("Settings of the crawl in force, revision {revision}.")),
    };
    print(&text);
    Ok(())
}

fn print(text: &str) {
    // Standard output may be closed.
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}

fn read(toml: &str) -> Result<Settings, CliError> {
    Settings::from_toml("the coordinator's settings", toml)
        .map_err(|errors| CliError::Internal(anyhow!(errors.to_string())))
}

fn edits(args: &SetArgs) -> Result<Vec<v1::SettingEdit>, CliError> {
    let split = |text: &str, example: &str| match text.split_once('=') {
        Some((key, value)) => Ok((key.trim().to_owned(), value.trim().to_owned())),
        None => Err(CliError::usage(format!("{text}: write {example}"))),
    };
    let mut edits = Vec::new();
    for text in &args.sets {
        let (key, value) = split(text, "KEY=VALUE, such as politeness.delay=5s")?;
        edits.push(set(&key, &value));
    }
    for text in &args.adds {
        let (key, entry) = split(text, "KEY=ENTRY, such as politeness.paused=www.example.com")?;
        edits.push(add(&key, &entry));
    }
    for text in &args.removes {
        let (key, entry) = split(text, "KEY=ENTRY, such as politeness.paused=www.example.com")?;
        edits.push(remove(&key, &entry));
    }
    edits.extend(args.unsets.iter().map(|key| unset(key.trim())));
    Ok(edits)
}
