//! The search for the next record after damage.
//!
//! If the text of the member is intact, the next line that begins a valid head is taken. Else, and
//! if there is none, the next member is taken whose text begins with a valid head.

use super::damage::DamageKind;
use super::decoder::Compression;
use super::head::{RecordHead, read_head};
use super::member_text::MemberText;
use std::io::{self, BufRead};

/// Maximum number of bytes of a compressed member's text that are searched, because a small member
/// can have a text without end.
const SEARCHED_BYTES_MAX: u64 = 64 << 20;

/// The next record after damage.
pub(super) struct Resumed {
    /// Offset of its member; in a plain file, of the record.
    pub(super) offset: u64,
    pub(super) head: RecordHead,
}

/// Returns the next record after damage of this kind, whose member or plain record begins at
/// `start`. Returns `None` if there is none, or if a member begins at the position of the input.
pub(super) fn resync<R: BufRead>(
    text: &mut MemberText<R>,
    start: u64,
    kind: &DamageKind,
) -> io::Result<Option<Resumed>> {
    let compression = text.compression()?;
    if compression == Compression::None {
        text.rewind_behind(start);
        return match search_text(text, u64::MAX) {
            Err(DamageKind::Io(error)) => Err(error),
            found => Ok(found.ok().flatten()),
        };
    }
    let is_intact =
        !matches!(kind, DamageKind::Compression | DamageKind::CutTail | DamageKind::BetweenMembers);
    if is_intact && text.is_open() {
        match search_text(text, SEARCHED_BYTES_MAX) {
            Ok(Some(found)) => return Ok(Some(Resumed { offset: start, ..found })),
            Ok(None) if text.has_ended() => return Ok(None),
            Err(DamageKind::Io(error)) => return Err(error),
            Ok(None) | Err(_) => {}
        }
    }
    text.close();
    text.input.rewind_behind(start);
    search_members(text, compression.magic())
}

/// Searches for a line that begins a valid head, after the current line.
fn search_text<R: BufRead>(
    text: &mut MemberText<R>,
    searched_max: u64,
) -> Result<Option<Resumed>, DamageKind> {
    let is_plain = text.compression()? == Compression::None;
    let decoded_max = text.n_decoded().saturating_add(searched_max);
    while text.skip_line(decoded_max)? {
        if !text.fill(7)?.starts_with(Compression::None.magic()) {
            continue;
        }
        let offset = text.position();
        match read_head(text) {
            Ok(head) => return Ok(Some(Resumed { offset, head })),
            Err(DamageKind::Io(error)) => return Err(error.into()),
            Err(_) if is_plain => text.rewind_behind(offset),
            Err(kind @ (DamageKind::Compression | DamageKind::CutTail)) => return Err(kind),
            Err(_) => {}
        }
    }
    Ok(None)
}

/// Searches for a member whose text begins with a valid head.
fn search_members<R: BufRead>(
    text: &mut MemberText<R>,
    magic: &[u8],
) -> io::Result<Option<Resumed>> {
    while text.input.find(magic)? {
        let offset = text.input.position();
        let head = match text.begin_member() {
            Ok(_) => read_head(text),
            Err(kind) => Err(kind),
        };
        match head {
            Ok(head) => return Ok(Some(Resumed { offset, head })),
            Err(DamageKind::Io(error)) => return Err(error),
            Err(_) => {
                text.close();
                text.input.rewind_behind(offset);
            }
        }
    }
    Ok(None)
}
