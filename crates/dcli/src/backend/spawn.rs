//! The seam through which every child is started, so that a host or a test can supply its own.

use dcli_contain::{
    Aftermath, Contained, Entry, Exit, Identity, Kind, Launch, Lost, SignalError, StartError,
    Support, Tree,
};

/// Starts children.
///
/// Whoever implements it keeps three promises: the child's environment is exactly `launch.env`, no
/// shell is put in between, and after [`Running::end`] no child is left unsettled and alive.
pub trait Spawn: Send + Sync {
    /// The rungs of containment there are, and why the others are missing.
    fn support(&self) -> Support;

    /// Whether there is this one: cheaper than all of them.
    fn has(&self, kind: Kind) -> bool {
        self.support().reason(kind).is_none()
    }

    /// Starts a child.
    ///
    /// # Errors
    /// [`StartError`]; nothing is left running.
    fn start(&self, launch: Launch) -> Result<Box<dyn Running>, StartError>;
}

/// A child that was started, with its tree.
pub trait Running: Send + Sync {
    /// How its tree is held.
    fn kind(&self) -> Kind;
    /// Its leader.
    fn leader(&self) -> Identity;
    /// Blocks until the leader has ended; the rest of the tree is not touched.
    ///
    /// # Errors
    /// The process that contains the tree is gone.
    fn wait_leader(&self) -> Result<Exit, Lost>;
    /// SIGINT to the leader alone.
    ///
    /// # Errors
    /// It has ended already.
    fn interrupt(&self) -> Result<(), SignalError>;
    /// Ends whatever is left of the tree and verifies that nothing is. Idempotent, bounded.
    fn end(&self) -> Aftermath;
    /// The tree as it is now.
    fn tree(&self) -> Tree;
}

/// Children contained by this machine's kernel.
#[derive(Debug, Clone)]
pub struct ContainedSpawn {
    entry: Entry,
}

impl ContainedSpawn {
    /// Contained starts through `entry`.
    #[must_use]
    pub fn new(entry: Entry) -> Self {
        Self { entry }
    }
}

impl Spawn for ContainedSpawn {
    fn support(&self) -> Support {
        dcli_contain::probe(&self.entry)
    }

    fn has(&self, kind: Kind) -> bool {
        dcli_contain::probe_kind(&self.entry, kind).is_ok()
    }

    fn start(&self, launch: Launch) -> Result<Box<dyn Running>, StartError> {
        dcli_contain::start(&self.entry, launch).map(|run| Box::new(run) as Box<dyn Running>)
    }
}

impl Running for Contained {
    fn kind(&self) -> Kind {
        self.kind()
    }

    fn leader(&self) -> Identity {
        self.leader()
    }

    fn wait_leader(&self) -> Result<Exit, Lost> {
        self.wait_leader()
    }

    fn interrupt(&self) -> Result<(), SignalError> {
        self.interrupt()
    }

    fn end(&self) -> Aftermath {
        self.end()
    }

    fn tree(&self) -> Tree {
        self.tree()
    }
}

/// Programs without a dcli executable, for tests of what is above.
#[cfg(test)]
pub(crate) mod bare {
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command, Stdio};

    use dcli_contain::Input;
    use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

    use super::*;

    /// Starts programs in a process group of their own, without a dcli executable.
    pub(crate) struct Bare;

    struct BareRun(Child, Identity);

    impl BareRun {
        fn pid(&self) -> Pid {
            Pid::from_raw(self.1.pid).unwrap()
        }
    }

    impl Drop for BareRun {
        /// It is reaped only now: up to here its pid is its own.
        fn drop(&mut self) {
            self.end();
            self.0.wait().unwrap();
        }
    }

    impl Spawn for Bare {
        fn support(&self) -> Support {
            Support { rungs: Vec::new() }
        }

        fn start(&self, launch: Launch) -> Result<Box<dyn Running>, StartError> {
            let mut command = Command::new(launch.program);
            command.args(launch.args).env_clear().envs(launch.env).current_dir(launch.cwd);
            command.stdout(launch.stdout).stderr(launch.stderr).process_group(0);
            match launch.stdin {
                Input::Descriptor(prompt) => command.stdin(prompt),
                _ => command.stdin(Stdio::null()),
            };
            let child = command.spawn().unwrap();
            let leader = Identity::of(child.id().try_into().unwrap()).unwrap();
            Ok(Box::new(BareRun(child, leader)))
        }
    }

    impl Running for BareRun {
        fn kind(&self) -> Kind {
            Kind::ProcessGroup
        }

        fn leader(&self) -> Identity {
            self.1.clone()
        }

        fn wait_leader(&self) -> Result<Exit, Lost> {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            let wait = || waitid(WaitId::Pid(self.pid()), options);
            let mut waits = std::iter::repeat_with(wait);
            let ended = waits.find_map(|waited| waited.ok().flatten());
            let code = ended.and_then(|status| status.exit_status());
            Ok(code.map_or(Exit::by_signal(9), Exit::with_code))
        }

        fn interrupt(&self) -> Result<(), SignalError> {
            Ok(())
        }

        fn end(&self) -> Aftermath {
            // One that has ended is still there to be killed, and nothing comes of it.
            let _ = kill_process_group(self.pid(), Signal::KILL);
            let leader = self.wait_leader().ok();
            Aftermath { left_behind: 0, survivors: Some(Vec::new()), leader }
        }

        fn tree(&self) -> Tree {
            Tree::default()
        }
    }
}
