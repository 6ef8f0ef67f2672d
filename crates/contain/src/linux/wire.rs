//! What controller, init and leader say to each other, byte by byte. No I/O here.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::aftermath::Exit;

/// Where a start failed: decides which error the caller sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Our own machinery.
    Init,
    /// Namespaces, maps, mounts: the host may not give these at all.
    Isolation,
    /// Opening the file for standard input.
    Stdin,
    /// Entering the working directory.
    Directory,
    /// Executing the program.
    Program,
}

/// A failed step, as it travels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) stage: Stage,
    pub(crate) errno: i32,
    pub(crate) operation: String,
}

impl Failure {
    pub(crate) fn new(stage: Stage, operation: &str, errno: rustix::io::Errno) -> Self {
        Self { stage, errno: errno.raw_os_error(), operation: operation.to_owned() }
    }
}

/// One datagram on the control channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Message {
    /// Init → controller, first: the version it speaks.
    Hello(u32),
    /// Controller → init, with the sealed target, output, error and, if given, input.
    Launch,
    /// Leader → init, last before exec; silence after it means that exec succeeded.
    Ready,
    /// Anyone → controller: nothing was started.
    Failed(Failure),
    /// Init → controller, with pidfds of the leader and of the init.
    Started,
    /// Controller → init: the leader is noted, it may be reaped from now on.
    Watch,
    /// Init → controller.
    Exited(Exit),
    /// Controller → init: kill what is left.
    End,
    /// Init → controller: done, with the number of processes that were ended.
    Ended(u32),
}

const STAGES: [Stage; 5] =
    [Stage::Init, Stage::Isolation, Stage::Stdin, Stage::Directory, Stage::Program];

impl Message {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Self::Hello(version) => tagged(&mut out, 1, &version.to_le_bytes()),
            Self::Launch => tagged(&mut out, 2, &[]),
            Self::Ready => tagged(&mut out, 3, &[]),
            Self::Failed(failure) => {
                let stage = STAGES.iter().position(|stage| *stage == failure.stage).unwrap_or(0);
                tagged(&mut out, 4, &[u8::try_from(stage).unwrap_or(0)]);
                out.extend(failure.errno.to_le_bytes());
                out.extend(failure.operation.as_bytes());
            }
            Self::Started => tagged(&mut out, 5, &[]),
            Self::Watch => tagged(&mut out, 6, &[]),
            Self::Exited(exit) => {
                let signalled = u8::from(exit.signal.is_some());
                tagged(&mut out, 7, &[signalled]);
                out.extend(exit.code.or(exit.signal).unwrap_or(0).to_le_bytes());
            }
            Self::End => tagged(&mut out, 8, &[]),
            Self::Ended(left_behind) => tagged(&mut out, 9, &left_behind.to_le_bytes()),
        }
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (tag, body) = bytes.split_first()?;
        match tag {
            1 => Some(Self::Hello(u32::from_le_bytes(body.try_into().ok()?))),
            2 => Some(Self::Launch),
            3 => Some(Self::Ready),
            4 => decode_failure(body).map(Self::Failed),
            5 => Some(Self::Started),
            6 => Some(Self::Watch),
            7 => decode_exit(body).map(Self::Exited),
            8 => Some(Self::End),
            9 => Some(Self::Ended(u32::from_le_bytes(body.try_into().ok()?))),
            _ => None,
        }
    }
}

fn tagged(out: &mut Vec<u8>, tag: u8, body: &[u8]) {
    out.push(tag);
    out.extend(body);
}

fn decode_failure(body: &[u8]) -> Option<Failure> {
    let (stage, rest) = body.split_first()?;
    let (errno, operation) = rest.split_first_chunk::<4>()?;
    Some(Failure {
        stage: *STAGES.get(usize::from(*stage))?,
        errno: i32::from_le_bytes(*errno),
        operation: String::from_utf8_lossy(operation).into_owned(),
    })
}

fn decode_exit(body: &[u8]) -> Option<Exit> {
    let (signalled, number) = body.split_first()?;
    let number = i32::from_le_bytes(number.try_into().ok()?);
    Some(if *signalled == 0 { Exit::with_code(number) } else { Exit::by_signal(number) })
}

/// The target as it travels in a sealed memory file: NUL-terminated strings, counted lists.
#[derive(Debug, Default)]
pub(crate) struct TargetWriter(Vec<u8>);

impl TargetWriter {
    pub(crate) fn text(&mut self, text: &[u8]) -> &mut Self {
        self.0.extend(text);
        self.0.push(0);
        self
    }

    pub(crate) fn path(&mut self, path: &Path) -> &mut Self {
        self.text(path.as_os_str().as_bytes())
    }

    pub(crate) fn count(&mut self, count: usize) -> &mut Self {
        self.0.extend((count as u64).to_le_bytes());
        self
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.0
    }
}

/// Reads what [`TargetWriter`] wrote.
#[derive(Debug)]
pub(crate) struct TargetReader<'a>(&'a [u8]);

impl<'a> TargetReader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn text(&mut self) -> io::Result<CString> {
        let end = self.0.iter().position(|byte| *byte == 0).ok_or(io::ErrorKind::InvalidData)?;
        let (text, rest) = self.0.split_at(end);
        self.0 = rest.get(1..).unwrap_or_default();
        CString::new(text).map_err(|_| io::ErrorKind::InvalidData.into())
    }

    pub(crate) fn list(&mut self) -> io::Result<Vec<CString>> {
        let (count, rest) = self.0.split_first_chunk::<8>().ok_or(io::ErrorKind::InvalidData)?;
        self.0 = rest;
        (0..u64::from_le_bytes(*count)).map(|_| self.text()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_survives_the_wire_and_no_prefix_of_it_is_another_panic() {
        let failure = Failure { stage: Stage::Program, errno: 7, operation: "execute".to_owned() };
        let all = [
            Message::Hello(3),
            Message::Launch,
            Message::Ready,
            Message::Failed(failure),
            Message::Started,
            Message::Watch,
            Message::Exited(Exit::with_code(255)),
            Message::Exited(Exit::by_signal(15)),
            Message::End,
            Message::Ended(70_000),
        ];
        for message in all {
            let bytes = message.encode();
            assert_eq!(Message::decode(&bytes), Some(message.clone()));
            for end in 0..bytes.len() {
                assert_ne!(Message::decode(&bytes[..end]), Some(message.clone()));
            }
        }
    }

    #[test]
    fn a_target_is_read_back_and_a_torn_one_is_refused() {
        let mut writer = TargetWriter::default();
        writer.text(b"program").count(2).text(b"").text(b"two words").count(0);
        let bytes = writer.finish();
        let mut reader = TargetReader::new(&bytes);
        assert_eq!(reader.text().unwrap().as_bytes(), b"program");
        let list = reader.list().unwrap();
        assert_eq!(
            list.iter().map(|text| text.as_bytes()).collect::<Vec<_>>(),
            [&b""[..], b"two words"]
        );
        assert!(reader.list().unwrap().is_empty());
        let mut torn = TargetReader::new(&bytes[..bytes.len() - 12]);
        assert!(torn.text().is_ok());
        assert!(torn.list().is_err());
    }
}
