//! A start that cannot be: the error says which part of it, and nothing is left.

use std::os::unix::fs::PermissionsExt;

use crate::stage::{Host, KINDS, everywhere};

#[test]
fn a_program_that_cannot_be_executed_is_named_with_its_errno() {
    everywhere(&KINDS, |stage, kind| {
        std::fs::write(stage.path("text"), "not a program").unwrap();
        std::fs::write(stage.path("garbage"), "\u{1}\u{2}\u{3}").unwrap();
        std::fs::set_permissions(stage.path("garbage"), PermissionsExt::from_mode(0o755)).unwrap();
        for (name, errno) in [("missing", 2), ("text", 13), ("garbage", 8)] {
            let program = stage.path(name);
            let mut host = stage.host(kind, &[program.to_str().unwrap()]);
            let answer = host.ask("start");
            let expected = format!("failed program: cannot execute {}: ", program.display());
            assert!(answer.starts_with(&expected), "{kind}: {answer}");
            assert!(answer.ends_with(&format!("(os error {errno})")), "{kind}: {answer}");
            assert_eq!(host.spawned(), [], "{kind}: nothing is left");
        }
    });
}

#[test]
fn a_directory_that_cannot_be_entered_is_named_with_its_errno() {
    everywhere(&KINDS, |stage, kind| {
        std::fs::write(stage.path("file"), "").unwrap();
        for (name, errno) in [("missing", 2), ("file", 20)] {
            let mut command = stage.host_command(kind, "null", &["/bin/sh", "-c", "echo ran"]);
            command.env("CONTAIN_CWD", stage.path(name));
            let answer = Host::spawn(command).ask("start");
            assert!(answer.starts_with("failed directory: cannot enter "), "{kind}: {answer}");
            assert!(answer.ends_with(&format!("(os error {errno})")), "{kind}: {answer}");
        }
        assert_eq!(stage.output(), "", "{kind}");
    });
}

#[test]
fn kinds_of_another_platform_are_unsupported() {
    everywhere(&["none"], |stage, _| {
        for kind in ["job-object", "taskkill-tree"] {
            let answer = stage.host(kind, &["/bin/true"]).ask("start");
            assert_eq!(
                answer,
                format!("failed unsupported: containment {kind} is not available: only on Windows")
            );
        }
    });
}

#[test]
fn a_host_without_namespaces_says_why_and_still_guards() {
    // With the namespace limit at zero inside a user namespace the kernel refuses the next one.
    everywhere(&["pid-namespace"], |stage, _| {
        let mut plain = stage.host_command("pid-namespace", "null", &["/bin/true"]);
        let host = plain.get_program().to_owned();
        let args: Vec<_> = plain.get_args().map(ToOwned::to_owned).collect();
        plain = stage.command("/usr/bin/unshare".as_ref());
        let limit = "echo 0 > /proc/sys/user/max_pid_namespaces; exec \"$0\" \"$@\"";
        plain.args(["--user", "--map-root-user", "/bin/sh", "-c", limit]).arg(host).args(args);
        let mut host = Host::spawn(plain);
        let support = host.ask("probe");
        assert!(support.contains("pid-namespace=no: unshare: "), "{support}");
        assert!(support.contains(";guardian=yes;"), "{support}");
        let answer = host.ask("start");
        assert!(
            answer.starts_with(
                "failed unsupported: containment pid-namespace is not available: unshare: "
            ),
            "{answer}"
        );
    });
}
