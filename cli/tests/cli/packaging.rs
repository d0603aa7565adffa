//! Tests of the release files: man pages, licenses, and systemd units whose commands are valid.

#[path = "../../examples/dist/generate.rs"]
mod generate;

use crate::program::fresh;
use clap::{CommandFactory, Parser};
use crivello_args::Args;
use std::fs;
use std::path::Path;

#[test]
fn a_release_has_man_pages_completions_and_licenses() {
    let dir = fresh("share");
    generate::all(&dir).expect("generated");
    let read = |name: &str| fs::read_to_string(dir.join(name)).expect(name);

    let mut commands = vec![("crivello".to_owned(), Args::command())];
    let mut n_pages = 0;
    while let Some((name, command)) = commands.pop() {
        let page = read(&format!("man/man1/{name}.1"));
        assert!(page.contains(".SH NAME") && page.contains(".SH OPTIONS"), "{name}: {page}");
        n_pages += 1;
        let below = command.get_subcommands().map(|c| (format!("{name}-{}", c.get_name()), c));
        commands.extend(below.map(|(name, command)| (name, command.clone())));
    }
    assert!(n_pages > 25, "{n_pages} pages");

    for completion in [
        "bash-completion/completions/crivello",
        "zsh/site-functions/_crivello",
        "fish/vendor_completions.d/crivello.fish",
    ] {
        assert!(read(completion).contains("coordinator"), "{completion}");
    }

    let licenses = read("doc/crivello/THIRD-PARTY.txt");
    for name in ["tokio ", "librocksdb-sys ", "clap "] {
        assert!(licenses.contains(&format!("\n{name}")), "no {name:?} in {licenses}");
    }
    for name in ["chromiumoxide", "clap_mangen", "crivello-agent"] {
        assert!(!licenses.contains(&format!("\n{name} ")), "{name:?} is not in the program");
    }
}

#[test]
fn the_commands_of_the_systemd_units_are_valid() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/systemd");
    for (unit, options) in [
        ("coordinator", "--contact me@a.example --listen 10.0.0.1:7070"),
        ("agent", "--name agent-1 --listen 10.0.0.2:7071 --drain-on-stop"),
    ] {
        let text = fs::read_to_string(dir.join(format!("crivello-{unit}.service"))).expect(unit);
        let lines: Vec<&str> = text.lines().filter_map(|l| l.strip_prefix("ExecStart=")).collect();
        let [line] = lines[..] else { panic!("{unit}: one command is expected: {lines:?}") };
        let line = line.replace("%S", "/var/lib").replace("$CRIVELLO_OPTIONS", options);
        assert!(!line.contains(['%', '$']), "{unit}: unknown variable in {line}");
        let args = Args::try_parse_from(line.split_whitespace());
        assert!(args.is_ok(), "{unit}: {line}: {args:?}");
        assert!(text.contains(&format!("StateDirectory=crivello-{unit}\n")), "{unit}: {text}");
        assert!(line.contains(&format!("--data /var/lib/crivello-{unit} ")), "{unit}: {line}");
        // The state has keys: it is for its owner only.
        assert!(text.contains("\nStateDirectoryMode=0700\nUMask=0077\n"), "{unit}: {text}");
        // Exit code 64 means a usage error, which is not retried.
        assert!(text.contains("\nRestartPreventExitStatus=64\n"), "{unit}: {text}");
    }
}

#[test]
fn the_state_in_the_image_is_for_its_owner_only() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/Dockerfile");
    let text = fs::read_to_string(path).expect("the Dockerfile");
    assert!(text.contains("install -d -o crivello -g crivello -m 0700 /data "), "{text}");
}
