//! `crivello set` and `crivello settings`: the settings of a crawl that runs.

use crate::args::steer::{SetArgs, SettingsOfArgs};
use crate::cluster::edits::{Steer, add, remove, set, unset};
use crate::exit::{Exit, Trouble};
use crate::screen;
use anyhow::anyhow;
use crivello_common::config::Settings;
use crivello_proto::v1;
use std::io::Write;

/// Makes the edits, waits until the agents go by them, and says what is in force.
///
/// # Errors
/// What is wrong with the edits; when the coordinator cannot be reached.
pub async fn run(typed: &SetArgs) -> Result<Exit, Trouble> {
    let edits = edits(typed)?;
    let keys: Vec<String> = edits.iter().map(|edit| edit.key.clone()).collect();
    let mut steer = Steer::at(&typed.coordinator).await?;
    let answer = steer.edit(edits).await?;
    let settings = read(answer.toml())?;
    let mut said = Vec::new();
    for key in keys {
        let line = format!("{key} = {}", settings.value(&key).unwrap_or_default());
        if !said.contains(&line) {
            print(&format!("{line}\n"));
            said.push(line);
        }
    }
    if !answer.at_restart().is_empty() {
        screen::say(&format!(
            "takes effect when the agents start again: {}",
            answer.at_restart().join(", ")
        ));
    }
    steer.wait(answer.revision()).await
}

/// Prints the settings in force, or one of them.
///
/// # Errors
/// When there is no such setting; when the coordinator cannot be reached.
pub async fn show(typed: &SettingsOfArgs) -> Result<(), Trouble> {
    let mut steer = Steer::at(&typed.coordinator).await?;
    let v1::CrawlSettings { revision, toml } = steer.settings().await?;
    let settings = read(&toml)?;
    let text = match &typed.key {
        Some(key) => format!("{}\n", settings.value(key).map_err(Trouble::usage)?),
        None => settings.to_commented_toml(&format!(
            "The settings in force of the crawl, revision {revision}."
        )),
    };
    print(&text);
    Ok(())
}

fn print(text: &str) {
    // Nobody may be reading.
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}

fn read(toml: &str) -> Result<Settings, Trouble> {
    Settings::from_toml("the coordinator's settings", toml)
        .map_err(|errors| Trouble::Internal(anyhow!(errors.to_string())))
}

fn edits(typed: &SetArgs) -> Result<Vec<v1::SettingEdit>, Trouble> {
    let split = |text: &str, example: &str| match text.split_once('=') {
        Some((key, value)) => Ok((key.trim().to_owned(), value.trim().to_owned())),
        None => Err(Trouble::usage(format!("{text}: write {example}"))),
    };
    let mut edits = Vec::new();
    for text in &typed.sets {
        let (key, value) = split(text, "KEY=VALUE, such as politeness.delay=5s")?;
        edits.push(set(&key, &value));
    }
    for text in &typed.adds {
        let (key, entry) = split(text, "KEY=ENTRY, such as politeness.paused=www.example.com")?;
        edits.push(add(&key, &entry));
    }
    for text in &typed.removes {
        let (key, entry) = split(text, "KEY=ENTRY, such as politeness.paused=www.example.com")?;
        edits.push(remove(&key, &entry));
    }
    edits.extend(typed.unsets.iter().map(|key| unset(key.trim())));
    Ok(edits)
}
