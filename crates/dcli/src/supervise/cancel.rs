//! A wish to end a run, made from any thread.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Answers whether anybody still listens.
type Listener = Box<dyn Fn() -> bool + Send>;

/// Asks a run to end: once walks the ladder of its backend, twice ends the tree at once. Clones
/// share one wish.
#[derive(Clone, Default)]
pub struct Cancel {
    shared: Arc<Mutex<Wish>>,
}

#[derive(Default)]
struct Wish {
    asked: u32,
    listeners: Vec<Listener>,
}

impl Cancel {
    /// Nothing asked yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks once more.
    pub fn ask(&self) {
        let mut wish = self.lock();
        wish.asked = wish.asked.saturating_add(1);
        wish.listeners.retain(|listener| listener());
    }

    /// How often it was asked.
    #[must_use]
    pub fn asked(&self) -> u32 {
        self.lock().asked
    }

    /// Calls `listener` for every wish from now on, and at once for those already made, until it
    /// answers that nobody listens any more.
    pub(crate) fn listen(&self, listener: impl Fn() -> bool + Send + 'static) {
        let mut wish = self.lock();
        for _ in 0..wish.asked {
            listener();
        }
        wish.listeners.push(Box::new(listener));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Wish> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Cancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cancel").field("asked", &self.asked()).finish()
    }
}
