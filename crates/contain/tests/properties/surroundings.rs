//! What a target finds around itself: its own session, three descriptors, fresh signals, its environment and nothing more.

use crate::stage::{Host, KINDS, everywhere};

#[test]
fn a_target_has_three_descriptors_and_none_of_its_controllers() {
    everywhere(&KINDS, |stage, kind| {
        // The shell's own look at its directory is the fourth.
        let mut command =
            stage.host_command(kind, "null", &["/bin/sh", "-c", "ls /proc/$$/fd; exit 0"]);
        command.env("UNRELATED", "1");
        let mut host = Host::spawn(command);
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
        let mut host = stage.shell(kind, script);
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
