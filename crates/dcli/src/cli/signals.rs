//! SIGINT, SIGTERM and SIGHUP: the first cancels, the second ends the tree at once.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use crate::exec::Cancel;

/// Turns signals into wishes of `cancel`, from a thread that lives as long as the process. One that
/// the caller had ignored stays ignored (nohup, a background job of a script). Once `is_over`, the
/// second ends this process: it only prints, and its reader may never come. The first may have
/// been meant for the run, whose envelope is still owed.
pub(super) fn cancel_on_signals(cancel: Cancel, is_over: Arc<AtomicBool>) -> io::Result<()> {
    let ignored = ignored();
    let heeded = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|one| !is_in(ignored, *one));
    let mut signals = Signals::new(heeded)?;
    let heed = move || {
        let mut late = 0_u32;
        for signal in signals.forever() {
            late += u32::from(is_over.load(Ordering::Relaxed));
            if late > 1 {
                // Nobody can be told of a default that cannot be had.
                let _ = emulate_default_handler(signal);
            }
            cancel.ask();
        }
    };
    std::thread::Builder::new().name("dcli-signals".into()).stack_size(64 * 1024).spawn(heed)?;
    Ok(())
}

/// The mask of ignored signals, bit 0 for signal 1 (proc(5), `SigIgn`); none where it is not told.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

fn is_in(mask: u64, signal: i32) -> bool {
    mask & 1_u64.wrapping_shl(signal.unsigned_abs().wrapping_sub(1)) != 0
}
