//! Wakes the loop when a capture has grown: inotify on Linux, and a look every 50 ms where that is
//! not to be had (its instances are limited per user).

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fs::inotify;

/// How long the loop may sleep where nothing tells it about new output.
pub(crate) const LOOK_PAUSE: Duration = Duration::from_millis(50);

/// Watches until it is dropped.
pub(crate) struct Watch {
    stop: OwnedFd,
    thread: Option<JoinHandle<()>>,
}

/// Set while a wake-up is on its way, so that a fast writer sends one and not thousands.
#[derive(Clone, Default)]
pub(crate) struct Pending(Arc<AtomicBool>);

impl Pending {
    fn raise(&self) -> bool {
        !self.0.swap(true, Ordering::AcqRel)
    }

    /// To be called before reading: growth after this sends a new wake-up.
    pub(crate) fn clear(&self) {
        self.0.store(false, Ordering::Release);
    }
}

impl Watch {
    /// Calls `wake` from a thread of its own whenever one of `paths` has been written to.
    pub(crate) fn new(
        paths: &[PathBuf],
        pending: Pending,
        wake: impl Fn() + Send + 'static,
    ) -> io::Result<Self> {
        let events = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK)?;
        for path in paths {
            inotify::add_watch(&events, path, inotify::WatchFlags::MODIFY)?;
        }
        let stop = eventfd(0, EventfdFlags::CLOEXEC)?;
        let stopped = stop.try_clone()?;
        let watch = move || heed(&events, &stopped, &pending, &wake);
        let builder = std::thread::Builder::new().name("dcli-watch".into()).stack_size(64 * 1024);
        Ok(Self { stop, thread: Some(builder.spawn(watch)?) })
    }
}

fn heed(events: &OwnedFd, stop: &OwnedFd, pending: &Pending, wake: &impl Fn()) {
    let mut buffer = [const { MaybeUninit::uninit() }; 1024];
    while wait(events, stop) {
        let mut reader = inotify::Reader::new(events, &mut buffer);
        while reader.next().is_ok() {}
        if pending.raise() {
            wake();
        }
    }
}

/// True for new events, false for the end.
fn wait(events: &OwnedFd, stop: &OwnedFd) -> bool {
    let mut ready = [PollFd::new(events, PollFlags::IN), PollFd::new(stop, PollFlags::IN)];
    loop {
        match poll(&mut ready, None) {
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
            Ok(_) => return ready[1].revents().is_empty(),
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let told = rustix::io::write(&self.stop, &1_u64.to_ne_bytes());
        if let Some(thread) = self.thread.take().filter(|_| told.is_ok()) {
            let _ = thread.join();
        }
    }
}
