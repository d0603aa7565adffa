//! The house is kept as its drawing says: sizes, laws, paths. What a compiler cannot see.

#[path = "tidy/scan.rs"]
mod scan;

use scan::{code, function_lengths, imports, links, named_paths, words};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const LINES_MAX: usize = 400;
const MAIN_LINES_MAX: usize = 60;
const FUNCTION_LINES_MAX: usize = 70;

/// What a room of the agent may see of the crate, besides itself.
const CORRIDOR: &[&str] = &["messages", "limits", "storage", "progress"];

/// Files of the agent that are no rooms: they see no room, with the exception of the assembly.
const NO_ROOMS: &[&str] = &["storage", "messages", "limits", "progress", "report"];
/// The assembly, which sees all rooms.
const ASSEMBLY: &[&str] = &["app", "lib"];

const HEADINGS: &[&str] = &["Comes in", "Goes out", "Remembers", "Never knows", "Goes wrong"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace is above its member")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// All files below `dir` with this extension, generated and hidden ones left out.
fn files(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display())) {
            let path = entry.expect("an entry can be read").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                if !name.starts_with('.') && name != "target" && name != "generated" {
                    dirs.push(path);
                }
            } else if path.extension().is_some_and(|e| e == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    assert!(
        !found.is_empty(),
        "no .{extension} below {}: is this test looking in the right place?",
        dir.display()
    );
    found
}

/// A path as it is written in messages and lists.
fn short(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).to_string_lossy().into_owned()
}

#[track_caller]
fn none(problems: &[String]) {
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

#[test]
fn files_hold_one_idea_each() {
    let mut problems = Vec::new();
    for path in files(root(), "rs") {
        let lines = read(&path).lines().count();
        if lines > LINES_MAX {
            problems.push(format!("{}: {lines} lines, {LINES_MAX} at most", short(&path)));
        }
    }
    none(&problems);
}

#[test]
fn functions_fit_on_a_screen() {
    let mut problems = Vec::new();
    for path in files(root(), "rs") {
        let file = short(&path);
        if file.ends_with("tests.rs") || file.contains("tests/") && !file.contains("simweb/src") {
            // A table of cases may be as long as it needs.
            continue;
        }
        let text = read(&path);
        let tested = text.find("#[cfg(test)]").unwrap_or(text.len());
        for (name, lines) in function_lengths(&text[..tested]) {
            if lines > FUNCTION_LINES_MAX {
                problems.push(format!("{file}: fn {name}: {lines} lines"));
            }
        }
    }
    none(&problems);
}

#[test]
fn main_is_a_table_of_contents() {
    let lines = read(&root().join("cli/src/main.rs")).lines().count();
    assert!(lines <= MAIN_LINES_MAX, "cli/src/main.rs has {lines} lines, {MAIN_LINES_MAX} at most");
}

/// The rooms of the agent: its folders, and its files that are neither corridor nor assembly.
fn rooms() -> Vec<(String, Vec<PathBuf>)> {
    let src = root().join("agent/src");
    let mut rooms = Vec::new();
    for entry in fs::read_dir(&src).expect("the agent has sources") {
        let path = entry.expect("an entry can be read").path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if NO_ROOMS.contains(&name.as_str()) || ASSEMBLY.contains(&name.as_str()) {
            continue;
        }
        let sources = if path.is_dir() { files(&path, "rs") } else { vec![path] };
        rooms.push((name, sources));
    }
    rooms
}

/// The files of a module, which is a folder or a file.
fn sources_of(module: &Path) -> Vec<PathBuf> {
    if module.is_dir() { files(module, "rs") } else { vec![module.with_extension("rs")] }
}

#[test]
fn each_room_opens_with_what_passes_its_doors() {
    let mut problems = Vec::new();
    for (room, sources) in rooms() {
        let door = root().join("agent/src").join(&room).join("mod.rs");
        let Some(door) = sources.iter().find(|s| **s == door).or_else(|| sources.first()) else {
            continue;
        };
        let text = read(door);
        let opening: String = text.lines().take_while(|line| line.starts_with("//!")).collect();
        let mut from = 0;
        for heading in HEADINGS {
            match opening[from..].find(heading) {
                Some(at) => from += at,
                None => problems.push(format!("{}: no *{heading}* (in order)", short(door))),
            }
        }
    }
    none(&problems);
}

#[test]
fn no_room_imports_another() {
    let mut problems = Vec::new();
    for (room, sources) in rooms() {
        for path in sources {
            for name in imports(&code(&read(&path))) {
                if name != room && !CORRIDOR.contains(&name.as_str()) {
                    problems.push(format!("{}: crate::{name}", short(&path)));
                }
            }
        }
    }
    for name in NO_ROOMS {
        for path in sources_of(&root().join("agent/src").join(name)) {
            for name in imports(&code(&read(&path))) {
                if !NO_ROOMS.contains(&name.as_str()) {
                    problems.push(format!("{}: crate::{name}", short(&path)));
                }
            }
        }
    }
    none(&problems);
}

#[test]
fn agent_and_coordinator_never_meet() {
    let mut problems = Vec::new();
    for (house, stranger) in [("agent", "coordinator"), ("coordinator", "agent")] {
        let manifest = read(&root().join(house).join("Cargo.toml"));
        if manifest.contains(&format!("crivello-{stranger}")) {
            problems.push(format!("{house}/Cargo.toml: crivello-{stranger}"));
        }
        for path in files(&root().join(house).join("src"), "rs") {
            if words(&code(&read(&path))).contains(format!("crivello_{stranger}").as_str()) {
                problems.push(format!("{}: crivello_{stranger}", short(&path)));
            }
        }
    }
    none(&problems);
}

#[test]
fn the_floor_is_pure() {
    let mut problems = Vec::new();
    let runtime = root().join("common/src/runtime");
    for path in files(&root().join("common/src"), "rs") {
        if path.starts_with(&runtime) {
            continue;
        }
        let text = code(&read(&path));
        let used = words(&text);
        for banned in ["tokio", "tonic", "tracing"] {
            if used.contains(banned) {
                problems.push(format!("{}: {banned}", short(&path)));
            }
        }
    }
    none(&problems);
}

#[test]
fn nothing_is_left_for_later() {
    let later = [concat!("to", "do!"), concat!("unimpl", "emented!"), concat!("FIX", "ME")];
    let mut problems = Vec::new();
    for path in files(root(), "rs") {
        for (i, line) in read(&path).lines().enumerate() {
            if later.iter().any(|word| line.contains(word)) {
                problems.push(format!("{}:{}: {}", short(&path), i + 1, line.trim()));
            }
        }
    }
    none(&problems);
}

#[test]
fn the_map_shows_what_is_there() {
    let text = read(&root().join("ARCHITECTURE.md"));
    let named = named_paths(&text);
    assert!(!named.is_empty(), "ARCHITECTURE.md names no path");
    let names: BTreeSet<String> = files(root(), "rs")
        .iter()
        .filter_map(|path| path.file_name())
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    let exists = |path: &String| root().join(path).exists() || names.contains(path);
    let absent: Vec<_> = named.into_iter().filter(|path| !exists(path)).collect();
    assert!(absent.is_empty(), "ARCHITECTURE.md names what is not there: {absent:?}");
}

#[test]
fn no_page_links_to_nowhere() {
    let mut problems = Vec::new();
    for path in files(root(), "md") {
        let beside = path.parent().expect("a file is in a folder");
        for link in links(&read(&path)) {
            if !beside.join(&link).exists() {
                problems.push(format!("{}: {link}", short(&path)));
            }
        }
    }
    none(&problems);
}
