//! Standard error, shared by the panel and the log. A log line clears the panel, prints itself and
//! redraws the panel in one write, so that neither corrupts the other.

use crate::panel::Style;
use crossterm::{cursor, queue, style, terminal};
use parking_lot::Mutex;
use std::io::{self, IsTerminal, Write};

/// Lines of the panel on the terminal, above the cursor.
static PANEL: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Returns true if a panel can be drawn: standard error is a terminal with cursor movement.
pub fn can_draw() -> bool {
    io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Returns the capabilities of the terminal, from the environment (`NO_COLOR`:
/// <https://no-color.org>).
pub fn style() -> Style {
    let var = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(var).unwrap_or_default();
    let locale = locale.to_ascii_lowercase();
    Style {
        color: var("NO_COLOR").is_none(),
        unicode: locale.contains("utf-8") || locale.contains("utf8"),
    }
}

/// Returns the columns and rows of the terminal.
fn size() -> (usize, usize) {
    match terminal::size() {
        Ok((columns, rows)) if columns > 0 && rows > 0 => (columns.into(), rows.into()),
        _ => (80, 24),
    }
}

/// Shows one line, truncated to the terminal, as the panel if it can be drawn.
pub fn show_line(line: &str) {
    if can_draw() {
        // A closed terminal does not stop the command.
        let _ = draw(vec![line.chars().take(width()).collect()]);
    }
}

/// Prints text on standard output, and ignores a closed standard output.
pub fn print_out(text: &str) {
    let _ = write_all(io::stdout(), text.as_bytes());
}

/// Returns the number of columns that can be written without wrapping.
pub fn width() -> usize {
    size().0 - 1
}

/// Replaces the panel by as many of `lines` as fit on the terminal. Without lines the panel is
/// removed.
///
/// # Errors
/// I/O errors of standard error.
pub fn draw(mut lines: Vec<String>) -> io::Result<()> {
    let mut panel = PANEL.lock();
    let (columns, rows) = size();
    lines.truncate(rows - 1);
    if panel.is_empty() && lines.is_empty() {
        return Ok(());
    }
    let mut frame = Vec::with_capacity(1_024);
    queue!(frame, terminal::BeginSynchronizedUpdate)?;
    rewind(&mut frame, &panel, columns)?;
    put(&mut frame, &lines)?;
    queue!(frame, terminal::Clear(terminal::ClearType::FromCursorDown))?;
    match (panel.is_empty(), lines.is_empty()) {
        (true, false) => queue!(frame, cursor::Hide)?,
        (false, true) => queue!(frame, cursor::Show)?,
        _ => {}
    }
    queue!(frame, terminal::EndSynchronizedUpdate)?;
    *panel = lines;
    write_all(io::stderr(), &frame)
}

/// Prints whole lines above the panel.
///
/// # Errors
/// I/O errors of standard error.
pub fn print_above(text: &[u8]) -> io::Result<()> {
    let panel = PANEL.lock();
    if panel.is_empty() {
        return write_all(io::stderr(), text);
    }
    let mut frame = Vec::with_capacity(1_024 + text.len());
    queue!(frame, terminal::BeginSynchronizedUpdate)?;
    rewind(&mut frame, &panel, size().0)?;
    queue!(frame, terminal::Clear(terminal::ClearType::FromCursorDown))?;
    frame.extend_from_slice(text);
    put(&mut frame, &panel)?;
    queue!(frame, terminal::EndSynchronizedUpdate)?;
    write_all(io::stderr(), &frame)
}

/// Prints a line on standard error, and ignores a closed standard error.
pub fn print_line(line: &str) {
    let _ = print_above(format!("{line}\n").as_bytes());
}

/// Removes the panel and shows the cursor.
pub fn restore() {
    let _ = draw(Vec::new());
}

/// Moves the cursor to the start of the panel. A terminal that became narrower has wrapped its lines.
fn rewind(frame: &mut Vec<u8>, panel: &[String], columns: usize) -> io::Result<()> {
    let rows = panel.iter().map(|line| visible_width(line).div_ceil(columns).max(1)).sum::<usize>();
    let up = u16::try_from(rows).unwrap_or(u16::MAX);
    if up > 0 {
        queue!(frame, cursor::MoveToColumn(0), cursor::MoveUp(up))?;
    }
    Ok(())
}

/// Returns the visible width of a line, without escape sequences.
fn visible_width(line: &str) -> usize {
    let mut escaped = false;
    let is_visible = |&c: &char| {
        let hidden = escaped || c == '\x1b';
        escaped = hidden && !(escaped && c.is_ascii_alphabetic());
        !hidden
    };
    line.chars().filter(is_visible).count()
}

fn put(frame: &mut Vec<u8>, lines: &[String]) -> io::Result<()> {
    for line in lines {
        let rest = terminal::Clear(terminal::ClearType::UntilNewLine);
        queue!(frame, style::Print(line), rest, style::Print("\r\n"))?;
    }
    Ok(())
}

fn write_all(mut to: impl Write, bytes: &[u8]) -> io::Result<()> {
    to.write_all(bytes)?;
    to.flush()
}

/// Writer for log lines: collects a line and prints it above the panel.
#[derive(Debug, Default)]
pub struct LogLine(Vec<u8>);

impl Write for LogLine {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for LogLine {
    fn drop(&mut self) {
        if !self.0.is_empty() {
            let _ = print_above(&self.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewound(panel: &[&str], columns: usize) -> String {
        let panel: Vec<String> = panel.iter().map(|&line| line.to_owned()).collect();
        let mut frame = Vec::new();
        rewind(&mut frame, &panel, columns).expect("writing to a vector");
        String::from_utf8(frame).expect("text")
    }

    #[test]
    fn a_wrapped_panel_is_cleared_completely() {
        let panel = ["\x1b[2mpages\x1b[22m    12,345", "", "hosts    ready 12"];
        assert!(rewound(&panel, 80).ends_with("\x1b[3A"));
        assert!(rewound(&panel, 17).ends_with("\x1b[3A"));
        assert!(rewound(&panel, 10).ends_with("\x1b[5A"));
        assert!(rewound(&panel, 5).ends_with("\x1b[8A"));
        assert_eq!(rewound(&[], 80), "");
    }
}
