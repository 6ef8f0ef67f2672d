//! Tells the loop when a capture may have grown: the loop looks by itself while a run is young,
//! and is woken by inotify from then on.
//!
//! To close an inotify instance takes the kernel 8 to 30 ms (it waits for all readers of its mark
//! lists; measured on Linux 6.18), which a short run would pay at its end. Where an instance is not
//! to be had (they are limited per user), the loop goes on looking every 50 ms.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fs::inotify;

/// The longest the loop may sleep where nothing tells it about new output.
const PAUSE_MOST: Duration = Duration::from_millis(50);
/// The shortest sleep of a loop that looks by itself.
const PAUSE_LEAST: Duration = Duration::from_millis(2);
/// A run of this age gets its inotify instance.
const GROWN: Duration = Duration::from_secs(2);

/// How the loop learns of new output.
pub(crate) enum Lookout {
    /// It looks by itself.
    Young(Start),
    /// It is woken, as long as this is held.
    Watching { _watch: Watch },
    /// It looks by itself to the end.
    Unwatched,
}

/// What a watch needs once it starts.
pub(crate) struct Start {
    paths: Vec<PathBuf>,
    pending: Pending,
    wake: Box<dyn Fn() + Send>,
}

impl Lookout {
    /// Calls `wake` from a thread of its own whenever one of `paths` has been written to, once the
    /// run is old enough.
    pub(crate) fn new(
        paths: impl Into<Vec<PathBuf>>,
        pending: Pending,
        wake: impl Fn() + Send + 'static,
    ) -> Self {
        Self::Young(Start { paths: paths.into(), pending, wake: Box::new(wake) })
    }

    /// How long the loop of a run of this age may sleep before it looks; `None`: until it is woken.
    pub(crate) fn pause(&mut self, age: Duration) -> Option<Duration> {
        match self {
            Self::Young(_) if age >= GROWN => {
                self.grow();
                // What was written before the watch began wakes nobody.
                Some(Duration::ZERO)
            }
            Self::Young(_) => Some((age / 8).clamp(PAUSE_LEAST, PAUSE_MOST)),
            Self::Watching { .. } => None,
            Self::Unwatched => Some(PAUSE_MOST),
        }
    }

    fn grow(&mut self) {
        if let Self::Young(start) = std::mem::replace(self, Self::Unwatched)
            && let Ok(watch) = Watch::new(start)
        {
            *self = Self::Watching { _watch: watch };
        }
    }
}

/// Watches until it is dropped.
pub(crate) struct Watch {
    stop: OwnedFd,
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
    fn new(start: Start) -> io::Result<Self> {
        let Start { paths, pending, wake } = start;
        let events = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK)?;
        for path in paths {
            inotify::add_watch(&events, &path, inotify::WatchFlags::MODIFY)?;
        }
        let stop = eventfd(0, EventfdFlags::CLOEXEC)?;
        let stopped = stop.try_clone()?;
        let watch = move || heed(&events, &stopped, &pending, &wake);
        let builder = std::thread::Builder::new().name("dcli-watch".into()).stack_size(64 * 1024);
        builder.spawn(watch)?;
        Ok(Self { stop })
    }
}

impl Drop for Watch {
    /// The thread ends by itself: nobody waits for the kernel to take the instance back.
    fn drop(&mut self) {
        let _ = rustix::io::write(&self.stop, &1_u64.to_ne_bytes());
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
