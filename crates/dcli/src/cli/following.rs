//! A run in the foreground: its progress on standard error, and signals that cancel it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dcli_core::fact::{Fact, FactLine};

use super::progress::Progress;
use super::signals;
use crate::exec::Hooks;
use crate::report::human::say;
use crate::report::interaction::words;

/// What is said of a fact to whoever looks: that the run waits for somebody. Which job it is, the
/// command knows that is named.
fn waits(fact: &Fact) -> Option<String> {
    let Fact::InteractionPending { interaction_id, kind, detail, outcome: Some(_) } = fact else {
        return None;
    };
    let what = words(*kind, detail);
    let how = "'dcli interactions' lists it, with the command that answers";
    Some(format!("dcli: the job waits for an answer: {interaction_id} {what}; {how}"))
}

/// A run that this process follows.
pub(super) struct Following {
    pub hooks: Hooks,
    progress: Arc<Progress>,
    is_over: Arc<AtomicBool>,
}

impl Following {
    /// Before a run of `backend`. Every fact goes to the progress line, and to `on_fact`.
    pub(super) fn new(backend: &str, on_fact: impl Fn(&FactLine) + Send + Sync + 'static) -> Self {
        let progress = Arc::new(Progress::new(backend));
        let line = Arc::clone(&progress);
        let hooks = Hooks {
            on_fact: Some(Arc::new(move |fact| {
                line.fact(&fact.fact);
                if let Some(waits) = waits(&fact.fact) {
                    line.say(&waits);
                }
                on_fact(fact);
            })),
            ..Hooks::default()
        };
        let line = Arc::clone(&progress);
        hooks.cancel.listen(move || {
            line.cancelling();
            true
        });
        let is_over = Arc::new(AtomicBool::new(false));
        if let Err(error) = signals::cancel_on_signals(hooks.cancel.clone(), Arc::clone(&is_over)) {
            say(&format!("dcli: signals will not cancel this run: {error}"));
        }
        Self { hooks, progress, is_over }
    }

    /// The run has ended: its answer is still to be printed.
    pub(super) fn end(self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.progress.end();
    }
}
