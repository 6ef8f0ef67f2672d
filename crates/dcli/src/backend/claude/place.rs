//! Where a path leads: inside of the directory that a run works in, or out of it.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// More links than this are followed nowhere (path_resolution(7): 40).
const MOST_LINKS: usize = 40;

/// A place.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Relative to the directory; `.` is the directory itself.
    Inside(String),
    /// Absolute, as far as it is known.
    Outside(String),
}

/// Where `path` leads from `directory`, which is canonical. Links are followed, also one whose target
/// is not there yet: writing would make it. What the backend would expand itself is outside.
pub(super) fn place(directory: &Path, path: &str) -> Place {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    if path.starts_with('~') {
        return Place::Outside(path.to_owned());
    }
    let lexical = lexical(&directory.join(path));
    let Some(found) = followed(&lexical) else { return Place::Outside(text(&lexical)) };
    match found.strip_prefix(directory) {
        Ok(inner) if inner.as_os_str().is_empty() => Place::Inside(".".to_owned()),
        Ok(inner) => Place::Inside(text(inner)),
        Err(_) => Place::Outside(text(&found)),
    }
}

/// As the backend reads it before it looks at any link.
fn lexical(path: &Path) -> PathBuf {
    let mut found = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(found.pop()),
            Component::CurDir => {}
            other => found.push(other),
        }
    }
    found
}

/// With every link replaced by what it leads to; `None`: they lead round and round.
fn followed(path: &Path) -> Option<PathBuf> {
    let parts = |path: &Path| -> Vec<OsString> {
        path.components().map(|part| part.as_os_str().to_owned()).collect()
    };
    let mut open: VecDeque<OsString> = parts(path).into();
    let (mut found, mut links) = (PathBuf::from("/"), 0);
    while let Some(part) = open.pop_front() {
        if part == "." || part == ".." {
            (part == "..").then(|| found.pop());
            continue;
        }
        let next = found.join(&part);
        let Ok(target) = std::fs::read_link(&next) else {
            found = next;
            continue;
        };
        links += 1;
        if links > MOST_LINKS {
            return None;
        }
        for part in parts(&target).into_iter().rev() {
            open.push_front(part);
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_path_leads_where_the_system_would_go_with_it() {
        let room = tempfile::tempdir().unwrap();
        let root = room.path().canonicalize().unwrap();
        let work = root.join("work");
        std::fs::create_dir_all(work.join("src")).unwrap();
        symlink("../outside", work.join("out")).unwrap();
        symlink("src", work.join("in")).unwrap();
        symlink(root.join("new.txt"), work.join("dangling")).unwrap();
        symlink("round", work.join("round")).unwrap();
        let out = |name: &str| Place::Outside(root.join(name).to_string_lossy().into_owned());
        let absolute = work.join("src/a.rs").to_string_lossy().into_owned();
        for (path, wanted) in [
            ("a.txt", Place::Inside("a.txt".to_owned())),
            (".", Place::Inside(".".to_owned())),
            (&absolute, Place::Inside("src/a.rs".to_owned())),
            ("./src/../src/new/b.rs", Place::Inside("src/new/b.rs".to_owned())),
            ("in/a.rs", Place::Inside("src/a.rs".to_owned())),
            ("../work/a", Place::Inside("a".to_owned())),
            ("../a", out("a")),
            ("../work2/a", out("work2/a")),
            ("out/a", out("outside/a")),
            ("dangling", out("new.txt")),
            ("round/a", out("work/round/a")),
            ("/etc/passwd", Place::Outside("/etc/passwd".to_owned())),
            ("~/a", Place::Outside("~/a".to_owned())),
        ] {
            assert_eq!(place(&work, path), wanted, "{path}");
        }
    }
}
