//! The few system calls that have no safe wrapper elsewhere, each as a safe function.

use std::ffi::{CStr, CString};
use std::os::fd::{FromRawFd, OwnedFd};
use std::ptr;

use rustix::io::Errno;
use rustix::process::Pid;

/// Which side of a fork this is.
pub(crate) enum Side {
    Parent(Pid),
    Child,
}

/// The highest signal of the kernel.
const LAST_SIGNAL: libc::c_int = 64;
/// The bytes of its signal set.
const SIGNAL_SET_SIZE: usize = 8;

fn last() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

fn check(result: libc::c_int) -> Result<(), Errno> {
    if result == -1 { Err(last()) } else { Ok(()) }
}

/// Forks. Only for the init, which has a single thread: a child of a threaded process could not even allocate.
pub(crate) fn fork() -> Result<Side, Errno> {
    // SAFETY: the init never starts a thread, so no lock can be held by one that is not copied.
    match unsafe { libc::fork() } {
        -1 => Err(last()),
        0 => Ok(Side::Child),
        pid => Pid::from_raw(pid).map(Side::Parent).ok_or(Errno::CHILD),
    }
}

/// The session of this process; `None` where its leader is outside the pid namespace: getsid(2)
/// answers 0 then, which a wrapper that promises a pid cannot say.
pub(crate) fn own_session() -> Option<Pid> {
    // SAFETY: `getsid` takes no pointer.
    let session = unsafe { libc::getsid(0) };
    if session > 0 { Pid::from_raw(session) } else { None }
}

/// Ends this process at once, without running exit handlers of the host program.
pub(crate) fn leave(code: i32) -> ! {
    // SAFETY: `_exit` takes no pointer and does not return.
    unsafe { libc::_exit(code) }
}

/// Replaces this process. Returns only the error.
pub(crate) fn execute(program: &CStr, args: &[CString], env: &[CString]) -> Errno {
    let args = pointers(args);
    let env = pointers(env);
    // SAFETY: both arrays end with a null pointer and hold NUL-terminated strings that outlive the call.
    unsafe { libc::execve(program.as_ptr(), args.as_ptr(), env.as_ptr()) };
    last()
}

fn pointers(texts: &[CString]) -> Vec<*const libc::c_char> {
    texts.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect()
}

/// Blocks every signal that can be blocked: a blocked signal cannot end or stop this process.
pub(crate) fn block_signals() -> Result<(), Errno> {
    set_mask(libc::sigfillset)
}

fn set_mask(fill: unsafe extern "C" fn(*mut libc::sigset_t) -> libc::c_int) -> Result<(), Errno> {
    // SAFETY: a signal set is plain data; `fill` initialises it before it is read.
    unsafe {
        let mut set = std::mem::zeroed();
        check(fill(&raw mut set))?;
        check(libc::sigprocmask(libc::SIG_SETMASK, &raw const set, ptr::null_mut()))
    }
}

/// Gives the program to come a fresh start: every disposition default, nothing blocked.
pub(crate) fn reset_signals() -> Result<(), Errno> {
    reset_dispositions();
    set_mask(libc::sigemptyset)
}

/// Undoes what was inherited: with SIGCHLD ignored no child's exit could ever be learned.
pub(crate) fn reset_dispositions() {
    // The kernel's own structure, all zero: the default action, no flags, nothing masked. Not through
    // the C library, which keeps two signals for itself and cannot give them back to a new program.
    let default = [0_u64; 8];
    for signal in 1..=LAST_SIGNAL {
        let nowhere = ptr::null_mut::<u64>();
        // SAFETY: `default` is longer than the structure and outlives the call; the default action
        // runs no code. Errors for SIGKILL and SIGSTOP are expected and meaningless.
        unsafe {
            libc::syscall(
                libc::SYS_rt_sigaction,
                signal,
                default.as_ptr(),
                nowhere,
                SIGNAL_SET_SIZE,
            )
        };
    }
}

/// What a shell or nohup may have left for a program in the background, as a program of its own has
/// it: the default for the signals that end or stop, nothing blocked. SIGPIPE is the runtime's.
pub(crate) fn hear_signals_again() -> Result<(), Errno> {
    let heard = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGCHLD];
    let stopping = [libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];
    for signal in heard.into_iter().chain(stopping) {
        // SAFETY: installs only the default action, which runs no code.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    set_mask(libc::sigemptyset)
}

/// If this program was started with SIGCHLD ignored, as a parent may leave it, makes it the default again.
pub(crate) fn hear_of_children() {
    // SAFETY: asks for the current action, and installs only the default one, which runs no code.
    unsafe {
        let mut current: libc::sigaction = std::mem::zeroed();
        let asked = libc::sigaction(libc::SIGCHLD, ptr::null(), &raw mut current);
        if asked == 0 && current.sa_sigaction == libc::SIG_IGN {
            libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        }
    }
}

/// A descriptor that becomes readable when a child changes state. SIGCHLD must be blocked.
pub(crate) fn child_events() -> Result<OwnedFd, Errno> {
    // SAFETY: the set is initialised before use; on success the descriptor is new and ours alone.
    unsafe {
        let mut set = std::mem::zeroed();
        check(libc::sigemptyset(&raw mut set))?;
        check(libc::sigaddset(&raw mut set, libc::SIGCHLD))?;
        let descriptor = libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        check(descriptor)?;
        Ok(OwnedFd::from_raw_fd(descriptor))
    }
}

/// Closes every descriptor from 3 on. Only for the first moments of an init, which owns none of them.
pub(crate) fn close_inherited() -> Result<(), Errno> {
    // SAFETY: nothing in this process owns a descriptor above 2 yet.
    let result = unsafe { libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, 0_u32) };
    if result == -1 { Err(last()) } else { Ok(()) }
}

/// Marks every descriptor from 3 on to be closed on exec.
pub(crate) fn seal_descriptors() -> Result<(), Errno> {
    let flag = libc::CLOSE_RANGE_CLOEXEC;
    // SAFETY: only a flag of this process's own descriptors changes.
    let result = unsafe { libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, flag) };
    if result == -1 { Err(last()) } else { Ok(()) }
}

/// Takes ownership of standard input, output or error as a control descriptor would be handed over.
pub(crate) fn take_standard_input() -> Result<OwnedFd, Errno> {
    // SAFETY: F_DUPFD_CLOEXEC makes a new descriptor, which is ours alone.
    unsafe {
        let descriptor = libc::fcntl(0, libc::F_DUPFD_CLOEXEC, 3);
        check(descriptor)?;
        Ok(OwnedFd::from_raw_fd(descriptor))
    }
}

/// Sends SIGKILL to everything that this process may signal. As pid 1 of a pid namespace that is
/// exactly the rest of the namespace.
pub(crate) fn kill_namespace() {
    debug_assert_eq!(rustix::process::getpid().as_raw_nonzero().get(), 1);
    if rustix::process::getpid() == Pid::INIT {
        // SAFETY: `kill` takes no pointer. Guarded above: outside a namespace of our own this never runs.
        unsafe { libc::kill(-1, libc::SIGKILL) };
    }
}

/// Clock ticks in a second, the unit of times in `/proc`.
pub(crate) fn ticks_per_second() -> u64 {
    // SAFETY: `sysconf` takes no pointer.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    u64::try_from(ticks).ok().filter(|ticks| *ticks > 0).unwrap_or(100)
}
