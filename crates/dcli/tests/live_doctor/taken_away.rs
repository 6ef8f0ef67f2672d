//! Namespaces, `/proc`, git, each CLI, and a writable state root, taken away in turn.

use super::scene::{EACH, Scene, Seen, TWO, everybody, just};

/// Codex is chosen, claude is there too.
fn two(play: impl Fn(&Scene, &Seen)) {
    everybody(&TWO, |scene| {
        scene.configure("executor = \"codex\"\n");
        let whole = scene.doctor(&[]);
        assert!(whole.is_fit(), "{}: {whole:#?}", scene.title());
        assert_eq!(whole.check("codex", "sandbox")["status"], "ok");
        play(scene, &whole);
    });
}

#[test]
fn without_namespaces_the_best_rung_and_the_sandbox_of_codex_are_missing() {
    two(|scene, whole| {
        let seen = scene.doctor_after("echo 0 > /proc/sys/user/max_pid_namespaces");
        let expected =
            just(&["containment.pid-namespace: ok → warning", "codex/sandbox: ok → failed"]);
        assert_eq!(seen.changes(whole), expected, "{}: {seen:#?}", scene.title());
        assert!(!seen.is_fit(), "codex is chosen");
    });
}

#[test]
fn without_proc_nothing_can_be_started_and_the_report_says_why() {
    two(|scene, whole| {
        let seen = scene.doctor_without_proc();
        let mut expected = just(&[
            "proc: ok → failed",
            "containment.pid-namespace: ok → failed",
            "containment.guardian: ok → failed",
            "containment.process-group: ok → failed",
            "git: ok → skipped",
            "claude/version: ok → skipped",
            "codex/version: ok → skipped",
            "codex/sandbox: ok → skipped",
        ]);
        if scene.uid() != 0 {
            expected.insert("claude/root: absent → warning".to_owned());
        }
        assert_eq!(seen.changes(whole), expected, "{}: {seen:#?}", scene.title());
        assert!(!seen.is_fit());
    });
}

#[test]
fn without_git_only_git_is_missing_and_runs_still_work() {
    two(|scene, whole| {
        scene.take("git");
        let seen = scene.doctor(&[]);
        assert_eq!(seen.changes(whole), just(&["git: ok → warning"]), "{seen:#?}");
        assert!(seen.is_fit());
    });
}

#[test]
fn without_a_cli_only_its_backend_is_missing_unless_it_was_chosen() {
    everybody(&EACH, |scene| {
        let whole = scene.doctor(&[]);
        assert!(whole.is_fit(), "{whole:#?}");
        for id in EACH {
            let backend = id.backend();
            let program = std::fs::read_link(scene.bin(backend)).unwrap();
            scene.take(backend);
            let seen = scene.doctor(&[]);
            let mut changes = seen.changes(&whole);
            assert!(changes.remove(&format!("{backend}/program: ok → skipped")), "{seen:#?}");
            assert!(changes.remove(&format!("{backend}/version: ok → absent")), "{seen:#?}");
            let default = changes.remove("choice: ok → warning");
            assert_eq!(default, backend == "claude", "the default, which nobody chose: {seen:#?}");
            changes.retain(|change| !change.starts_with(&format!("{backend}/")));
            assert_eq!(changes, just(&[]), "{backend}: {seen:#?}");
            assert!(seen.is_fit(), "nobody chose {backend}");
            let hint = seen.check(backend, "program")["remedy"].as_str().unwrap();
            assert!(hint.contains("npm install"), "{hint}");

            let chosen = scene.doctor(&["--backend", backend]);
            assert!(!chosen.is_fit(), "{chosen:#?}");
            assert_eq!(chosen.check(backend, "program")["status"], "failed");
            assert_eq!(chosen.report["backends"].as_array().unwrap().len(), 1);
            scene.link(backend, &program);
        }
    });
}

#[test]
fn without_any_cli_no_backend_is_usable() {
    two(|scene, whole| {
        scene.take("codex");
        scene.take("claude");
        scene.configure("");
        let seen = scene.doctor(&[]);
        assert!(seen.changes(whole).contains("backends: ok → failed"), "{seen:#?}");
        assert!(!seen.is_fit());
    });
}

#[test]
fn without_a_writable_state_root_only_that_fails_with_its_name_and_the_way_out() {
    two(|scene, whole| {
        let root = scene.room.state();
        let shown = root.display();
        let script = format!(
            "/usr/bin/mount --bind {shown} {shown}\n/usr/bin/mount -o remount,bind,ro {shown}"
        );
        let seen = scene.doctor_after(&script);
        assert_eq!(
            seen.changes(whole),
            just(&["state_root: ok → failed"]),
            "{}: {seen:#?}",
            scene.title()
        );
        assert!(!seen.is_fit());
        let check = seen.check("", "state_root");
        assert!(check["detail"].as_str().unwrap().contains(&shown.to_string()), "{check}");
        assert!(check["remedy"].as_str().unwrap().contains("DCLI_STATE_ROOT"), "{check}");
    });
}

#[test]
fn a_state_root_that_others_can_write_fails_and_one_that_they_can_read_is_a_warning() {
    two(|scene, whole| {
        for (mode, status) in [(0o755, "warning"), (0o777, "failed"), (0o770, "failed")] {
            scene.mode(&scene.room.state(), mode);
            let seen = scene.doctor(&[]);
            let expected = format!("state_root: ok → {status}");
            assert_eq!(seen.changes(whole), just(&[&expected]), "{mode:o}: {seen:#?}");
            assert_eq!(seen.is_fit(), status == "warning");
        }
    });
}

#[test]
fn a_codex_home_below_the_temporary_directory_is_seen_by_its_sandbox_check() {
    two(|scene, whole| {
        let mut command = scene.dcli(&["doctor", "--json", "--live-smoke-timeout-sec", "0"]);
        command.env("TMPDIR", scene.room.path());
        // The version is known by now, and the room itself may belong to root.
        scene.mode(scene.room.path(), 0o777);
        let seen = Seen::of(command);
        assert_eq!(seen.changes(whole), just(&["codex/sandbox: ok → failed"]), "{seen:#?}");
        assert!(!seen.is_fit());
    });
}

#[test]
fn a_state_root_of_a_newer_format_is_named_with_both_formats() {
    two(|scene, whole| {
        scene.room.file("state/format.json", "{\"schema_version\": 1, \"format\": 99}").unwrap();
        let seen = scene.doctor(&[]);
        assert_eq!(seen.changes(whole), just(&["state_root: ok → failed"]), "{seen:#?}");
        let detail = seen.check("", "state_root")["detail"].as_str().unwrap();
        assert!(detail.contains("format 99"), "{detail}");
        assert!(!seen.is_fit());
    });
}
