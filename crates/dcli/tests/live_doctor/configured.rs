//! Files that cannot be used, and what the project forbids.

use super::scene::{Scene, Seen, TWO, everybody, just};

fn after(scene: &Scene, path: &str, text: &str) -> Seen {
    scene.room.file(path, text).unwrap();
    scene.doctor(&[])
}

#[test]
fn each_broken_file_is_one_failed_check_that_names_it() {
    let files = [
        ("home/.config/dcli/config.toml", "no_such_key = 1", "configuration"),
        ("home/.config/dcli/executors/x.toml", "id = 1", "records"),
        ("work/.dcli/policy.json", "{\"delegation\": {\"no_such_key\": 1}}", "policy"),
    ];
    everybody(&TWO, |scene| {
        for (path, text, check) in files {
            let whole = scene.doctor(&[]);
            assert!(whole.is_fit(), "{whole:#?}");
            let seen = after(scene, path, text);
            let expected = format!("{check}: ok → failed");
            assert_eq!(seen.changes(&whole), just(&[&expected]), "{seen:#?}");
            assert!(!seen.is_fit());
            let detail = seen.check("", check)["detail"].as_str().unwrap();
            assert!(detail.contains(path.rsplit('/').next().unwrap()), "{detail}");
            std::fs::remove_file(scene.room.path().join(path)).unwrap();
        }
    });
}

#[test]
fn a_forbidden_backend_is_a_warning_until_it_is_chosen() {
    everybody(&TWO, |scene| {
        let whole = scene.doctor(&[]);
        let policy = r#"{"delegation": {"allowed_backends": ["codex"]}}"#;
        let seen = after(scene, "work/.dcli/policy.json", policy);
        let changes = seen.changes(&whole);
        assert!(changes.contains("claude/allowed: ok → warning"), "{changes:?}");
        assert!(!changes.iter().any(|change| change.starts_with("codex/")), "{changes:?}");
        assert!(seen.is_fit());
        let chosen = scene.doctor(&["--backend", "claude"]);
        assert_eq!(chosen.check("claude", "allowed")["status"], "failed");
        assert!(!chosen.is_fit());
    });
}

#[test]
fn a_version_out_of_range_fails_for_its_backend_alone_and_no_live_run_is_tried() {
    everybody(&TWO, |scene| {
        let whole = scene.doctor(&[]);
        scene.take("codex");
        scene.script("codex", "codex-cli 0.1.0");
        let seen = scene.doctor(&[]);
        // It is a script now, without the real executable behind it.
        let expected = just(&["codex/program: ok → warning", "codex/version: ok → failed"]);
        assert_eq!(seen.changes(&whole), expected, "{seen:#?}");
        assert!(seen.is_fit(), "nobody chose codex");
        let detail = seen.check("codex", "version")["detail"].as_str().unwrap();
        assert!(detail.contains("0.1.0") && detail.contains(">=0.160.0"), "{detail}");
        let chosen = ["--backend", "codex", "doctor", "--json", "--live-smoke-timeout-sec", "5"];
        let seen = Seen::of(scene.dcli(&chosen));
        assert_eq!(seen.backend("codex")["smoke"]["status"], "skipped", "{seen:#?}");
        assert!(!seen.is_fit());
    });
}

#[test]
fn an_unknown_backend_is_refused_with_those_that_there_are() {
    everybody(&TWO, |scene| {
        for verb in ["doctor", "capabilities"] {
            let seen = Seen::of(scene.dcli(&["--backend", "nobody", verb, "--json"]));
            assert_eq!(seen.code, Some(2), "{seen:#?}");
            assert_eq!(seen.report["error"]["exit_code"], 2);
            let message = seen.report["error"]["message"].as_str().unwrap();
            assert!(message.contains("claude, codex"), "{message}");
        }
    });
}
