//! What each backend can do, as its record, its version and this host say.

use std::collections::BTreeSet;
use std::path::Path;

use dcli_testkit::clis::CliId;

use super::scene::{EACH, Seen, everybody};

#[test]
fn every_backend_says_what_its_record_and_this_machine_give() {
    everybody(&EACH, |scene| {
        let all = Seen::of(scene.dcli(&["capabilities", "--json"]));
        assert_eq!(all.code, Some(0), "{all:#?}");
        for id in EACH {
            let of_all = all.backend(id.backend());
            assert_eq!(of_all["version"]["found"], id.version(), "{of_all}");
            assert_eq!(of_all["version"]["standing"], "tested", "{of_all}");
            assert_eq!(of_all["verified"], true, "{of_all}");
            assert_eq!(of_all["problem"], serde_json::Value::Null);
            let rungs = of_all["containment"].as_array().unwrap();
            assert!(rungs.iter().all(|rung| rung["available"] == true), "{of_all}");
            let alone = scene.dcli(&["--backend", id.backend(), "capabilities", "--json"]);
            assert_eq!(Seen::of(alone).report, *of_all, "one is as in the list");
        }
        let codex = all.backend("codex");
        assert_eq!(codex["access"]["read-only"]["enforcement"]["kind"], "backend");
        assert_eq!(codex["access"]["read-only"]["network"], "blocked");
        assert_eq!(codex["access"]["unconfined"]["network"], "open");
        assert_eq!(codex["options"][0]["name"], "effort");
        assert_eq!(codex["cancel"], serde_json::json!(["interrupt", "hard_kill"]));
        let opencode = all.backend("opencode");
        assert_eq!(opencode["options"][0]["values"], serde_json::Value::Null, "any token");
    });
}

#[test]
fn a_missing_program_and_a_missing_rung_show() {
    everybody(&[], |scene| {
        let script = "echo 0 > /proc/sys/user/max_pid_namespaces";
        let seen =
            Seen::of(scene.dcli_after(script, &["--backend", "codex", "capabilities", "--json"]));
        assert_eq!(seen.code, Some(0), "{seen:#?}");
        assert_eq!(seen.report["program"], serde_json::Value::Null);
        assert!(seen.report["problem"].as_str().unwrap().contains("codex"), "{seen:#?}");
        assert_eq!(seen.report["version"]["standing"], "unknown");
        let rung = &seen.report["containment"][0];
        assert_eq!((&rung["kind"], &rung["available"]), (&"pid-namespace".into(), &false.into()));
        assert!(rung["reason"].as_str().unwrap().contains("unshare"), "{rung}");
    });
}

#[test]
fn people_get_lines_without_escapes() {
    everybody(&[], |scene| {
        for verb in [&["capabilities"][..], &["doctor", "--live-smoke-timeout-sec", "0"]] {
            let output = scene.dcli(verb).output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            assert!(text.lines().count() > 20, "{text}");
            assert!(!text.contains('\u{1b}'), "{text}");
            assert_eq!(output.stderr, b"", "{verb:?}");
        }
    });
}

#[test]
fn every_answer_is_held_to_its_schema_wherever_it_is_changed() {
    everybody(&[CliId::Codex], |scene| {
        let static_doctor = ["doctor", "--json", "--live-smoke-timeout-sec", "0"];
        for verb in [&static_doctor[..], &["capabilities", "--json"]] {
            Seen::of(scene.dcli(verb)).assert_every_change_is_noticed();
            let alone = [&["--backend", "codex"], verb].concat();
            Seen::of(scene.dcli(&alone)).assert_every_change_is_noticed();
        }
    });
}

#[test]
fn the_page_names_every_check() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/doctor.md");
    let page = std::fs::read_to_string(page).unwrap();
    let cells = page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let named: BTreeSet<String> = cells.map(str::to_owned).collect();
    everybody(&[CliId::Codex], |scene| {
        let seen = scene.doctor(&[]).statuses();
        let ids: BTreeSet<String> =
            seen.keys().map(|name| name.rsplit('/').next().unwrap().to_owned()).collect();
        let unseen: Vec<&String> = named.difference(&ids).collect();
        // Only there for a record that was never run, and for claude as root.
        assert_eq!(unseen, ["record", "root"]);
        assert_eq!(ids.difference(&named).count(), 0, "{ids:?}");
    });
}
