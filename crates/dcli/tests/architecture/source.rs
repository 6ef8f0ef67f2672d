//! Source files of the workspace, and the paths that their code names.
//!
//! Files are cut into tokens by the same lexer that macros use, so comments, strings and macro
//! bodies are read as the compiler reads them. Code under `#[cfg(test)]` is left out: tests may
//! name anything.

use std::path::{Path, PathBuf};
use std::str::FromStr as _;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// One file.
pub(crate) struct Source {
    /// Relative to the root, as `crates/core/src/decode/lines.rs`.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// A path as written, made absolute: `crate`, another crate's name, or a name in scope comes first.
pub(crate) type Mention = Vec<String>;

impl Source {
    pub(crate) fn of(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned() }
    }

    /// The short name of the crate, as `core`; `xtask` for itself.
    pub(crate) fn package(&self) -> &str {
        let path = self.path.strip_prefix("crates/").unwrap_or(&self.path);
        path.split('/').next().unwrap_or_default()
    }

    /// The module path inside its crate: `exec::run` for `src/exec/run.rs`.
    pub(crate) fn module(&self) -> Vec<String> {
        let inside = self.path.split_once("/src/").map_or("", |(_, inside)| inside);
        let inside = inside.strip_suffix(".rs").unwrap_or(inside);
        let inside = inside.strip_suffix("/mod").unwrap_or(inside);
        inside.split('/').map(str::to_owned).collect()
    }

    /// Whether the file holds nothing but unit tests.
    pub(crate) fn is_test(&self) -> bool {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        name == "tests.rs" || name.ends_with("_tests.rs") || !self.path.contains("/src/")
    }

    /// Its tokens, without what is under `#[cfg(test)]`.
    pub(crate) fn tokens(&self) -> Vec<TokenTree> {
        let stream = TokenStream::from_str(&self.text);
        product(stream.unwrap_or_else(|error| panic!("{}: {error}", self.path)))
    }

    /// Every path that the code names.
    pub(crate) fn mentions(&self) -> Vec<Mention> {
        let mut found = Vec::new();
        let module = self.module();
        let root = ["main", "lib"].map(|name| vec![name.to_owned()]).contains(&module);
        walk(&self.tokens(), if root { &[] } else { &module }, &mut found);
        found
    }
}

/// Every Rust file below a directory, in order of path.
pub(crate) fn sources(root: &Path, below: &str) -> Vec<Source> {
    let mut open = vec![root.join(below)];
    let mut files: Vec<PathBuf> = Vec::new();
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(&directory).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    let source = |path: PathBuf| Source {
        text: std::fs::read_to_string(&path).unwrap(),
        path: path.strip_prefix(root).unwrap().to_string_lossy().into_owned(),
    };
    files.into_iter().map(source).collect()
}

/// Drops each item that follows `#[cfg(test)]`, at any depth.
fn product(stream: TokenStream) -> Vec<TokenTree> {
    let mut kept: Vec<TokenTree> = Vec::new();
    let mut tokens = stream.into_iter();
    while let Some(token) = tokens.next() {
        let attribute = kept.last().is_some_and(|last| is_punct(last, '#'));
        if attribute && is_cfg_test(&token) {
            kept.pop();
            let ends = |token: &TokenTree| is_punct(token, ';') || is_braced(token);
            tokens.by_ref().find(ends);
        } else {
            kept.push(token);
        }
    }
    kept
}

fn is_cfg_test(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group) if group.stream().to_string().replace(' ', "") == "cfg(test)")
}

fn walk(tokens: &[TokenTree], module: &[String], found: &mut Vec<Mention>) {
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        match token {
            TokenTree::Group(group) => {
                let inner = inline_module(tokens, at).map(|name| [module, &[name]].concat());
                walk(&product(group.stream()), inner.as_deref().unwrap_or(module), found);
                at += 1;
            }
            TokenTree::Ident(_) if is_separator(tokens, at + 1) => {
                at =
                    follow(tokens, at, &Vec::new(), &mut |path| found.push(absolute(path, module)));
            }
            _ => at += 1,
        }
    }
}

/// The name of the module whose body stands at this place.
fn inline_module(tokens: &[TokenTree], at: usize) -> Option<String> {
    let [TokenTree::Ident(word), TokenTree::Ident(name)] = tokens.get(at.checked_sub(2)?..at)?
    else {
        return None;
    };
    (word == "mod" && is_braced(tokens.get(at)?)).then(|| name.to_string())
}

/// Reads one path, or a tree of them, and returns where it ends.
fn follow(
    tokens: &[TokenTree],
    start: usize,
    before: &Mention,
    keep: &mut dyn FnMut(Mention),
) -> usize {
    let mut path = before.clone();
    let mut at = start;
    loop {
        match tokens.get(at) {
            Some(TokenTree::Ident(name)) => path.push(name.to_string()),
            Some(token @ TokenTree::Group(group)) if is_braced(token) => {
                branch(&group.stream().into_iter().collect::<Vec<_>>(), &path, keep);
                return at + 1;
            }
            Some(token) if is_punct(token, '*') => path.push("*".to_owned()),
            _ => {
                keep(path);
                return at;
            }
        }
        if !is_separator(tokens, at + 1) {
            keep(path);
            return at + 1;
        }
        at += 3;
    }
}

fn branch(tokens: &[TokenTree], before: &Mention, keep: &mut dyn FnMut(Mention)) {
    for tree in tokens.split(|token| is_punct(token, ',')).filter(|tree| !tree.is_empty()) {
        follow(tree, 0, before, keep);
    }
}

/// Resolves `self` and `super`; other first names stay as they are.
fn absolute(mut path: Mention, module: &[String]) -> Mention {
    path.retain({
        let mut first = true;
        move |name| std::mem::take(&mut first) || name != "self"
    });
    let ups = path.iter().take_while(|name| *name == "super").count();
    if ups == 0 && path.first().is_none_or(|name| name != "self") {
        return path;
    }
    let stays = module.len().saturating_sub(ups);
    let rest = path.into_iter().skip(ups.max(1));
    std::iter::once("crate".to_owned()).chain(module[..stays].iter().cloned()).chain(rest).collect()
}

fn is_separator(tokens: &[TokenTree], at: usize) -> bool {
    let colon = |at| tokens.get(at).is_some_and(|token| is_punct(token, ':'));
    colon(at) && colon(at + 1)
}

pub(crate) fn is_punct(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == sign)
}

fn is_braced(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mentions(path: &str, text: &str) -> Vec<String> {
        Source::of(path, text).mentions().iter().map(|path| path.join("::")).collect()
    }

    #[test]
    fn trees_of_uses_are_spread_out() {
        let found =
            mentions("crates/dcli/src/cli/exec.rs", "use crate::{exec::{self, Run}, report as r};");
        assert_eq!(found, ["crate::exec", "crate::exec::Run", "crate::report"]);
        let found = mentions("crates/dcli/src/cli/exec.rs", "pub use std::{fs::*, env};");
        assert_eq!(found, ["std::fs::*", "std::env"]);
    }

    #[test]
    fn paths_in_bodies_macros_and_generics_are_seen() {
        let text =
            r#"fn f() -> Vec<crate::exec::Run> { println!("{}", dcli_core::exit::code(1)) }"#;
        let found = mentions("crates/dcli/src/cli/mod.rs", text);
        assert_eq!(found, ["crate::exec::Run", "dcli_core::exit::code"]);
    }

    #[test]
    fn comments_and_strings_name_nothing() {
        let text =
            "//! crate::exec\n/// [`crate::store`]\nconst A: &str = \"crate::report\"; // std::fs";
        assert!(mentions("crates/dcli/src/config.rs", text).is_empty());
    }

    #[test]
    fn parents_are_resolved_from_where_they_stand() {
        let up = "use super::b; use super::super::store::S; use self::c::D;";
        let found = mentions("crates/dcli/src/exec/run.rs", up);
        assert_eq!(found, ["crate::exec::b", "crate::store::S", "crate::exec::run::c::D"]);
        let found = mentions(
            "crates/dcli/src/exec/mod.rs",
            "use super::store; mod a { use super::super::cli; }",
        );
        assert_eq!(found, ["crate::store", "crate::cli"]);
        assert_eq!(
            mentions("crates/dcli/src/lib.rs", "use self::exec::Run;"),
            ["crate::exec::Run"]
        );
    }

    #[test]
    fn only_what_is_under_cfg_test_is_left_out() {
        let text = "#[cfg(test)] mod tests { use a::b; } #[cfg(unix)] mod u { use c::d; } \
                    fn f() { #[cfg(test)] use e::f; g::h() } #[cfg(test)] mod out; use i::j;";
        assert_eq!(mentions("crates/core/src/exit.rs", text), ["c::d", "g::h", "i::j"]);
    }
}
