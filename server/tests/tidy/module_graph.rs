//! The dependencies between the files of a crate: one file names something that another defines.
//!
//! A name counts for the file that defines it: `use crate::hub::Plan` leads to `hub/plan.rs` where `hub.rs` only re-exports
//! it. An import of a module counts for nothing, but each path that goes through the module does. Modules and items that
//! only tests are built with are left out.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Spacing, TokenStream, TokenTree};
use syn::{
    Attribute, ImplItem, Item, ItemMod, ItemUse, Lit, Macro, Meta, Path, UseTree,
    visit::{self, Visit},
};

/// The text of each file, by its path from the root of the repository.
pub(crate) type Files = BTreeMap<String, String>;

/// One name for each pair of files of which the first names something that the second defines.
pub(crate) type Edges = BTreeMap<(String, String), String>;

/// The modules of one crate; the first is its root.
pub(crate) struct ModuleGraph {
    modules: Vec<Module>,
}

struct Module {
    /// The names of the modules from the root of the crate down to this one.
    path: Vec<String>,
    file: String,
    parent: usize,
    items: Vec<Item>,
    names: BTreeMap<String, Vec<Definition>>,
    globs: Vec<Vec<String>>,
}

enum Definition {
    Item,
    Module(usize),
    Use(Vec<String>),
}

/// The result of the resolution of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Target {
    Module(usize),
    Item { file: String, name: String },
}

impl ModuleGraph {
    /// Reads the crate whose root is this file.
    pub(crate) fn of(root: &str, files: &Files) -> Self {
        let mut graph = Self { modules: vec![] };
        let directory = root.rsplit_once('/').map_or("", |(directory, _)| directory);
        graph.read_file(root, directory, vec![], 0, files);
        graph
    }

    fn read_file(
        &mut self,
        file: &str,
        directory: &str,
        path: Vec<String>,
        parent: usize,
        files: &Files,
    ) {
        let items = syn::parse_file(&files[file]).unwrap_or_else(|error| panic!("{file}: {error}"));
        self.add_module(file, directory, path, parent, items.items, files);
    }

    /// Adds a module and, below it, those that it declares. `directory` is where the files of these are.
    fn add_module(
        &mut self,
        file: &str,
        directory: &str,
        path: Vec<String>,
        parent: usize,
        items: Vec<Item>,
        files: &Files,
    ) {
        let id = self.modules.len();
        let items: Vec<_> = items.into_iter().filter(|it| !is_for_tests(attributes(it))).collect();
        let (names, globs) = declared(&items);
        let mut below = vec![];
        let mut others = vec![];
        for item in items {
            match item {
                Item::Mod(module) => below.push(module),
                other => others.push(other),
            }
        }
        self.modules.push(Module {
            path,
            file: file.to_owned(),
            parent,
            items: others,
            names,
            globs,
        });
        for module in below {
            let name = module.ident.to_string();
            let child = self.modules.len();
            let mut path = self.modules[id].path.clone();
            path.push(name.clone());
            let inside = format!("{directory}/{name}");
            let location = location(&module, file, &inside, files);
            if let Some((_, items)) = module.content {
                self.add_module(file, &inside, path, id, items, files);
            } else if let Some((location, directory)) = location {
                self.read_file(&location, &directory, path, id, files);
            } else {
                continue;
            }
            let names = self.modules[id].names.entry(name).or_default();
            names.push(Definition::Module(child));
        }
    }

    /// Every pair of files of which one names something of the other, except a file and one that lies above or below it.
    pub(crate) fn edges(&self) -> Edges {
        let mut edges = Edges::new();
        // A file holds its own module and those that are written out in it; the first is the outermost.
        let mut path_of: BTreeMap<&str, &[String]> = BTreeMap::new();
        for module in &self.modules {
            path_of.entry(&module.file).or_insert(&module.path);
        }
        for (id, module) in self.modules.iter().enumerate() {
            let mut named = Named::default();
            module.items.iter().for_each(|item| named.visit_item(item));
            let from = path_of[&*module.file];
            for path in named.paths {
                for target in self.resolve(id, &path, &mut vec![]) {
                    let Target::Item { file, name } = target else { continue };
                    let to = path_of[&*file];
                    if !from.starts_with(to) && !to.starts_with(from) {
                        edges.entry((module.file.clone(), file)).or_insert(name);
                    }
                }
            }
        }
        edges
    }

    /// Resolves a path in a module; the result is empty for a path that leads out of the crate.
    fn resolve(
        &self,
        module: usize,
        path: &[String],
        open: &mut Vec<(usize, String)>,
    ) -> Vec<Target> {
        let Some((first, rest)) = path.split_first() else { return vec![] };
        let is_inside = matches!(first.as_str(), "crate" | "self" | "super");
        let mut targets = match first.as_str() {
            "crate" => vec![Target::Module(0)],
            "self" => vec![Target::Module(module)],
            "super" => vec![Target::Module(self.modules[module].parent)],
            name => self.look_up(module, name, open),
        };
        for segment in rest {
            let step = |target: Target| match target {
                Target::Module(id) if segment == "super" => {
                    vec![Target::Module(self.modules[id].parent)]
                }
                Target::Module(id) if segment == "self" => vec![Target::Module(id)],
                Target::Module(id) => match self.look_up(id, segment, open) {
                    // A name that no item gives, as a macro makes it, counts for the file of its module.
                    found if found.is_empty() && is_inside => vec![Target::Item {
                        file: self.modules[id].file.clone(),
                        name: segment.clone(),
                    }],
                    found => found,
                },
                item @ Target::Item { .. } => vec![item],
            };
            targets = targets.into_iter().flat_map(step).collect();
        }
        targets
    }

    /// Looks a name up in a module. `open` holds the lookups in progress, as imports may form a circle.
    fn look_up(&self, id: usize, name: &str, open: &mut Vec<(usize, String)>) -> Vec<Target> {
        let question = (id, name.to_owned());
        if open.contains(&question) {
            return vec![];
        }
        open.push(question);
        let module = &self.modules[id];
        let mut targets = vec![];
        for definition in module.names.get(name).into_iter().flatten() {
            match definition {
                Definition::Item => {
                    targets.push(Target::Item { file: module.file.clone(), name: name.to_owned() });
                }
                Definition::Module(module) => targets.push(Target::Module(*module)),
                Definition::Use(path) => targets.extend(self.resolve(id, path, open)),
            }
        }
        if targets.is_empty() {
            for path in &module.globs {
                for target in self.resolve(id, path, open) {
                    if let Target::Module(imported) = target {
                        targets.extend(self.look_up(imported, name, open));
                    }
                }
            }
        }
        open.pop();
        targets
    }
}

/// The file of a declared module, and the directory of the modules below it.
fn location(module: &ItemMod, file: &str, inside: &str, files: &Files) -> Option<(String, String)> {
    let given = module.attrs.iter().find_map(|attribute| match &attribute.meta {
        Meta::NameValue(it) if it.path.is_ident("path") => match &it.value {
            syn::Expr::Lit(syn::ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    });
    if let Some(given) = given {
        let mut parts: Vec<&str> = file.split('/').collect();
        parts.pop();
        for part in given.split('/') {
            match part {
                ".." => _ = parts.pop(),
                part => parts.push(part),
            }
        }
        let file = parts.join("/");
        let directory = file.rsplit_once('/')?.0.to_owned();
        return Some((file, directory));
    }
    let candidates = [format!("{inside}.rs"), format!("{inside}/mod.rs")];
    let file = candidates.into_iter().find(|it| files.contains_key(it))?;
    Some((file, inside.to_owned()))
}

/// The names that the items of a module define and import.
fn declared(items: &[Item]) -> (BTreeMap<String, Vec<Definition>>, Vec<Vec<String>>) {
    let mut names: BTreeMap<String, Vec<Definition>> = BTreeMap::new();
    for item in items {
        let name = match item {
            Item::Const(it) => Some(&it.ident),
            Item::Enum(it) => Some(&it.ident),
            Item::Fn(it) => Some(&it.sig.ident),
            Item::Macro(it) => it.ident.as_ref(),
            Item::Static(it) => Some(&it.ident),
            Item::Struct(it) => Some(&it.ident),
            Item::Trait(it) => Some(&it.ident),
            Item::TraitAlias(it) => Some(&it.ident),
            Item::Type(it) => Some(&it.ident),
            Item::Union(it) => Some(&it.ident),
            _ => None,
        };
        if let Some(name) = name {
            names.entry(name.to_string()).or_default().push(Definition::Item);
        }
    }
    let mut imports = Imports::default();
    items.iter().for_each(|item| imports.visit_item(item));
    for (name, path) in imports.names {
        names.entry(name).or_default().push(Definition::Use(path));
    }
    (names, imports.globs)
}

/// The imports of a module and of the functions in it.
#[derive(Default)]
struct Imports {
    /// Each name with its path.
    names: Vec<(String, Vec<String>)>,
    globs: Vec<Vec<String>>,
}

impl Visit<'_> for Imports {
    fn visit_item_use(&mut self, item: &ItemUse) {
        if item.leading_colon.is_none() && !is_for_tests(&item.attrs) {
            self.add(&item.tree, vec![]);
        }
    }

    fn visit_item_mod(&mut self, _: &ItemMod) {}
}

impl Imports {
    fn add(&mut self, tree: &UseTree, mut path: Vec<String>) {
        match tree {
            UseTree::Path(it) => {
                path.push(it.ident.to_string());
                self.add(&it.tree, path);
            }
            UseTree::Group(it) => it.items.iter().for_each(|tree| self.add(tree, path.clone())),
            UseTree::Name(it) if it.ident == "self" => {
                self.names.extend(path.last().cloned().map(|name| (name, path)));
            }
            UseTree::Name(it) => {
                path.push(it.ident.to_string());
                self.names.push((it.ident.to_string(), path));
            }
            UseTree::Rename(it) => {
                if it.ident != "self" {
                    path.push(it.ident.to_string());
                }
                self.names.push((it.rename.to_string(), path));
            }
            UseTree::Glob(_) => self.globs.push(path),
        }
    }
}

/// Every path that code names, inside macros and attributes as well.
#[derive(Default)]
struct Named {
    paths: BTreeSet<Vec<String>>,
}

impl Visit<'_> for Named {
    fn visit_item(&mut self, item: &Item) {
        if !is_for_tests(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item(&mut self, item: &ImplItem) {
        if !matches!(item, ImplItem::Fn(it) if is_for_tests(&it.attrs)) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, _: &ItemMod) {}

    fn visit_item_use(&mut self, item: &ItemUse) {
        let mut imports = Imports::default();
        imports.visit_item_use(item);
        self.paths.extend(imports.names.into_iter().map(|(_, path)| path));
    }

    fn visit_path(&mut self, path: &Path) {
        if path.leading_colon.is_none() {
            self.paths.insert(path.segments.iter().map(|it| it.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, it: &Macro) {
        self.visit_path(&it.path);
        self.add_tokens(it.tokens.clone());
    }

    fn visit_attribute(&mut self, attribute: &Attribute) {
        if let Meta::List(list) = &attribute.meta {
            self.add_tokens(list.tokens.clone());
        }
    }
}

impl Named {
    /// Adds the paths in tokens that only their macro understands.
    fn add_tokens(&mut self, tokens: TokenStream) {
        let tokens: Vec<_> = tokens.into_iter().collect();
        let is_punct = |at: usize, sign: char| matches!(tokens.get(at), Some(TokenTree::Punct(it)) if it.as_char() == sign);
        let is_double_colon = |at: usize| {
            matches!(&tokens.get(at), Some(TokenTree::Punct(it)) if it.spacing() == Spacing::Joint)
                && is_punct(at, ':')
                && is_punct(at + 1, ':')
        };
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            let mut next = at + 1;
            match token {
                TokenTree::Group(group) => self.add_tokens(group.stream()),
                TokenTree::Literal(literal) => {
                    // serde names a function in a string.
                    let text = syn::parse_str::<syn::LitStr>(&literal.to_string());
                    if let Ok(path) = text.and_then(|it| it.parse::<Path>()) {
                        self.visit_path(&path);
                    }
                }
                TokenTree::Ident(first) => {
                    let mut path = vec![first.to_string()];
                    while let Some(TokenTree::Ident(segment)) = tokens.get(next + 2)
                        && is_double_colon(next)
                    {
                        path.push(segment.to_string());
                        next += 3;
                    }
                    // A field, a method, or the rest of a path that does not begin with a name.
                    let is_member =
                        at > 0 && is_punct(at - 1, '.') && !(at > 1 && is_punct(at - 2, '.'));
                    let is_rest = at > 1 && is_double_colon(at - 2);
                    if !is_member && !is_rest {
                        self.paths.insert(path);
                    }
                }
                TokenTree::Punct(_) => {}
            }
            at = next;
        }
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(it) => &it.attrs,
        Item::Enum(it) => &it.attrs,
        Item::ExternCrate(it) => &it.attrs,
        Item::Fn(it) => &it.attrs,
        Item::ForeignMod(it) => &it.attrs,
        Item::Impl(it) => &it.attrs,
        Item::Macro(it) => &it.attrs,
        Item::Mod(it) => &it.attrs,
        Item::Static(it) => &it.attrs,
        Item::Struct(it) => &it.attrs,
        Item::Trait(it) => &it.attrs,
        Item::TraitAlias(it) => &it.attrs,
        Item::Type(it) => &it.attrs,
        Item::Union(it) => &it.attrs,
        Item::Use(it) => &it.attrs,
        _ => &[],
    }
}

/// Whether an item is there under `#[cfg(test)]` alone.
fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string() == "test",
        _ => false,
    })
}

/// The sets of files that name each other in a circle, each set with the edges between its files.
pub(crate) fn circles(edges: &Edges) -> Vec<Edges> {
    let reachable = |from: &str| {
        let mut reached = BTreeSet::new();
        let mut open = vec![from];
        while let Some(file) = open.pop() {
            for (_, to) in edges.keys().filter(|(from, _)| from == file) {
                if reached.insert(to.as_str()) {
                    open.push(to);
                }
            }
        }
        reached
    };
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        edges.keys().map(|(from, _)| (from.as_str(), reachable(from))).collect();
    let reaches = |from: &str, to: &str| reached.get(from).is_some_and(|it| it.contains(to));
    let mut circles: BTreeMap<&str, Edges> = BTreeMap::new();
    for ((from, to), name) in edges {
        if reaches(to, from) {
            // The first file in alphabetical order stands for the circle.
            let first = reached[from.as_str()].iter().find(|file| reaches(file, from));
            let circle = circles.entry(first.unwrap_or(&from.as_str())).or_default();
            circle.insert((from.clone(), to.clone()), name.clone());
        }
    }
    circles.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(files: &[(&str, &str)]) -> Vec<String> {
        let files: Files =
            files.iter().map(|(path, text)| (format!("src/{path}"), (*text).to_owned())).collect();
        let edges = ModuleGraph::of("src/lib.rs", &files).edges();
        let line = |((from, to), name): ((String, String), String)| {
            format!("{} {} {name}", &from[4..], &to[4..])
        };
        edges.into_iter().map(line).collect()
    }

    #[test]
    fn use_of_a_re_exported_name_counts_for_the_file_that_defines_it() {
        let found = edges(&[
            ("lib.rs", "mod hub; mod page; pub use hub::Plan;"),
            ("hub.rs", "mod plan; pub use self::plan::{Plan, Step as Line};"),
            ("hub/plan.rs", "pub struct Plan; pub struct Step;"),
            ("page.rs", "mod row; use crate::{hub::Line, Plan};"),
            ("page/row.rs", "use super::super::hub; fn row() -> hub::Line { todo() }"),
        ]);
        assert_eq!(
            found,
            ["page.rs hub/plan.rs Plan", "page/row.rs hub/plan.rs Step"],
            "an import of the module alone counts for nothing"
        );
    }

    #[test]
    fn paths_in_code_macros_and_attributes_count() {
        let found = edges(&[
            ("lib.rs", "mod a; mod b; mod c; mod d; mod e;"),
            (
                "a.rs",
                "fn f() { crate::b::g(1) } fn g() { view! { <p x=y.c::z>{crate::c::h()}</p> } }",
            ),
            ("b.rs", "#[serde(deserialize_with = \"crate::d::read\")] pub struct G; pub fn g() {}"),
            ("c.rs", "pub fn h() { use crate::e::Kind::{self, One}; }"),
            (
                "d.rs",
                "pub mod text { use super::super::e; fn f() -> e::Kind { One } } pub fn read() {}",
            ),
            ("e.rs", "pub enum Kind { One }"),
        ]);
        let expected =
            ["a.rs b.rs g", "a.rs c.rs h", "b.rs d.rs read", "c.rs e.rs Kind", "d.rs e.rs Kind"];
        assert_eq!(found, expected);
    }

    #[test]
    fn glob_import_counts_for_each_name_that_is_used() {
        let found = edges(&[
            ("lib.rs", "mod text; mod page; mod other;"),
            ("text.rs", "mod en; pub use en::*;"),
            ("text/en.rs", "pub fn gone() {}"),
            ("page.rs", "use crate::text::*; fn page() { gone() }"),
            ("other.rs", "use crate::text::*;"),
        ]);
        assert_eq!(found, ["page.rs text/en.rs gone"]);
    }

    #[test]
    fn tests_parents_and_other_crates_do_not_count() {
        let found = edges(&[
            ("lib.rs", "mod a; mod b; #[cfg(test)] mod c; pub struct Root;"),
            (
                "a.rs",
                "mod x; use self::x::X; use serde::b; pub struct A; #[cfg(test)] mod tests { use crate::b::B; }",
            ),
            (
                "a/x.rs",
                "use super::A; use crate::Root; pub struct X; #[cfg(test)] use crate::b::B;",
            ),
            ("b.rs", "pub struct B; impl B { #[cfg(test)] fn a() -> crate::a::A { x() } }"),
            ("c.rs", "use crate::b::B;"),
        ]);
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn files_in_a_circle_are_found_with_their_edges() {
        let edge = |from: &str, to: &str| ((from.to_owned(), to.to_owned()), format!("{from}{to}"));
        let edges = Edges::from([
            edge("a", "b"),
            edge("b", "c"),
            edge("c", "a"),
            edge("c", "d"),
            edge("d", "e"),
            edge("e", "d"),
            edge("e", "f"),
        ]);
        let found: Vec<Vec<String>> =
            circles(&edges).into_iter().map(|circle| circle.into_values().collect()).collect();
        assert_eq!(found, [vec!["ab", "bc", "ca"], vec!["de", "ed"]]);
    }
}
