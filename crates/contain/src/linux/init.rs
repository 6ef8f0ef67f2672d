//! What every re-executed role does first: shed what it inherited, say hello, take the launch.

use rustix::io::Errno;

use super::channel::Channel;
use super::process;
use super::target::Parcel;
use super::wire::{Failure, Message, Stage};
use crate::marker;

/// A role that has its orders.
pub(crate) struct Orders {
    pub(crate) control: Channel,
    pub(crate) parcel: Parcel,
}

/// Makes this process an init: nothing inherited but the control channel, no terminal, deaf to
/// signals, holding no directory; then fetches the launch. Leaves the process on any failure,
/// since a controller that cannot be reached needs no answer.
pub(crate) fn take_orders() -> Orders {
    let Ok(control) = isolate() else { process::leave(111) };
    let orders = hear(control);
    orders.unwrap_or_else(|| process::leave(112))
}

fn isolate() -> Result<Channel, Errno> {
    process::close_inherited()?;
    process::block_signals()?;
    process::reset_dispositions();
    let control = process::take_standard_input()?;
    // Standard output was opened on the null device by the controller; input becomes the same.
    rustix::stdio::dup2_stdin(rustix::stdio::stdout())?;
    rustix::thread::set_name(c"dcli-init")?;
    rustix::process::setsid()?;
    rustix::process::chdir(c"/")?;
    Ok(Channel::from_descriptor(control))
}

fn hear(control: Channel) -> Option<Orders> {
    control.send(&Message::Hello(marker::VERSION), &[]).ok()?;
    let (message, descriptors) = control.receive().ok()??;
    let parcel = Parcel::from_descriptors(descriptors)?;
    (message == Message::Launch).then_some(Orders { control, parcel })
}

/// Reports why nothing was started, and leaves.
pub(crate) fn give_up(control: &Channel, failure: Failure) -> ! {
    let _unreported = control.send(&Message::Failed(failure), &[]);
    process::leave(113)
}

/// `?` for a step of the init's own machinery.
pub(crate) fn step<T>(operation: &str, result: Result<T, Errno>) -> Result<T, Failure> {
    result.map_err(|errno| Failure::new(Stage::Init, operation, errno))
}
