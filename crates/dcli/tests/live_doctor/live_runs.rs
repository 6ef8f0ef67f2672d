//! The live run of each real CLI: it answers, it is refused, it falls silent.

use std::process::Command;

use dcli_testkit::clis::{Cli, CliId, MODEL, Retries};
use dcli_testkit::hang::HANG_LIMIT;
use dcli_testkit::model::{Scenario, Server, Stall, Turn};
use dcli_testkit::process::{Marker, ORDINARY_USER};
use serde_json::json;

use super::scene::{EACH, Scene, Seen};

/// A scene for `cli` whose model does as `scenario` says, by the CLI's own settings alone.
fn scene(cli: &Cli, scenario: Scenario) -> (Scene, Server) {
    let is_root = rustix::process::geteuid().is_root();
    // As somebody ordinary: claude as root asks for a variable with some of its arguments.
    let scene = Scene::of(is_root.then_some(ORDINARY_USER), cli);
    let server = Server::start(scenario).unwrap();
    let room = &scene.room;
    let mut env = cli.isolated_env(room, &server, Retries::None).unwrap();
    match cli.id {
        CliId::Codex => drop(room.file("home/.codex/config.toml", &codex(&server)).unwrap()),
        CliId::Qwen => {
            let settings = json!({
                "general": {"disableAutoUpdate": true},
                "privacy": {"usageStatisticsEnabled": false},
                "security": {"auth": {"selectedType": "openai"}},
            });
            room.file("home/.qwen/settings.json", &settings.to_string()).unwrap();
        }
        CliId::Gemini => env.push(("GEMINI_MODEL".to_owned(), MODEL.to_owned())),
        _ => {}
    }
    (scene.with_env(env), server)
}

fn codex(server: &Server) -> String {
    format!(
        "model = \"{MODEL}\"\nmodel_provider = \"stub\"\n[analytics]\nenabled = false\n\
         [model_providers.stub]\nname = \"stub\"\nbase_url = \"{}/v1\"\nwire_api = \"responses\"\n\
         env_key = \"STUB_KEY\"\nrequest_max_retries = 0\nstream_max_retries = 0\n",
        server.url()
    )
}

fn found() -> Vec<Cli> {
    EACH.into_iter().filter_map(|id| Cli::find_or_skip(id).unwrap()).collect()
}

fn doctor(scene: &Scene, cli: &Cli, limit: &str) -> Command {
    let backend = cli.id.backend();
    scene.dcli(&["--backend", backend, "doctor", "--json", "--live-smoke-timeout-sec", limit])
}

#[test]
fn a_backend_that_answers_is_fit() {
    for cli in found() {
        let (scene, server) = scene(&cli, Scenario::of([Turn::text("OK")]));
        let seen = Seen::of(doctor(&scene, &cli, "120"));
        let smoke = &seen.backend(cli.id.backend())["smoke"];
        assert_eq!(smoke["status"], "ok", "{seen:#?}");
        assert!(smoke["detail"].as_str().unwrap().contains("OK"), "{smoke}");
        assert!(smoke["duration_ms"].as_u64().unwrap() > 0, "{smoke}");
        assert!(smoke["tokens"].as_u64().unwrap() > 0, "{smoke}");
        assert!(seen.is_fit());
        assert!(!server.main_requests().is_empty(), "the model was asked");
        let left = std::fs::read_dir(scene.room.tmp()).unwrap();
        let scratch = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let scratch: Vec<String> = scratch.filter(|name| name.starts_with("dcli-")).collect();
        assert_eq!(scratch, [""; 0], "the scratch directory is gone");
    }
}

#[test]
fn a_refused_key_is_a_failed_live_run_with_its_class_and_what_helps() {
    for cli in found() {
        let (scene, _server) = scene(&cli, Scenario::of([Turn::status(401)]));
        let seen = Seen::of(doctor(&scene, &cli, "120"));
        let smoke = &seen.backend(cli.id.backend())["smoke"];
        assert_eq!(
            (&smoke["status"], &smoke["class"]),
            (&"failed".into(), &"auth".into()),
            "{seen:#?}"
        );
        assert!(smoke["remedy"].as_str().unwrap().starts_with("log in with "), "{smoke}");
        assert!(!seen.is_fit());
        assert_eq!(seen.check("", "backends")["status"], "failed", "no other was looked at");
    }
}

#[test]
fn a_silent_model_costs_no_more_than_the_limit_and_leaves_nothing_behind() {
    for cli in found().into_iter().filter(|cli| matches!(cli.id, CliId::Codex | CliId::Claude332)) {
        let (scene, _server) = scene(&cli, Scenario::of([Turn::stalled(Stall::Mid)]));
        let marker = Marker::new();
        let mut command = doctor(&scene, &cli, "6");
        marker.plant(&mut command);
        let seen = Seen::of(command);
        let smoke = &seen.backend(cli.id.backend())["smoke"];
        assert_eq!(
            (&smoke["status"], &smoke["class"]),
            (&"failed".into(), &"timeout".into()),
            "{seen:#?}"
        );
        assert!(smoke["remedy"].as_str().unwrap().contains("--live-smoke-timeout-sec"), "{smoke}");
        marker.wait_gone(HANG_LIMIT).unwrap();
    }
}
