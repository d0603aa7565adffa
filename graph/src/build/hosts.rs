//! Hosts of pages.

use super::join::Cursor;
use super::key::{KEY, Keyed};
use crate::names::NamesWriter;
use crate::rows::{RowSorter, SortedRows, part, row};
use crivello_common::url::CrawlUrl;
use crivello_export::{LineSorter, LineSource as _};
use std::io;
use std::path::Path;

/// Hosts of pages, gathered page by page.
pub(super) struct HostNames {
    keyed: Keyed,
    names: LineSorter,
    last: String,
    /// Key of the host, page.
    pages: RowSorter<{ KEY + 4 }>,
}

impl HostNames {
    pub(super) fn new(dir: &Path, memory: usize, keyed: Keyed) -> Self {
        let (names, pages) = (LineSorter::new(dir), RowSorter::new(dir, memory));
        Self { keyed, names, last: String::new(), pages }
    }

    /// Adds a page.
    pub(super) fn push(&mut self, page: u32, name: &str) -> io::Result<()> {
        let url = CrawlUrl::parse(name).map_err(|_| io::Error::other("a name that is no URL"))?;
        let host = url.host();
        if host != self.last {
            host.clone_into(&mut self.last);
            self.names.push(host.as_bytes())?;
        }
        self.pages.push(row(self.keyed.key(host), page.to_be_bytes()))
    }

    /// Writes the sorted names of the hosts to `path`. Returns the number of hosts, and rows of a page and its host,
    /// in the order of the pages.
    pub(super) fn finish(
        self,
        dir: &Path,
        memory: usize,
        path: &Path,
    ) -> io::Result<(usize, SortedRows<8>)> {
        let mut ids: RowSorter<{ KEY + 4 }> = RowSorter::new(dir, memory);
        let hosts = write_names(self.names, path, |host, name| {
            ids.push(row(self.keyed.key(name), host.to_be_bytes()))
        })?;
        let mut pages = Cursor::new(self.pages.finish()?)?;
        let mut found = RowSorter::new(dir, memory);
        for id in distinct_keys(ids.finish()?) {
            let id = id?;
            while let Some(page) = pages.next_with(&id[..KEY])? {
                found.push(row::<4, 4, 8>(part(&page, KEY), part(&id, KEY)))?;
            }
        }
        Ok((hosts, found.finish()?))
    }
}

/// Writes sorted names, each once, and passes each with its node to `visit`. Returns their number.
pub(super) fn write_names(
    names: LineSorter,
    path: &Path,
    mut visit: impl FnMut(u32, &str) -> io::Result<()>,
) -> io::Result<usize> {
    let mut writer = NamesWriter::create(path)?;
    let mut sorted = names.finish()?;
    let (mut line, mut last) = (Vec::new(), None);
    let mut node = 0_u32;
    while sorted.read_line(&mut line)? {
        if last.as_ref() == Some(&line) {
            continue;
        }
        writer.push(&line)?;
        visit(node, str::from_utf8(&line).map_err(io::Error::other)?)?;
        node =
            node.checked_add(1).ok_or_else(|| io::Error::other(crate::GraphError::TooManyNodes))?;
        last = Some(std::mem::take(&mut line));
    }
    writer.finish()
}

/// Returns rows of a key and a node, with an error where a key comes twice.
pub(super) fn distinct_keys<const N: usize>(
    rows: SortedRows<N>,
) -> impl Iterator<Item = io::Result<[u8; N]>> {
    let mut last: Option<[u8; KEY]> = None;
    rows.map(move |row| {
        let row = row?;
        if last.replace(part(&row, 0)) == Some(part(&row, 0)) {
            return Err(io::Error::other("two names have one key; build again"));
        }
        Ok(row)
    })
}
