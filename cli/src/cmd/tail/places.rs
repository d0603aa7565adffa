//! The places of agents, on the command line and in the file of `--state`.

use crate::exit::{CliError, usage};
use crivello_archive::TailPosition;
use crivello_common::runtime::Replacement;
use crivello_common::view::AgentId;
use crivello_proto::v1::TailResponse;
use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

/// The place after the last printed capture of each agent.
pub struct Places {
    after: BTreeMap<AgentId, TailPosition>,
    /// File that has them, one `AGENT:FILE:OFFSET` a line.
    state: Option<PathBuf>,
}

impl Places {
    /// Reads the places in the file, and those of the command line, which replace them.
    ///
    /// # Errors
    /// Returns a usage error if the file cannot be read, or for an invalid place.
    pub fn open(after: &[String], state: Option<&Path>) -> Result<Self, CliError> {
        let mut places = BTreeMap::new();
        if let Some(file) = state {
            let shown = file.display();
            let text = match fs::read_to_string(file) {
                Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
                read => read.map_err(|error| usage!("--state {shown}: {error}"))?,
            };
            for line in text.lines() {
                places.extend([parse_place(line).map_err(|why| usage!("--state {shown}: {why}"))?]);
            }
        }
        for text in after {
            places.extend([parse_place(text).map_err(|why| usage!("--after: {why}"))?]);
        }
        Ok(Self { after: places, state: state.map(Path::to_owned) })
    }

    /// Returns the place at which an agent begins; `None` for now.
    pub fn of(&self, agent: AgentId, all: bool) -> Option<TailPosition> {
        self.after.get(&agent).copied().or_else(|| all.then(TailPosition::default))
    }

    /// Records that a response was printed.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn moved(&mut self, agent: AgentId, response: &TailResponse) -> Result<(), CliError> {
        let Some(after) = response.after else { return Ok(()) };
        let place = TailPosition { file: after.file, offset: after.offset };
        let (before, Some(file)) = (self.after.insert(agent, place), &self.state) else {
            return Ok(());
        };
        if before == Some(place) {
            return Ok(());
        }
        let lines = self.after.iter().map(|(agent, place)| format!("{}:{place}\n", agent.0));
        let text: String = lines.collect();
        // It is replaced whole. After a power cut some captures may be printed again.
        let replacement = Replacement { sync: false, ..Replacement::default() };
        replacement
            .write(file, |out| out.write_all(text.as_bytes()))
            .map_err(|error| usage!("--state {}: {error}", file.display()))
    }
}

/// Returns the agent and the place in `AGENT:FILE:OFFSET`.
fn parse_place(text: &str) -> Result<(AgentId, TailPosition), CliError> {
    let parsed = text
        .split_once(':')
        .and_then(|(agent, place)| Some((AgentId(agent.parse().ok()?), place.parse().ok()?)));
    parsed.ok_or_else(|| {
        usage!("{text:?} is not a place; write AGENT:FILE:OFFSET, as `position` has it")
    })
}
