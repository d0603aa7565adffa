//! The module tree of a crate as declared in its sources, and the imports between its files.
//!
//! Paths are resolved to the file that defines the name, through re-exports, so that a facade
//! (`mod.rs` with `pub use`) neither hides an import nor makes a cycle. Code under `cfg(test)` is
//! ignored.

use crate::manifest;
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, UseTree, Visibility};

/// A function that reads a file; `None` if it does not exist.
type Text<'a> = &'a dyn Fn(&Path) -> Option<String>;

/// A module's path below the root of the crate; empty for the root.
pub type ModulePath = Vec<String>;

/// The modules of one crate.
#[derive(Debug, Default)]
pub struct Modules {
    modules: BTreeMap<ModulePath, Module>,
}

/// An import: the module that uses a name, and the module that defines it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Import {
    pub from: ModulePath,
    pub to: ModulePath,
}

#[derive(Debug, Default)]
struct Module {
    file: PathBuf,
    /// Names of the items defined here, without modules.
    items: BTreeSet<String>,
    types: Vec<String>,
    uses: Vec<Use>,
    /// Paths named outside of `use` items.
    paths: BTreeSet<Vec<String>>,
}

#[derive(Debug)]
struct Use {
    /// The name that it binds; `None` for a glob.
    name: Option<String>,
    path: Vec<String>,
    is_reexport: bool,
}

impl Modules {
    /// Reads the crate with this root file.
    pub fn read(root: &Path) -> Self {
        Self::read_with(root, &|path| fs::read_to_string(path).ok())
    }

    /// Reads a crate from these files and texts; the first is its root.
    pub fn from_text(files: &[(&str, &str)]) -> Self {
        let text = |path: &Path| {
            let found = files.iter().find(|(file, _)| Path::new(file) == path);
            found.map(|(_, text)| (*text).to_owned())
        };
        Self::read_with(Path::new(files[0].0), &text)
    }

    fn read_with(root: &Path, text: Text) -> Self {
        let mut modules = Self::default();
        let dir = root.parent().expect("the directory of the file").to_owned();
        modules.add_file(ModulePath::new(), root, &dir, text);
        modules
    }

    fn add_file(&mut self, path: ModulePath, file: &Path, dir: &Path, text: Text) {
        let text_of_file = text(file).unwrap_or_else(|| panic!("{}: no such file", file.display()));
        let parsed =
            syn::parse_file(&text_of_file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        self.add_items(path, file, dir, &parsed.items, text);
    }

    /// Adds a module; `dir` is the folder with the files of its children.
    fn add_items(&mut self, path: ModulePath, file: &Path, dir: &Path, items: &[Item], text: Text) {
        let mut module = Module { file: file.to_owned(), ..Module::default() };
        for item in items {
            if is_test(attributes(item)) {
                continue;
            }
            if let Item::Mod(child) = item {
                self.add_child(&path, file, dir, child, text);
            } else {
                module.define(item);
                module.visit_item(item);
            }
        }
        self.modules.insert(path, module);
    }

    fn add_child(
        &mut self,
        parent: &[String],
        file: &Path,
        dir: &Path,
        child: &ItemMod,
        text: Text,
    ) {
        let name = child.ident.to_string();
        let path = [parent, std::slice::from_ref(&name)].concat();
        let below = dir.join(&name);
        if let Some((_, items)) = &child.content {
            self.add_items(path, file, &below, items, text);
        } else if let Some(named) = path_attribute(&child.attrs) {
            let file = file.parent().expect("the directory of the file").join(named);
            self.add_file(path, &file, &below, text);
        } else {
            let flat = dir.join(format!("{name}.rs"));
            let file = if text(&flat).is_some() { flat } else { below.join("mod.rs") };
            self.add_file(path, &file, &below, text);
        }
    }

    /// Returns the file of a module.
    pub fn file(&self, module: &[String]) -> &Path {
        &self.modules[module].file
    }

    /// Returns the modules below each root file of the crate in this folder: its library and its programs.
    pub fn of_crate(dir: &Path) -> Vec<Self> {
        let manifest = manifest(&dir.join("Cargo.toml"));
        let library = manifest.get("lib").and_then(|library| library.get("path")?.as_str());
        let roots = BTreeSet::from(["src/lib.rs", "src/main.rs", library.unwrap_or("src/lib.rs")]);
        let files = roots.into_iter().map(|file| dir.join(file));
        files.filter(|file| file.exists()).map(|file| Self::read(&file)).collect()
    }

    /// Returns the types that are `pub`, whatever the visibility of their modules, each with its
    /// module.
    pub fn public_types(&self) -> impl Iterator<Item = (&str, &ModulePath)> {
        self.modules
            .iter()
            .flat_map(|(path, module)| module.types.iter().map(move |name| (name.as_str(), path)))
    }

    /// Returns the imports between modules, without re-exports that only pass a name on.
    pub fn imports(&self) -> BTreeSet<Import> {
        let mut found = BTreeSet::new();
        for (at, module) in &self.modules {
            let is_named = |name: &str| module.paths.iter().any(|path| path[0] == name);
            let used = module.uses.iter().filter(|used| match &used.name {
                Some(name) => !used.is_reexport || is_named(name),
                None => !used.is_reexport,
            });
            // A single identifier may be a variable; a name of an item is bound by a `use` or
            // defined here.
            let qualified = module.paths.iter().filter(|path| path.len() > 1);
            let paths = used.map(|used| &used.path).chain(qualified);
            for path in paths {
                if let Some(to) = self.resolve(at, path, 0)
                    && to != *at
                {
                    found.insert(Import { from: at.clone(), to });
                }
            }
        }
        found
    }

    /// Returns the module that defines the name of `path` in `at`, or the module itself if `path`
    /// names one.
    fn resolve(&self, at: &[String], path: &[String], depth: u8) -> Option<ModulePath> {
        // Ends the resolution of cyclic globs.
        if depth > 16 {
            return None;
        }
        let mut module = at.to_vec();
        let mut rest = path;
        while let Some((first, tail)) = rest.split_first() {
            match first.as_str() {
                "crate" => module.clear(),
                "self" => {}
                "super" => drop(module.pop()),
                _ => break,
            }
            rest = tail;
        }
        let Some((name, tail)) = rest.split_first() else { return Some(module) };
        let here = self.modules.get(&module)?;
        let child = [module.as_slice(), std::slice::from_ref(name)].concat();
        if self.modules.contains_key(&child) && (!tail.is_empty() || !here.items.contains(name)) {
            if tail.is_empty() {
                return Some(child);
            }
            let below = [&["self".to_owned()], tail].concat();
            return self.resolve(&child, &below, depth + 1);
        }
        if here.items.contains(name) {
            return Some(module);
        }
        let named = here.uses.iter().find(|used| used.name.as_ref() == Some(name));
        if let Some(used) = named {
            // `use url::Url` binds a name of another crate, so its first segment is not resolved.
            if used.path == [name.clone()] {
                return None;
            }
            let whole = [used.path.as_slice(), tail].concat();
            return self.resolve(&module, &whole, depth + 1);
        }
        let globs = here.uses.iter().filter(|used| used.name.is_none());
        for glob in globs {
            let source = self.resolve(&module, &glob.path, depth + 1);
            if let Some(source) = source.filter(|source| *source != module) {
                let inside = [&["self".to_owned()], rest].concat();
                if let Some(found) = self.resolve(&source, &inside, depth + 1) {
                    return Some(found);
                }
            }
        }
        None
    }
}

impl Module {
    fn define(&mut self, item: &Item) {
        let (ident, visibility) = match item {
            Item::Struct(i) => (&i.ident, Some(&i.vis)),
            Item::Enum(i) => (&i.ident, Some(&i.vis)),
            Item::Union(i) => (&i.ident, Some(&i.vis)),
            Item::Trait(i) => (&i.ident, Some(&i.vis)),
            Item::Type(i) => (&i.ident, Some(&i.vis)),
            Item::Const(i) => (&i.ident, None),
            Item::Static(i) => (&i.ident, None),
            Item::Fn(i) => (&i.sig.ident, None),
            Item::Macro(i) => match &i.ident {
                Some(ident) => (ident, None),
                None => {
                    let types = types_of_macro(i.mac.tokens.clone());
                    self.items.extend(types.iter().cloned());
                    self.types.extend(types);
                    return;
                }
            },
            _ => return,
        };
        self.items.insert(ident.to_string());
        if let Some(Visibility::Public(_)) = visibility {
            self.types.push(ident.to_string());
        }
    }

    fn add_use(&mut self, tree: &UseTree, before: &[String], is_reexport: bool) {
        let with = |ident: &syn::Ident| [before, &[ident.to_string()]].concat();
        match tree {
            UseTree::Path(tree) => self.add_use(&tree.tree, &with(&tree.ident), is_reexport),
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.add_use(tree, before, is_reexport);
                }
            }
            UseTree::Name(leaf) if leaf.ident == "self" => {
                let name = before.last().cloned();
                self.uses.push(Use { name, path: before.to_vec(), is_reexport });
            }
            UseTree::Name(leaf) => {
                let name = Some(leaf.ident.to_string());
                self.uses.push(Use { name, path: with(&leaf.ident), is_reexport });
            }
            UseTree::Rename(leaf) => {
                let name = Some(leaf.rename.to_string());
                self.uses.push(Use { name, path: with(&leaf.ident), is_reexport });
            }
            UseTree::Glob(_) => {
                self.uses.push(Use { name: None, path: before.to_vec(), is_reexport });
            }
        }
    }

    /// Adds the paths in the arguments of a macro, which are not parsed as a syntax tree.
    fn add_tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.end_path(&mut path);
                    }
                    path.push(ident.to_string());
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                other => {
                    self.end_path(&mut path);
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        self.add_tokens(group.stream());
                    }
                }
            }
        }
        self.end_path(&mut path);
    }

    fn end_path(&mut self, path: &mut Vec<String>) {
        if !path.is_empty() {
            self.paths.insert(std::mem::take(path));
        }
    }
}

impl<'ast> Visit<'ast> for Module {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_test(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let is_reexport = !matches!(item.vis, Visibility::Inherited);
        self.add_use(&item.tree, &[], is_reexport);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.paths.insert(path.segments.iter().map(|s| s.ident.to_string()).collect());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.visit_path(&call.path);
        self.add_tokens(call.tokens.clone());
    }
}

/// Returns the public types that the call of a macro defines: items written out in it, the sections of
/// the table of settings (`live limits: Limits { … }`) with the table itself, and the records of lists
/// (`LinkRule, such as "…"`).
fn types_of_macro(tokens: TokenStream) -> Vec<String> {
    let tokens: Vec<String> = tokens
        .into_iter()
        .map(|token| match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => "{}".to_owned(),
            token => token.to_string(),
        })
        .collect();
    let texts: Vec<&str> = tokens.iter().map(String::as_str).collect();
    let items = texts.windows(3).filter_map(|window| match window {
        ["pub", "struct" | "enum" | "union" | "trait" | "type", name] => Some((*name).to_owned()),
        _ => None,
    });
    let records = texts.windows(4).filter_map(|window| match window {
        [name, ",", "such", "as"] => Some((*name).to_owned()),
        _ => None,
    });
    let sections = texts.windows(5).filter_map(|window| match window {
        ["live" | "fixed", _, ":", name, "{}"] => Some((*name).to_owned()),
        _ => None,
    });
    let sections: Vec<_> = sections.collect();
    let table = (!sections.is_empty()).then(|| "TABLE".to_owned());
    items.chain(records).chain(sections).chain(table).collect()
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(i) => &i.attrs,
        Item::Enum(i) => &i.attrs,
        Item::Fn(i) => &i.attrs,
        Item::Impl(i) => &i.attrs,
        Item::Macro(i) => &i.attrs,
        Item::Mod(i) => &i.attrs,
        Item::Static(i) => &i.attrs,
        Item::Struct(i) => &i.attrs,
        Item::Trait(i) => &i.attrs,
        Item::Type(i) => &i.attrs,
        Item::Union(i) => &i.attrs,
        Item::Use(i) => &i.attrs,
        _ => &[],
    }
}

/// Returns whether the item is compiled only for tests.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg")
                && attribute.parse_args::<syn::Ident>().is_ok_and(|ident| ident == "test")
    })
}

/// Returns the file of an attribute `#[path = "…"]`.
fn path_attribute(attributes: &[Attribute]) -> Option<String> {
    attributes.iter().find(|attribute| attribute.path().is_ident("path")).and_then(|attribute| {
        let syn::Meta::NameValue(pair) = &attribute.meta else { return None };
        let syn::Expr::Lit(literal) = &pair.value else { return None };
        let syn::Lit::Str(text) = &literal.lit else { return None };
        Some(text.value())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imports(files: &[(&str, &str)]) -> Vec<String> {
        let imports = Modules::from_text(files).imports();
        imports.iter().map(|i| format!("{} > {}", i.from.join("::"), i.to.join("::"))).collect()
    }

    #[test]
    fn imports_are_found_however_they_are_written() {
        let found = imports(&[
            (
                "src/lib.rs",
                "//! crate::doc\nmod a; mod b { pub struct B; pub mod inner { pub fn f() {} } } pub mod c; \
                 mod d; pub use a::A; use std::fs;",
            ),
            (
                "src/a.rs",
                "use crate::{b::B as Other, c}; // crate::late\nuse url::Url; pub struct A; \
                 fn f(d: Url) -> &'static str { b!(crate::d::D::new(), crate::b::inner::f()); \"crate::c\" }",
            ),
            (
                "src/c/mod.rs",
                "mod below; pub use below::Below; #[cfg(test)] mod tests { use crate::d::D; }",
            ),
            (
                "src/c/below.rs",
                "use super::super::A; pub struct Below; impl Below { fn f(a: A) {} }",
            ),
            ("src/d.rs", "pub struct D; fn f() { crate::c::Below::f(crate::A); }"),
        ]);
        let expected =
            ["a > b", "a > b::inner", "a > c", "a > d", "c::below > a", "d > a", "d > c::below"];
        assert_eq!(found, expected);
    }

    #[test]
    fn types_of_macros_are_found() {
        let found = imports(&[
            ("src/lib.rs", "mod settings; mod records; mod rows;"),
            (
                "src/settings.rs",
                "use crate::records::Rule; settings! { live links: Links { a: Rule = 1; } }",
            ),
            (
                "src/records.rs",
                "use crate::rows::kebab; records! { Rule, such as \"a\", { a: u8; } }",
            ),
            ("src/rows.rs", "use crate::settings::{Links, TABLE}; pub fn kebab() {}"),
        ]);
        assert_eq!(found, ["records > rows", "rows > settings", "settings > records"]);
    }

    #[test]
    fn a_reexport_counts_where_its_name_is_used_beside_it() {
        let below = ("src/below.rs", "use crate::Top; pub struct Below(Top);");
        let passed_on =
            imports(&[("src/lib.rs", "mod below; pub use below::Below; struct Top;"), below]);
        assert_eq!(passed_on, ["below > "]);
        let used = imports(&[
            ("src/lib.rs", "mod below; pub use below::Below; struct Top(Box<Below>);"),
            below,
        ]);
        assert_eq!(used, [" > below", "below > "]);
    }
}
