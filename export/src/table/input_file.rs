//! The data that all rows of a WARC file have in common.

use crate::file_names::{check_crawl_name, crawl_of};
use std::fs;
use std::io;
use std::path::Path;

/// The columns that follow from a file's place.
pub(super) struct InputFile {
    pub(super) name: String,
    /// Name of the crawl, which is part of a directory's name.
    pub(super) crawl: String,
    /// Directory of the agent or the crawl.
    pub(super) segment: String,
    /// Name of the agent, if the crawl is that of a cluster.
    pub(super) agent: Option<String>,
}

impl InputFile {
    pub(super) fn of(path: &Path, name: &str, crawl: Option<&str>) -> io::Result<Self> {
        let whole = path.canonicalize()?;
        let mut dir = whole.parent().unwrap_or(Path::new("/"));
        if dir.ends_with("warc") {
            dir = dir.parent().unwrap_or(dir);
        }
        let segment = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let agent = fs::read(dir.join("agent.json")).ok();
        let agent = agent.and_then(|text| {
            let value: serde_json::Value = serde_json::from_slice(&text).ok()?;
            value["name"].as_str().map(str::to_owned)
        });
        let crawl = crawl.unwrap_or_else(|| crawl_of(path)).to_owned();
        check_crawl_name(&crawl)?;
        Ok(Self { name: name.to_owned(), crawl, segment, agent })
    }
}
