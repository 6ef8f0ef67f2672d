//! A scratch place for one test: a home, a workspace, a state root and a temporary directory that
//! belong to one user and are gone with the value.

use std::io;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// The scratch place.
#[derive(Debug)]
pub struct Room {
    root: TempDir,
    owner: Option<u32>,
}

impl Room {
    /// A room of the current user.
    ///
    /// # Errors
    /// When the directories cannot be made.
    pub fn new() -> io::Result<Self> {
        Self::furnish(None)
    }

    /// A room of another user and the group of the same number, as
    /// [`as_user`](crate::process::as_user) runs programs. Only root can make it.
    ///
    /// # Errors
    /// When the directories cannot be made or given away.
    pub fn of_user(uid: u32) -> io::Result<Self> {
        Self::furnish(Some(uid))
    }

    fn furnish(owner: Option<u32>) -> io::Result<Self> {
        let root = tempfile::Builder::new().prefix("dcli-room-").tempdir()?;
        std::fs::set_permissions(root.path(), std::fs::Permissions::from_mode(0o755))?;
        let room = Self { root, owner };
        for part in ["home", "work", "state", "tmp"] {
            room.directory(part)?;
        }
        Ok(room)
    }

    /// The room itself.
    pub fn path(&self) -> &Path {
        self.root.path()
    }

    /// For HOME and everything below it.
    pub fn home(&self) -> PathBuf {
        self.path().join("home")
    }

    /// For a job to work in.
    pub fn work(&self) -> PathBuf {
        self.path().join("work")
    }

    /// For `DCLI_STATE_ROOT`.
    pub fn state(&self) -> PathBuf {
        self.path().join("state")
    }

    /// For TMPDIR. It is no parent of the home: codex does not start its sandbox from a
    /// `CODEX_HOME` below the temporary directory (0.171.0).
    pub fn tmp(&self) -> PathBuf {
        self.path().join("tmp")
    }

    /// Makes a directory and its parents inside the room, for the room's user.
    ///
    /// # Errors
    /// When a directory cannot be made or given away.
    pub fn directory(&self, inside: impl AsRef<Path>) -> io::Result<PathBuf> {
        let mut path = self.path().to_owned();
        for part in inside.as_ref() {
            path.push(part);
            if !path.is_dir() {
                std::fs::create_dir(&path)?;
                self.give_away(&path)?;
            }
        }
        Ok(path)
    }

    /// Writes a file inside the room, for the room's user.
    ///
    /// # Errors
    /// When it cannot be written or given away.
    pub fn file(&self, inside: impl AsRef<Path>, content: &str) -> io::Result<PathBuf> {
        let inside = inside.as_ref();
        if let Some(parent) = inside.parent() {
            self.directory(parent)?;
        }
        let path = self.path().join(inside);
        std::fs::write(&path, content)?;
        self.give_away(&path)?;
        Ok(path)
    }

    fn give_away(&self, path: &Path) -> io::Result<()> {
        chown(path, self.owner, self.owner)
    }
}

#[cfg(test)]
mod tests {
    use super::Room;

    #[test]
    fn a_room_has_its_parts_and_is_gone_with_its_value() {
        let room = Room::new().unwrap();
        let path = room.path().to_owned();
        let file = room.file("home/.config/x/y.json", "{}").unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "{}");
        for part in [room.home(), room.work(), room.state(), room.tmp()] {
            assert!(part.is_dir() && part.starts_with(&path));
        }
        drop(room);
        assert!(!path.exists());
    }
}
