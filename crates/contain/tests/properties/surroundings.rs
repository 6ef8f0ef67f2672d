//! What a target finds around itself: its own session, three descriptors, fresh signals, its environment and nothing more.
#![expect(clippy::unwrap_used, reason = "lints know tests by their attribute; all of this is test")]

use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::stage::{Host, KINDS, everywhere};

/// A pseudo-terminal that a host can have as its controlling one.
struct Terminal {
    _held: OwnedFd,
    name: CString,
}

impl Terminal {
    fn open() -> Self {
        let held = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&held).unwrap();
        unlockpt(&held).unwrap();
        let name = ptsname(&held, Vec::new()).unwrap();
        std::fs::set_permissions(name.to_str().unwrap(), PermissionsExt::from_mode(0o666)).unwrap();
        Self { _held: held, name }
    }

    fn control(&self, command: &mut Command) {
        let name = self.name.clone();
        let take = move || {
            rustix::process::setsid()?;
            // A session leader's first terminal becomes its controlling one.
            rustix::fs::open(name.as_c_str(), OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
            Ok(())
        };
        // SAFETY: system calls only; nothing is allocated.
        unsafe { command.pre_exec(take) };
    }
}

fn terminal_of(pid: i32) -> String {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields = stat.rsplit_once(") ").unwrap().1;
    fields.split(' ').nth(4).unwrap().to_owned()
}

#[test]
fn a_target_has_three_descriptors_and_none_of_its_controllers() {
    everywhere(&KINDS, |stage, kind| {
        let plain = stage.host_command(kind, "null", &["/bin/sh", "-c", "ls /proc/$$/fd; exit 0"]);
        // A host that itself inherited descriptors which stay open on exec.
        let mut command = stage.command("/bin/sh".as_ref());
        command.arg("-c").arg("exec 8< /dev/null 9> /dev/null; exec \"$0\" \"$@\"");
        command.arg(plain.get_program()).args(plain.get_args());
        let mut host = Host::spawn(command);
        let held = std::fs::read_dir(format!("/proc/{}/fd", host.pid())).unwrap();
        assert!(held.filter(|entry| entry.as_ref().unwrap().file_name() == "9").count() == 1);
        host.start();
        assert_eq!(host.ask("wait"), "code 0");
        assert_eq!(stage.output(), "0\n1\n2\n", "{kind}");
    });
}

#[test]
fn a_target_leads_a_session_without_a_terminal() {
    everywhere(&KINDS, |stage, kind| {
        let script = "read -r line < /proc/self/stat; set -- ${line##*) }; \
                      read -r own < /proc/$$/stat; set -- ${own##*) }; \
                      echo pid $$ group $3 session $4 terminal $5; (: < /dev/tty) 2>/dev/null || echo no tty";
        let terminal = Terminal::open();
        let mut command = stage.host_command(kind, "null", &["/bin/sh", "-c", script]);
        terminal.control(&mut command);
        let mut host = Host::spawn(command);
        assert_ne!(terminal_of(host.pid()), "0", "the host itself has a terminal");
        host.start();
        assert_eq!(host.ask("wait"), "code 0");
        let output = stage.output();
        let words: Vec<&str> = output.split_whitespace().collect();
        assert_eq!(words[1], words[3], "{kind}: leads its group: {output}");
        assert_eq!(words[1], words[5], "{kind}: leads its session: {output}");
        assert_eq!(words[7], "0", "{kind}: has no terminal: {output}");
        assert!(output.ends_with("no tty\n"), "{kind}: {output}");
    });
}

#[test]
fn a_target_starts_with_no_signal_blocked_or_ignored() {
    everywhere(&KINDS, |stage, kind| {
        let target = ["/bin/grep", "-E", "^Sig(Blk|Ign):", "/proc/self/status"];
        let mut nested = stage.host_command(kind, "null", &target);
        // A host started with ignored signals, as under nohup.
        let host = nested.get_program().to_owned();
        let args: Vec<_> = nested.get_args().map(ToOwned::to_owned).collect();
        nested = stage.command("/bin/sh".as_ref());
        nested
            .arg("-c")
            .arg("trap '' HUP INT QUIT TERM PIPE USR1; exec \"$0\" \"$@\"")
            .arg(host)
            .args(args);
        let mut host = Host::spawn(nested);
        host.start();
        assert_eq!(host.ask("wait"), "code 0");
        let none = "0000000000000000";
        assert_eq!(stage.output(), format!("SigBlk:\t{none}\nSigIgn:\t{none}\n"), "{kind}");
    });
}

#[test]
fn a_target_gets_its_environment_name_and_directory_exactly() {
    everywhere(&KINDS, |stage, kind| {
        let script = "tr '\\0' '\\n' < /proc/$$/environ | sed 's/=.*//'; pwd; \
                      head -zn1 /proc/$$/cmdline | tr -d '\\0'";
        let mut command = stage.host_command(kind, "null", &["/bin/sh", "-c", script]);
        command.env("CONTAIN_ARG0", "another-name").env("CONTAIN_CWD", stage.path("."));
        let mut host = Host::spawn(command);
        host.start();
        assert_eq!(host.ask("wait"), "code 0");
        let directory = stage.path("").canonicalize().unwrap();
        let mark = match kind {
            "guardian" | "process-group" => "DCLI_TREE\n",
            _ => "",
        };
        let expected = format!("PATH\nCONTAIN_TEST\n{mark}{}\nanother-name", directory.display());
        assert_eq!(stage.output(), expected, "{kind}");
    });
}
