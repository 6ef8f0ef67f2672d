//! Every directory and file name below the state root and the configuration directory.

use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use dcli_core::job::id::{GroupName, JobId, RepoKey};

/// What a job's directory is called while it is made, before its id.
pub const STAGED: &str = ".new-";
/// What a job's directory is called while it is removed, before its id.
pub const DISCARDED: &str = ".gone-";

/// The state root: `DCLI_STATE_ROOT`, else `$XDG_STATE_HOME/dcli`, else `~/.local/state/dcli`.
///
/// # Errors
/// `DCLI_STATE_ROOT` is set and no absolute path: another place would be a second root. Or no
/// variable names a place and there is no home directory.
pub fn state_root() -> io::Result<PathBuf> {
    let own = std::env::var_os("DCLI_STATE_ROOT").filter(|named| !named.is_empty());
    let own = own.map(PathBuf::from);
    if let Some(named) = own.as_ref().filter(|named| !named.is_absolute()) {
        let message = format!("DCLI_STATE_ROOT {} is no absolute path", named.display());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    own.or_else(|| absolute("XDG_STATE_HOME").map(|base| base.join("dcli")))
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state/dcli")))
        .ok_or_else(|| no_directory("DCLI_STATE_ROOT, XDG_STATE_HOME and HOME"))
}

/// `DCLI_STATE_ROOT`, where it points into the working tree that `directory` lies in: a run there
/// would work on dcli's own records.
#[must_use]
pub fn state_root_inside(directory: &Path) -> Option<PathBuf> {
    let root = absolute("DCLI_STATE_ROOT")?;
    let is_tree = |ancestor: &&Path| ancestor.join(".git").exists();
    let tree = directory.ancestors().find(is_tree).unwrap_or(directory);
    // The root itself need not be there yet.
    let resolved = root.ancestors().find_map(|ancestor| {
        let below = root.strip_prefix(ancestor).ok()?;
        Some(ancestor.canonicalize().ok()?.join(below))
    });
    resolved.is_some_and(|resolved| resolved.starts_with(tree)).then_some(root)
}

/// The configuration directory: `$XDG_CONFIG_HOME/dcli`, else `~/.config/dcli`.
#[must_use]
pub fn configuration() -> Option<PathBuf> {
    let base = absolute("XDG_CONFIG_HOME");
    base.or_else(|| absolute("HOME").map(|home| home.join(".config"))).map(|base| base.join("dcli"))
}

/// Where one-shot runs capture when TMPDIR cannot be written; made if it is missing.
///
/// # Errors
/// It cannot be made.
pub fn exec_directory() -> io::Result<PathBuf> {
    let directory = state_root()?.join("exec");
    make_private(&directory)?;
    Ok(directory)
}

/// The cache of version probes.
///
/// # Errors
/// There is no state root.
pub fn versions() -> io::Result<PathBuf> {
    state_root().map(|root| root.join("versions.json"))
}

/// Says which format the whole root has.
#[must_use]
pub fn format(root: &Path) -> PathBuf {
    root.join("format.json")
}

/// All jobs, by repository.
#[must_use]
pub fn jobs(root: &Path) -> PathBuf {
    root.join("jobs")
}

/// The jobs of one repository.
#[must_use]
pub fn repository(root: &Path, repo: &RepoKey) -> PathBuf {
    jobs(root).join(repo.as_str())
}

/// One job.
#[must_use]
pub fn job(root: &Path, repo: &RepoKey, id: &JobId) -> PathBuf {
    repository(root, repo).join(id.as_str())
}

/// One job while it is made.
#[must_use]
pub fn staged_job(root: &Path, repo: &RepoKey, id: &JobId) -> PathBuf {
    repository(root, repo).join(format!("{STAGED}{id}"))
}

/// One job while it is removed.
#[must_use]
pub fn discarded_job(root: &Path, repo: &RepoKey, id: &JobId) -> PathBuf {
    repository(root, repo).join(format!("{DISCARDED}{id}"))
}

/// All groups.
#[must_use]
pub fn groups(root: &Path) -> PathBuf {
    root.join("groups")
}

/// One group: a file for each of its jobs.
#[must_use]
pub fn group(root: &Path, group: &GroupName) -> PathBuf {
    groups(root).join(group.as_str())
}

/// All jobs that wait for a place.
#[must_use]
pub fn queue(root: &Path) -> PathBuf {
    root.join("queue")
}

/// One job's place in the queue.
#[must_use]
pub fn queue_entry(root: &Path, id: &JobId) -> PathBuf {
    queue(root).join(format!("{id}.json"))
}

/// The servers of running jobs.
#[must_use]
pub fn servers(root: &Path) -> PathBuf {
    root.join("servers")
}

/// Where one job's server is reached.
#[must_use]
pub fn server(root: &Path, id: &JobId) -> PathBuf {
    servers(root).join(format!("{id}.json"))
}

/// All locks.
#[must_use]
pub fn locks(root: &Path) -> PathBuf {
    root.join("locks")
}

/// The mutex over queue and slots.
#[must_use]
pub fn admission_lock(root: &Path) -> PathBuf {
    locks(root).join("admission")
}

/// The slots that running jobs hold.
#[must_use]
pub fn slots(root: &Path) -> PathBuf {
    locks(root).join("slots")
}

/// All slots of descendants, by root job.
#[must_use]
pub fn all_descendants(root: &Path) -> PathBuf {
    locks(root).join("descendants")
}

/// The slots that live descendants of one job hold.
#[must_use]
pub fn descendants(root: &Path, root_job: &JobId) -> PathBuf {
    all_descendants(root).join(root_job.as_str())
}

/// The stores that jobs were given of their own.
#[must_use]
pub fn all_nested(root: &Path) -> PathBuf {
    root.join("nested")
}

/// The store that one job was given of its own.
#[must_use]
pub fn nested(root: &Path, id: &JobId) -> PathBuf {
    all_nested(root).join(id.as_str())
}

/// The state root that all others lie in, and the first job of the line whose last one is `job`: a
/// store of a job's own is called by that job.
#[must_use]
pub fn outermost(root: &Path, job: JobId) -> (PathBuf, JobId) {
    let (mut root, mut first) = (root, job);
    while let Some((outer, id)) = around(root) {
        (root, first) = (outer, id);
    }
    (root.to_owned(), first)
}

/// The state root that the environment names, or the one that it lies in.
///
/// # Errors
/// No variable names a directory.
pub fn outermost_root() -> io::Result<PathBuf> {
    let mut root = state_root()?;
    while let Some((outer, _)) = around(&root) {
        root = outer.to_owned();
    }
    Ok(root)
}

fn around(root: &Path) -> Option<(&Path, JobId)> {
    let id = root.file_name()?.to_str()?.parse().ok()?;
    let nested = root.parent().filter(|parent| parent.ends_with("nested"))?;
    Some((nested.parent()?, id))
}

/// Where runs are counted.
#[must_use]
pub fn ledger(root: &Path) -> PathBuf {
    root.join("ledger")
}

/// The sums of one day, `YYYY-MM-DD`.
#[must_use]
pub fn ledger_of_day(root: &Path, day: &str) -> PathBuf {
    ledger(root).join(format!("day-{day}.json"))
}

/// The sums of one group.
#[must_use]
pub fn ledger_of_group(root: &Path, group: &GroupName) -> PathBuf {
    ledger(root).join(format!("group-{group}.json"))
}

/// A locked file for each counted run that is under way.
#[must_use]
pub fn ledger_open(root: &Path) -> PathBuf {
    ledger(root).join("open")
}

/// The mutex over the ledger.
#[must_use]
pub fn ledger_lock(root: &Path) -> PathBuf {
    locks(root).join("ledger")
}

/// Makes a directory and its parents, for the owner alone (mode 0700).
///
/// # Errors
/// It cannot be made.
pub fn make_private(directory: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

fn absolute(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

fn no_directory(names: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("none of {names} names a directory"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_in_a_store_lies_in_the_outermost_one_and_names_the_first_job() {
        let [one, two] = ["20260102T030405Z-aaaaaaaa", "20260102T030405Z-bbbbbbbb"];
        let id = |text: &str| text.parse::<JobId>().unwrap();
        let root = Path::new("/state");
        let found = |path: &Path, job| outermost(path, id(job));
        assert_eq!(found(root, one), (root.to_owned(), id(one)));
        let inner = nested(root, &id(one));
        assert_eq!(found(&inner, one), (root.to_owned(), id(one)));
        assert_eq!(found(&nested(&inner, &id(two)), two), (root.to_owned(), id(one)));
        // Somebody's directory that merely looks like one.
        let other = Path::new("/nested/state");
        assert_eq!(found(other, one), (other.to_owned(), id(one)));
    }
}
