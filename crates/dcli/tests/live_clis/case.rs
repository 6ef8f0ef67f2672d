//! One real CLI and one user: every suite here goes over all of them.

#![expect(clippy::unwrap_used, reason = "a fixture that fails ends its test")]

use dcli_testkit::clis::{Cli, CliId};
use dcli_testkit::evidence::Row;
use dcli_testkit::process::{ORDINARY_USER, as_user};
use dcli_testkit::room::Room;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Command;

/// Makes a CLI that is not installed a failure, and not a skip.
const REQUIRE_ALL: &str = "DCLI_REQUIRE_ALL";

/// A CLI, and who runs it.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) cli: Cli,
    pub(crate) uid: u32,
}

impl Case {
    /// All installed CLIs, each as root, where the test is root, and as an ordinary user.
    pub(crate) fn all() -> Vec<Self> {
        let own = rustix::process::getuid().as_raw();
        let users = if own == 0 { vec![0, ORDINARY_USER] } else { vec![own] };
        let clis: Vec<Cli> = CliId::ALL.into_iter().filter_map(found).collect();
        let programs = clis.iter().map(|cli| cli.program.as_path());
        for program in programs.chain([Path::new(env!("CARGO_BIN_EXE_dcli"))]) {
            assert_in_reach(program, &users);
        }
        clis.into_iter()
            .flat_map(|cli| users.iter().map(move |&uid| Self { cli: cli.clone(), uid }))
            .collect()
    }

    pub(crate) fn id(&self) -> CliId {
        self.cli.id
    }

    /// The name of the case in messages.
    pub(crate) fn title(&self) -> String {
        format!("{} as {}", self.cli.id.name(), self.uid)
    }

    /// A room of its user.
    pub(crate) fn room(&self) -> Room {
        self.other_user().map_or_else(Room::new, Room::of_user).unwrap()
    }

    /// Makes a command run as its user.
    pub(crate) fn dress(&self, command: &mut Command) {
        if let Some(uid) = self.other_user() {
            as_user(uid, command);
        }
    }

    /// Keeps what a check saw.
    pub(crate) fn keep(&self, line: &str, check: &str, ending: &str, observed: String) {
        self.row(line, check, ending, observed).keep().unwrap();
    }

    /// The row of a check, not kept yet.
    pub(crate) fn row(&self, line: &str, check: &str, ending: &str, observed: String) -> Row {
        Row {
            cli: Some(self.cli.id.name().to_owned()),
            uid: Some(self.uid),
            ending: Some(ending.to_owned()),
            observed,
            ..Row::of(line, check)
        }
    }

    fn other_user(&self) -> Option<u32> {
        (self.uid != rustix::process::getuid().as_raw()).then_some(self.uid)
    }
}

/// An ordinary user must be able to go through every directory above a program.
fn assert_in_reach(program: &Path, users: &[u32]) {
    let real = program.canonicalize().unwrap();
    let is_open = |directory: &&Path| directory.metadata().unwrap().mode() & 0o001 != 0;
    let closed = real.ancestors().skip(1).find(|directory| !is_open(directory));
    assert!(
        users.len() == 1 || closed.is_none(),
        "{} is out of an ordinary user's reach: {closed:?} is closed; see DCLI_CLIS and \
         CARGO_TARGET_DIR",
        real.display()
    );
}

fn found(id: CliId) -> Option<Cli> {
    if std::env::var_os(REQUIRE_ALL).is_some() {
        return Some(Cli::find(id).unwrap());
    }
    Cli::find_or_skip(id).unwrap()
}
