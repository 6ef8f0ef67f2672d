//! The prompt as standard input: a sealed file in memory.
//!
//! A regular file and no pipe: no writer thread, nothing that fills up, and the end of file for
//! certain. It has no name, so nothing of it is left on a disk however this process ends; and it is
//! sealed (memfd_create(2)), so that a child which opens it again through /proc/self/fd/0 can read
//! it and do nothing else.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::{MemfdFlags, Mode, OFlags, SealFlags, fcntl_add_seals, memfd_create, open};

/// A prompt, ready to be handed over any number of times.
#[derive(Debug)]
pub(crate) struct PromptFile {
    file: File,
}

impl PromptFile {
    pub(crate) fn new(prompt: &str) -> io::Result<Self> {
        let made = memfd_create("prompt", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        let mut file = File::from(made);
        file.write_all(prompt.as_bytes())?;
        let all = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
        fcntl_add_seals(&file, all)?;
        Ok(Self { file })
    }

    /// The prompt from its start, read-only: an open file description of its own each time.
    pub(crate) fn reader(&self) -> io::Result<OwnedFd> {
        let path = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        Ok(open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn a_prompt_is_read_from_its_start_each_time_and_cannot_be_changed() {
        let prompt = PromptFile::new("what is this?").unwrap();
        for _ in 0..2 {
            let mut text = String::new();
            File::from(prompt.reader().unwrap()).read_to_string(&mut text).unwrap();
            assert_eq!(text, "what is this?");
        }
        let path = format!("/proc/self/fd/{}", prompt.file.as_raw_fd());
        let mut writer = File::options().write(true).open(path).unwrap();
        assert!(writer.write_all(b"something else").is_err());
        assert!(writer.set_len(0).is_err());
    }
}
