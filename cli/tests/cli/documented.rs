//! Test that the command lines in the documents are valid.

use clap::Parser;
use crivello_args::Args;
use std::fs;
use std::path::Path;

/// Returns the words of a shell command up to the first operator or comment of each simple command.
fn simple_commands(line: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let (mut word, mut quote) = (None::<String>, None);
    for c in line.chars().chain(['\n']) {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, ' ' | '\n' | '|' | '&' | ';' | '<' | '>') => {
                let last = commands.last_mut().expect("a command");
                last.extend(word.take());
                if !matches!(c, ' ' | '\n') {
                    commands.push(Vec::new());
                }
            }
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    commands
}

/// Returns the words of `crivello` and its arguments; `None` if the command runs something else.
fn of_crivello(words: &[String]) -> Option<&[String]> {
    let is_program = |word: &str| word == "crivello" || word.ends_with("/release/crivello");
    // It may be run by another program: `docker compose exec coordinator crivello status`.
    let begin = words.iter().position(|word| word == "exec").map_or(0, |at| at + 1);
    let rest = &words[begin..];
    let at = rest.iter().position(|word| is_program(word)).filter(|&at| at == 0 || begin > 0)?;
    Some(&rest[at..])
}

/// Returns the commands of `crivello` in the fenced blocks of a document.
fn commands(document: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut language = None::<&str>;
    let mut lines = document.lines();
    while let Some(line) = lines.next() {
        if let Some(fence) = line.trim().strip_prefix("```") {
            language = language.is_none().then_some(fence);
            continue;
        }
        let line = match (language, line.trim().strip_prefix("$ ")) {
            (Some(_), Some(command)) => command,
            (Some("sh"), None) => line,
            _ => continue,
        };
        let mut command = line.to_owned();
        // A backslash or an open quote continues the line; a comment may have an apostrophe.
        loop {
            let is_open = command.matches('\'').count() % 2 == 1 && !command.contains(" #");
            let begun = command.strip_suffix('\\').or(is_open.then_some(command.as_str()));
            let Some(begun) = begun else { break };
            command = [begun, lines.next().expect("the rest of the command")].concat();
        }
        let simple = simple_commands(&command);
        found.extend(simple.iter().filter_map(|words| of_crivello(words)).map(<[_]>::to_vec));
    }
    found
}

#[test]
fn commands_in_documents_are_valid() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    let docs = fs::read_dir(root.join("docs")).expect("the documents");
    let mut documents: Vec<_> = docs.map(|entry| entry.expect("an entry").path()).collect();
    documents.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    documents.push(root.join("README.md"));
    let (mut n, mut problems) = (0, Vec::new());
    for path in documents {
        for words in commands(&fs::read_to_string(&path).expect("a document")) {
            n += 1;
            // Placeholders for numbers.
            let given = words.iter().map(|word| if word == "OFFSET" { "0" } else { word.as_str() });
            if let Err(error) = Args::try_parse_from(given) {
                problems.push(format!("{}: {words:?}: {error}", path.display()));
            }
        }
    }
    assert!(n > 100, "only {n} commands: are they found correctly?");
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn commands_are_found() {
    let document = "crivello no\n```sh\n./target/release/crivello crawl 'a b' \\\n  --out x # why\ncurl x | \
                    crivello seed - < y\ninstall -g crivello z\nkubectl -n crivello exec c -- crivello status\n```\n\
                    ```text\ncrivello output\n$ crivello wait\n```\n";
    let found: Vec<_> = commands(document).iter().map(|words| words[1..].join(",")).collect();
    assert_eq!(found, ["crawl,a b,--out,x", "seed,-", "status", "wait"]);
}
