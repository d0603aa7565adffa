//! Allowed imports: between crates by their manifests, within the agent by its sources.

use crate::imports::{Import, Modules};
use crate::{assert_none, crates, manifest, root, short};
use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;
use std::path::Path;

/// Crates by layer: a crate may depend on those of later layers only.
const CRATE_LAYERS: &[&[&str]] = &[
    &["tests", "fuzz"],
    &["cli"],
    &[
        "agent",
        "coordinator",
        "dashboard",
        "simweb",
        "tests/fake-agent",
        "tests/tidy",
        "tests/size",
    ],
    &["graph", "search"],
    &["export", "upload", "webhook"],
    &["archive"],
    &["html"],
    &["proto"],
    &["recrawl", "http-signatures"],
    &["filters", "ranks"],
    &["codes"],
    &["common"],
    &["expressions", "public-suffix"],
];

/// Modules at the top of `agent/src/` by layer. A module may import only modules of later layers;
/// imports within a layer are allowed only in the last one.
const AGENT_LAYERS: &[&[&str]] = &[
    &["app"],
    &["engines", "observe"],
    &["cluster"],
    &["shared"],
    &[STAGES],
    &["messages", "limits", "storage", "progress", "report"],
];
/// Placeholder for modules that no layer names: each of them is a stage.
const STAGES: &str = "stages";
/// The module whose children may not import each other either.
const ENGINES: &str = "engines";

fn layer(layers: &[&[&str]], name: &str) -> Option<usize> {
    layers.iter().position(|layer| layer.contains(&name))
}

/// Returns the problem with a dependency between crates, if there is one.
fn wrong_dependency(from: &str, to: &str) -> Option<String> {
    match (layer(CRATE_LAYERS, from), layer(CRATE_LAYERS, to)) {
        (Some(from), Some(to)) if from < to => None,
        (Some(_), Some(_)) => Some(format!("{from} may not depend on {to}")),
        _ => Some(format!("{from} or {to} is in no layer: add it to CRATE_LAYERS")),
    }
}

/// Returns the problem with an import within the agent, if there is one.
fn wrong_import(import: &Import) -> Option<String> {
    let layer_of = |module: &str| layer(AGENT_LAYERS, module).or(layer(AGENT_LAYERS, STAGES));
    let (Some(from), Some(to)) = (import.from.first(), import.to.first()) else {
        // The root of the crate re-exports what users of the crate need; nothing imports it back.
        return import
            .to
            .is_empty()
            .then(|| format!("{} imports the crate's root", import.from.join("::")));
    };
    if from == to {
        let (from, to) = (import.from.get(1)?, import.to.get(1)?);
        let is_wrong = import.from[0] == ENGINES && from != to;
        return is_wrong.then(|| format!("engine {from} imports engine {to}"));
    }
    let (above, below) = (layer_of(from), layer_of(to));
    let is_last = above == Some(AGENT_LAYERS.len() - 1);
    let is_right = above < below || above == below && is_last;
    (!is_right).then(|| format!("{from} imports {to}"))
}

/// Returns the files of each import cycle.
fn cycles(modules: &Modules) -> Vec<Vec<String>> {
    let imports = modules.imports();
    let edges = imports.iter().map(|i| (modules.file(&i.from), modules.file(&i.to)));
    let graph = DiGraphMap::<&Path, ()>::from_edges(edges.filter(|(from, to)| from != to));
    let circles = tarjan_scc(&graph).into_iter().filter(|files| files.len() > 1);
    let sorted = circles.map(|files| {
        let mut files: Vec<_> = files.into_iter().map(short).collect();
        files.sort();
        files
    });
    sorted.collect()
}

#[test]
fn crates_depend_on_later_layers_only() {
    let mut problems = Vec::new();
    let crates = crates();
    let names: Vec<String> = crates
        .iter()
        .map(|dir| {
            let manifest = manifest(&root().join(dir).join("Cargo.toml"));
            manifest["package"]["name"].as_str().expect("a name").to_owned()
        })
        .collect();
    for dir in &crates {
        let manifest = manifest(&root().join(dir).join("Cargo.toml"));
        let dependencies = manifest.get("dependencies").and_then(toml::Value::as_table);
        for name in dependencies.into_iter().flat_map(toml::Table::keys) {
            if let Some(to) = names.iter().position(|known| known == name) {
                problems.extend(wrong_dependency(dir, &crates[to]));
            }
        }
    }
    assert_none(&problems);
}

#[test]
fn modules_of_the_agent_import_later_layers_only() {
    let modules = Modules::read(&root().join("agent/src/lib.rs"));
    let mut problems: Vec<_> = modules.imports().iter().filter_map(wrong_import).collect();
    problems.sort();
    problems.dedup();
    assert_none(&problems);
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let mut problems = Vec::new();
    for dir in crates() {
        for modules in Modules::of_crate(&root().join(dir)) {
            for circle in cycles(&modules) {
                println!("import cycle:");
                for Import { from, to } in modules.imports() {
                    let is_in = |path| circle.contains(&short(modules.file(path)));
                    if is_in(&from) && is_in(&to) {
                        println!("  {} imports {}", from.join("::"), to.join("::"));
                    }
                }
                problems.extend(circle);
            }
        }
    }
    assert_none(&problems);
}

#[test]
fn wrong_layers_and_circles_are_found() {
    assert_eq!(wrong_dependency("agent", "common"), None);
    assert!(
        wrong_dependency("common", "agent").is_some(),
        "a dependency on a higher layer was accepted"
    );
    assert!(
        wrong_dependency("agent", "coordinator").is_some(),
        "a dependency within a layer was accepted"
    );
    assert!(wrong_dependency("agent", "unheard-of").is_some(), "an unknown crate was accepted");

    let import = |from: &str, to: &str| {
        let path = |path: &str| path.split("::").map(str::to_owned).collect();
        wrong_import(&Import { from: path(from), to: path(to) })
    };
    for (from, to) in
        [("app::run", "engines::writer"), ("links", "limits"), ("limits", "storage::keys")]
    {
        assert_eq!(import(from, to), None, "{from} {to}");
    }
    for (from, to) in [
        ("links", "fetch::client"),
        ("engines::writer", "app"),
        ("engines::writer", "engines::scheduler"),
        ("engines::writer", "observe::metrics"),
        ("messages", "links"),
    ] {
        assert!(import(from, to).is_some(), "{from} {to}");
    }

    let modules = Modules::from_text(&[
        ("src/lib.rs", "mod a; mod b; mod c;"),
        ("src/a.rs", "use crate::b::B; pub struct A;"),
        ("src/b.rs", "use crate::c::C; pub struct B;"),
        ("src/c.rs", "use crate::a::A; pub struct C;"),
    ]);
    assert_eq!(cycles(&modules), [["src/a.rs", "src/b.rs", "src/c.rs"]]);
}
