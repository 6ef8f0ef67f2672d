//! The rules of the tree, each as a function from sources to violations. None of them reads a file.

use std::collections::BTreeSet;

use proc_macro2::TokenTree;

use crate::page::Page;
use crate::source::{Mention, Source, is_punct};

/// Most lines of a file in `src`.
const LONGEST: usize = 400;
/// What the pure crate must not name. Of `std::time`, only `Duration` is a value.
const IMPURE: [&str; 5] = ["fs", "process", "net", "env", "thread"];
/// Words that say nothing about the domain.
const EMPTY_WORDS: [&str; 7] = ["Manager", "Helper", "Helpers", "Util", "Utils", "Service", "Impl"];
const BACKENDS: [&str; 5] = ["claude", "codex", "opencode", "qwen", "gemini"];
/// Modules of the product that know what a backend is, and not which ones there are.
const ABOVE_BACKENDS: [&str; 5] = ["cli", "exec", "supervise", "store", "report"];

/// What the code names beyond the import table.
pub(crate) fn imports(sources: &[Source], page: &Page) -> Vec<String> {
    let mut found = BTreeSet::new();
    for source in sources.iter().filter(|source| !source.is_test()) {
        let module = row_of(source);
        if !page.imports.contains_key(&module) {
            found.insert(format!("{module} has no row in the import table ({})", source.path));
            continue;
        }
        for mention in source.mentions() {
            let Some(named) = named(source, &mention) else { continue };
            if named[0] != module && !page.allows(&module, &named) {
                found.insert(format!(
                    "{}: {module} may not import {}",
                    source.path,
                    named.join("::")
                ));
            }
        }
    }
    found.into_iter().collect()
}

/// Rows of the table that no source belongs to.
pub(crate) fn idle_rows(sources: &[Source], page: &Page) -> Vec<String> {
    let rows: BTreeSet<String> = sources.iter().map(row_of).collect();
    let idle = page.imports.keys().filter(|row| !rows.contains(*row) && *row != "module");
    idle.map(|row| format!("the import table has a row for {row}, which does not exist")).collect()
}

/// The product's modules have a row each, other crates have one as a whole.
fn row_of(source: &Source) -> String {
    match source.package() {
        "dcli" => source.module().swap_remove(0),
        package => package.to_owned(),
    }
}

/// The module that a path leads to, and the rest of the path; `None` where it leaves the workspace.
fn named(source: &Source, mention: &Mention) -> Option<Vec<String>> {
    let (first, rest) = mention.split_first()?;
    let inside = source.package() == "dcli" && (first == "crate" || first == "dcli");
    let start = match first.as_str() {
        _ if inside => match rest.first()?.as_str() {
            // The library re-exports both crates under these names.
            "model" => "core",
            name => name,
        },
        "dcli_core" => "core",
        "dcli_contain" => "contain",
        "dcli_testkit" => "testkit",
        "dcli" => "dcli",
        _ => return None,
    };
    let rest = rest.iter().skip(usize::from(inside));
    Some(std::iter::once(start.to_owned()).chain(rest.cloned()).collect())
}

/// Modules that the page does not list, lists without need, or lists badly. Unit tests in a file
/// of their own need no line.
pub(crate) fn listing(sources: &[Source], page: &Page) -> Vec<String> {
    let modules = sources.iter().filter(|source| !source.is_test());
    let there: BTreeSet<String> = modules.map(|source| source.path.clone()).collect();
    let unlisted = there.difference(&page.files).map(|file| format!("{file} is not listed"));
    let absent = page.files.difference(&there).map(|file| format!("{file} is listed and missing"));
    page.faults.iter().cloned().chain(unlisted).chain(absent).collect()
}

/// Unsafe code outside the one crate for it.
pub(crate) fn unsafe_code(sources: &[Source]) -> Vec<String> {
    let outside = sources.iter().filter(|source| !source.path.starts_with("crates/contain/"));
    let guilty =
        outside.filter(|source| any(&source.tokens(), &|tokens| is_word(tokens, "unsafe")));
    guilty.map(|source| format!("{}: unsafe code", source.path)).collect()
}

/// Effects and clocks that the pure crate names.
pub(crate) fn impurity(sources: &[Source]) -> Vec<String> {
    let mut found = Vec::new();
    for source in sources.iter().filter(|source| source.package() == "core" && !source.is_test()) {
        let impure = source.mentions().into_iter().filter(is_impure);
        found.extend(impure.map(|path| format!("{}: core names {}", source.path, path.join("::"))));
    }
    found
}

fn is_impure(mention: &Mention) -> bool {
    let names: Vec<&str> = mention.iter().map(String::as_str).collect();
    match names.as_slice() {
        ["std", "time", "Duration", ..] => false,
        ["std", "time", ..] | ["std"] | ["std", "*"] => true,
        ["std", name, ..] => IMPURE.contains(name),
        _ => false,
    }
}

/// Files that are too long to be read at once.
pub(crate) fn length(sources: &[Source]) -> Vec<String> {
    let lines = |source: &Source| source.text.lines().count();
    let long =
        sources.iter().filter(|source| source.path.contains("/src/") && lines(source) > LONGEST);
    long.map(|source| format!("{}: {} lines, at most {LONGEST}", source.path, lines(source)))
        .collect()
}

/// Types and modules with a name that says nothing.
pub(crate) fn names(sources: &[Source]) -> Vec<String> {
    let empty = |tokens: &[TokenTree]| {
        let [TokenTree::Ident(kind), TokenTree::Ident(name), ..] = tokens else { return false };
        let named = ["struct", "enum", "trait", "type", "mod"].iter().any(|word| kind == word);
        named && words(&name.to_string()).iter().any(|word| EMPTY_WORDS.contains(&word.as_str()))
    };
    let guilty = sources.iter().filter(|source| any(&source.tokens(), &empty));
    guilty.map(|source| format!("{}: a name with one of {EMPTY_WORDS:?}", source.path)).collect()
}

/// `HttpService` and `http_service` are both `Http`, `Service`.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut begins = true;
    for letter in name.chars() {
        if letter == '_' {
            begins = true;
        } else if begins || letter.is_uppercase() {
            words.push(letter.to_uppercase().collect());
            begins = false;
        } else if let Some(word) = words.last_mut() {
            word.push(letter);
        }
    }
    words
}

/// Code above the backends that decides by the name of one.
pub(crate) fn vendor_branches(sources: &[Source]) -> Vec<String> {
    let above = |source: &&Source| {
        source.package() == "dcli" && ABOVE_BACKENDS.contains(&row_of(source).as_str())
    };
    let guilty =
        sources.iter().filter(above).filter(|source| any(&source.tokens(), &compares_vendor));
    guilty.map(|source| format!("{}: branches on the name of a backend", source.path)).collect()
}

/// `"codex" ==`, `!= "codex"`, `"codex" =>`.
fn compares_vendor(tokens: &[TokenTree]) -> bool {
    let vendor = |at: usize| {
        let Some(TokenTree::Literal(literal)) = tokens.get(at) else { return false };
        BACKENDS.contains(&literal.to_string().trim_matches('"'))
    };
    let sign = |at: usize, sign| tokens.get(at).is_some_and(|token| is_punct(token, sign));
    let equal = |at: usize| (sign(at, '=') || sign(at, '!')) && sign(at + 1, '=');
    let arm = |at: usize| sign(at, '=') && sign(at + 1, '>');
    (vendor(0) && (equal(1) || arm(1) || sign(1, '|'))) || (equal(0) && vendor(2))
}

fn is_word(tokens: &[TokenTree], word: &str) -> bool {
    matches!(tokens.first(), Some(TokenTree::Ident(ident)) if ident == word)
}

/// Whether some place in the tokens, at any depth, looks so.
fn any(tokens: &[TokenTree], looks: &dyn Fn(&[TokenTree]) -> bool) -> bool {
    let inside = |token: &TokenTree| match token {
        TokenTree::Group(group) => any(&group.stream().into_iter().collect::<Vec<_>>(), looks),
        _ => false,
    };
    (0..tokens.len()).any(|at| looks(&tokens[at..])) || tokens.iter().any(inside)
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
