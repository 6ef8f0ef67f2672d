//! The control channel: a pair of connected packet sockets. While both ends are open it is also the lifeline.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};

use super::wire::{Failure, Message};

const MESSAGE_LIMIT: usize = 4096;
const DESCRIPTOR_LIMIT: usize = 4;

/// A message with the descriptors that came with it; `None` when the other side is gone.
pub(crate) type Received = Option<(Message, Vec<OwnedFd>)>;

/// One end of a control channel.
#[derive(Debug)]
pub(crate) struct Channel(OwnedFd);

impl Channel {
    /// Two connected ends, both closed on exec.
    pub(crate) fn pair() -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        Ok((Self(ours), theirs))
    }

    /// The end that is `descriptor`.
    pub(crate) fn from_descriptor(descriptor: OwnedFd) -> Self {
        Self(descriptor)
    }

    /// Sends one message. Never raises SIGPIPE.
    pub(crate) fn send(&self, message: &Message, with: &[BorrowedFd<'_>]) -> io::Result<()> {
        let bytes = message.encode();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTOR_LIMIT))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !with.is_empty() && !control.push(SendAncillaryMessage::ScmRights(with)) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let parts = [io::IoSlice::new(&bytes)];
        loop {
            match sendmsg(&self.0, &parts, &mut control, SendFlags::NOSIGNAL) {
                Ok(_) => return Ok(()),
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// Waits for one message.
    pub(crate) fn receive(&self) -> io::Result<Received> {
        let mut bytes = [0; MESSAGE_LIMIT];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTOR_LIMIT))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut parts = [io::IoSliceMut::new(&mut bytes)];
        let received = loop {
            match recvmsg(&self.0, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC) {
                Ok(received) => break received.bytes,
                // A reset is reported once, ahead of what the dead side still said: read on.
                Err(rustix::io::Errno::INTR | rustix::io::Errno::CONNRESET) => {}
                Err(errno) => return Err(errno.into()),
            }
        };
        if received == 0 {
            return Ok(None);
        }
        let mut descriptors = Vec::new();
        for part in control.drain() {
            if let RecvAncillaryMessage::ScmRights(rights) = part {
                descriptors.extend(rights);
            }
        }
        let message = Message::decode(&bytes[..received]).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Some((message, descriptors)))
    }

    /// What a leader that hung up had said: the failed step, or nothing if its program was executed.
    pub(crate) fn last_words(&self) -> io::Result<Option<Failure>> {
        let mut ready = false;
        loop {
            match self.receive()? {
                Some((Message::Hello(_), _)) => {}
                Some((Message::Ready, _)) => ready = true,
                Some((Message::Failed(failure), _)) => return Ok(Some(failure)),
                None if ready => return Ok(None),
                _ => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
    }

    /// Like [`Channel::receive`], but gives up with `TimedOut`.
    pub(crate) fn receive_within(&self, limit: Duration) -> io::Result<Received> {
        if readable_within(self.0.as_fd(), limit)? {
            self.receive()
        } else {
            Err(io::ErrorKind::TimedOut.into())
        }
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Waits until `descriptor` is readable or hung up: for a pidfd, until its process has ended.
pub(crate) fn readable_within(descriptor: BorrowedFd<'_>, limit: Duration) -> io::Result<bool> {
    happens_within(descriptor, PollFlags::IN, limit)
}

/// Waits until the other side of `descriptor` is gone. Unlike reading, this is not woken by messages.
pub(crate) fn hung_up_within(descriptor: BorrowedFd<'_>, limit: Duration) -> io::Result<bool> {
    happens_within(descriptor, PollFlags::empty(), limit)
}

fn happens_within(
    descriptor: BorrowedFd<'_>,
    flags: PollFlags,
    limit: Duration,
) -> io::Result<bool> {
    let deadline = Instant::now() + limit;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).map_err(|_| io::ErrorKind::InvalidInput)?;
        let mut watched = [PollFd::from_borrowed_fd(descriptor, flags)];
        match poll(&mut watched, Some(&timeout)) {
            Ok(ready) => return Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}
