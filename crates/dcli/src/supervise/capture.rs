//! Standard output and error of a child, each into a regular file: an unlinked one, or a named one
//! in a directory of the caller's.
//!
//! Files and not pipes: several CLIs cut their own output on a pipe and exit 0, and a file never
//! fills up against a reader that is late. What was captured without a name is gone with the last
//! descriptor.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};

/// How much is read at once.
const CHUNK: usize = 256 * 1024;
/// The most that one call reads: 4 MiB. A backend that writes faster than it is read must not keep
/// the loop from its deadlines.
const STEP: u64 = 4 << 20;
/// The longest that one call goes on reading, for records that take their time: 100 ms.
const LONGEST: Duration = Duration::from_millis(100);

/// Less free space than this on the capture's file system ends a run: 64 MiB.
pub(crate) const FREE_FLOOR: u64 = 64 << 20;

/// How far a call has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reached {
    /// All that there was.
    End,
    /// As much as one call reads; there may be more.
    Pause,
    /// The cap, and there is more.
    Cap,
    /// The file is shorter than what was read of it: its writer truncated it.
    Shrunk,
}

/// Where output is captured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Keep {
    /// Unlinked files, gone with the run.
    Scratch,
    /// New files [`STDOUT`] and [`STDERR`] in this existing directory, for its owner alone. They
    /// stay until the caller removes them.
    In(PathBuf),
}

/// The name of captured standard output.
pub(crate) const STDOUT: &str = "stdout";
/// The name of captured standard error.
pub(crate) const STDERR: &str = "stderr";

/// One captured stream.
#[derive(Debug)]
pub(crate) struct Capture {
    file: File,
    offset: u64,
}

/// Both streams of a child.
#[derive(Debug)]
pub(crate) struct Captures {
    pub(crate) stdout: Capture,
    pub(crate) stderr: Capture,
}

impl Captures {
    /// In TMPDIR, or below the state root where that cannot be written.
    pub(crate) fn new() -> io::Result<Self> {
        let stdout = Capture::of(scratch_file()?);
        Ok(Self { stdout, stderr: Capture::of(scratch_file()?) })
    }

    /// Where `keep` says.
    ///
    /// # Errors
    /// No file can be made there, or one of that name is there already.
    pub(crate) fn kept(keep: &Keep) -> io::Result<Self> {
        let Keep::In(directory) = keep else { return Self::new() };
        let stdout = Capture::of(new_file(&directory.join(STDOUT))?);
        Ok(Self { stdout, stderr: Capture::of(new_file(&directory.join(STDERR))?) })
    }

    /// Descriptors for the child: opened append-only, so that two writers never overwrite.
    pub(crate) fn writers(&self) -> io::Result<(OwnedFd, OwnedFd)> {
        Ok((self.stdout.writer()?, self.stderr.writer()?))
    }
}

impl Capture {
    fn of(file: File) -> Self {
        Self { file, offset: 0 }
    }

    fn writer(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CLOEXEC;
        Ok(rustix::fs::open(self.proc_path(), flags, Mode::empty())?)
    }

    /// The path by which this process can name the file, unlinked or not.
    pub(crate) fn proc_path(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.file.as_raw_fd()).into()
    }

    /// Another reader, from the start, which leaves this one where it is.
    pub(crate) fn reader(&self) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::open(self.proc_path(), flags, Mode::empty())?))
    }

    /// How much was read.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// How much was written up to now.
    pub(crate) fn length(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    /// Reads what is new: up to `cap` bytes in all, and a bounded part of it in one call.
    pub(crate) fn read(&mut self, cap: u64, mut each: impl FnMut(&[u8])) -> io::Result<Reached> {
        let mut chunk = vec![0_u8; CHUNK];
        let pause = self.offset.saturating_add(STEP);
        let begun = Instant::now();
        loop {
            let room = usize::try_from(cap - self.offset.min(cap)).unwrap_or(CHUNK).min(CHUNK);
            if room == 0 {
                return self.at_cap();
            }
            if self.offset >= pause || begun.elapsed() > LONGEST {
                return Ok(Reached::Pause);
            }
            let count = match self.file.read_at(&mut chunk[..room], self.offset) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            if count == 0 {
                return self.at_end();
            }
            self.offset += count as u64;
            each(&chunk[..count]);
        }
    }

    fn at_end(&self) -> io::Result<Reached> {
        let shrunk = self.length()? < self.offset;
        Ok(if shrunk { Reached::Shrunk } else { Reached::End })
    }

    /// Reads from the start again.
    pub(crate) fn rewind(&mut self) {
        self.offset = 0;
    }

    fn at_cap(&self) -> io::Result<Reached> {
        let more = self.length()? > self.offset;
        Ok(if more { Reached::Cap } else { Reached::End })
    }

    /// Free bytes of the file system that holds the capture.
    pub(crate) fn free_space(&self) -> io::Result<u64> {
        let stat = rustix::fs::fstatvfs(&self.file)?;
        Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
    }
}

/// A file that was not there, readable and writable by its owner alone.
fn new_file(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR);
    let named = |error| {
        let error = io::Error::from(error);
        io::Error::new(error.kind(), format!("{}: {error}", path.display()))
    };
    Ok(File::from(opened.map_err(named)?))
}

/// An unlinked file for what is on its way: in TMPDIR, or below the state root where that cannot be
/// written.
pub(crate) fn scratch_file() -> io::Result<File> {
    let temporary = std::env::temp_dir();
    tempfile::tempfile_in(&temporary).or_else(|first| {
        let fallback = crate::store::layout::exec_directory();
        let made = fallback.and_then(tempfile::tempfile_in);
        made.map_err(|second| {
            let reason = format!("{}: {first}; state root: {second}", temporary.display());
            io::Error::new(first.kind(), reason)
        })
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_named_capture_is_new_and_private_and_its_writers_only_append() {
        let directory = tempfile::tempdir().unwrap();
        let keep = Keep::In(directory.path().to_owned());
        let mut captures = Captures::kept(&keep).unwrap();
        let path = directory.path().join(STDOUT);
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o7777, 0o600);
        let mut writers = [captures.writers().unwrap(), captures.writers().unwrap()]
            .map(|(stdout, _)| File::from(stdout));
        for (writer, text) in writers.iter_mut().zip(["one ", "two"]) {
            writer.write_all(text.as_bytes()).unwrap();
        }
        let mut read = Vec::new();
        captures.stdout.read(1 << 10, |bytes| read.extend_from_slice(bytes)).unwrap();
        assert_eq!(read, b"one two");
        drop(captures);
        assert_eq!(std::fs::read(path).unwrap(), b"one two", "it stays");
    }

    #[test]
    fn a_named_capture_never_takes_what_is_there_already() {
        let directory = tempfile::tempdir().unwrap();
        let keep = Keep::In(directory.path().to_owned());
        let target = directory.path().join("elsewhere");
        std::os::unix::fs::symlink(&target, directory.path().join(STDOUT)).unwrap();
        let error = Captures::kept(&keep).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert!(error.to_string().contains(STDOUT), "{error}");
        assert!(!target.exists());
    }
}
