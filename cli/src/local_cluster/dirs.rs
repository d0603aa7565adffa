//! Names of the directories of a local cluster.

use crivello_coordinator::STATE_FILE;
use std::fs;
use std::path::Path;

/// Name of the coordinator's directory.
pub const COORDINATOR: &str = "coordinator";
/// Beginning of the names of the agents' directories.
const AGENT: &str = "agent-";

/// Returns the number of agents of the crawl in `dir`; `None` if it is not a crawl by several
/// agents.
pub fn agents_in(dir: &Path) -> Option<usize> {
    if !dir.join(COORDINATOR).join(STATE_FILE).is_file() {
        return None;
    }
    let entries = fs::read_dir(dir).ok()?.filter_map(Result::ok);
    Some(entries.filter_map(|entry| number(&entry.file_name().into_string().ok()?)).count())
}

/// Returns the name of the directory of agent `n`, counted from 1.
pub fn agent(n: usize) -> String {
    format!("{AGENT}{n}")
}

/// Returns the number in the name of an agent's directory.
fn number(name: &str) -> Option<usize> {
    name.strip_prefix(AGENT)?.parse().ok().filter(|&n| n > 0)
}
