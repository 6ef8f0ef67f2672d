//! Linux: the re-executed init in its roles, and the controller's side of each.

mod apart;
mod channel;
mod descriptors;
mod direct;
mod guardian;
mod hunt;
mod init;
mod leader;
mod mark;
mod namespace;
mod proc;
mod process;
mod relayed;
mod role;
mod signals;
mod spawn;
mod target;
mod vigil;
mod wire;

use crate::contained::Contained;
use crate::entry::Entry;
use crate::error::StartError;
use crate::kind::Kind;
use crate::launch::{Input, Launch};

use role::Role;

pub(crate) use apart::{detached_args, start_detached};
pub(crate) use proc::{boot_id, pid_namespace, start_time};
pub(crate) use role::play_if_named as play_role;

/// Starts `launch`, in the kind it names.
pub(crate) fn start(entry: &Entry, launch: Launch) -> Result<Contained, StartError> {
    let kind = launch.kind;
    match in_effect(kind) {
        Kind::PidNamespace | Kind::Guardian => relayed::start(entry, launch),
        Kind::ProcessGroup => direct::start(entry, launch, direct::Reach::Group),
        Kind::None if kind == Kind::None => direct::start(entry, launch, direct::Reach::Leader),
        Kind::None => direct::start(entry, launch, direct::Reach::LeaderPretending),
        Kind::JobObject | Kind::TaskkillTree => {
            Err(StartError::Unsupported { kind, reason: "only on Windows".to_owned() })
        }
    }
}

/// The kind that really holds the tree. With `DCLI_TEST_UNCONTAINED=1` in a build with debug
/// assertions nothing does: tests use this to show that they would notice. Release builds never read it.
fn in_effect(kind: Kind) -> Kind {
    let disabled = cfg!(debug_assertions)
        && std::env::var_os("DCLI_TEST_UNCONTAINED").is_some_and(|value| value == "1");
    if disabled { Kind::None } else { kind }
}

/// A start of a child that does nothing: this program again, in the role that leaves at once.
pub(crate) fn trivial(kind: Kind) -> Result<Launch, String> {
    if matches!(kind, Kind::JobObject | Kind::TaskkillTree) {
        return Err("only on Windows".to_owned());
    }
    let null = || {
        let file = std::fs::OpenOptions::new().write(true).open("/dev/null");
        file.map_err(|error| format!("cannot open the null device: {error}"))
    };
    Ok(Launch {
        program: "/proc/self/exe".into(),
        args: vec![Role::Nothing.name().into()],
        arg0: Some(role::NAME.into()),
        env: Vec::new(),
        cwd: "/".into(),
        stdin: Input::Null,
        stdout: null()?.into(),
        stderr: null()?.into(),
        kind,
    })
}
