//! SIGINT, SIGTERM and SIGHUP: the first cancels, the second ends the tree at once.

use std::io;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::exec::Cancel;

/// Turns signals into wishes of `cancel`, from a thread that lives as long as the process.
pub(super) fn cancel_on_signals(cancel: Cancel) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let heed = move || {
        for _ in signals.forever() {
            cancel.ask();
        }
    };
    std::thread::Builder::new().name("dcli-signals".into()).stack_size(64 * 1024).spawn(heed)?;
    Ok(())
}
