//! Several opencode servers at once: each job has its own port and password, and none hears of
//! another.

#![expect(clippy::unwrap_used, reason = "a fixture that fails ends its test")]

use std::collections::BTreeSet;
use std::net::TcpListener;

use dcli_testkit::clis::CliId;
use dcli_testkit::hang::{HANG_LIMIT, wait_for};
use dcli_testkit::model::{Scenario, Turn};
use serde_json::Value;

use super::case::Case;
use super::pool::{self, Cell};
use super::said::{ended, open_interaction, over, respond, submit};
use super::scene::Scene;

/// The port that opencode 1.18.33 takes where it is free.
const PREFERRED: u16 = 4096;

#[test]
fn two_and_ten_servers_at_once_do_not_hear_of_each_other() {
    // A server of another suite may have it for as long as its job lasts.
    let taken = || TcpListener::bind(("127.0.0.1", PREFERRED)).ok();
    let _stranger = wait_for("the port that they all prefer", 10 * HANG_LIMIT, taken).unwrap();
    let cases = Case::all().into_iter().filter(|case| case.id() == CliId::Opencode);
    let cells = cases.filter(|case| case.uid != 0).flat_map(|case| {
        [2, 10].map(|count| {
            let look = move |case: &Case| at_once(case, count);
            let cell = Cell::new(&format!("{count} servers"), &case, look);
            Cell { is_crowd: true, ..cell }
        })
    });
    pool::run("servers at once", &cells.collect::<Vec<_>>());
}

/// A stranger sits on the port that each of them would like to have; see above.
fn at_once(case: &Case, count: usize) {
    let scenes: Vec<Scene> = (0..count).map(|number| scene(case, number)).collect();
    let asked =
        ["--attended=280", "--ask", "bash", "--isolated-state", "--startup-timeout-sec", "280"];
    let ids: Vec<String> = scenes.iter().map(|scene| submit(scene, "workspace", &asked)).collect();
    // All of them wait at the same time.
    let open: Vec<Value> =
        scenes.iter().zip(&ids).map(|(scene, id)| open_interaction(scene, id)).collect();
    let urls: BTreeSet<String> =
        scenes.iter().zip(&ids).map(|(scene, id)| url_of(scene, id)).collect();
    assert_eq!(urls.len(), count, "{urls:?}");
    assert!(!urls.iter().any(|url| url.ends_with(&format!(":{PREFERRED}"))), "{urls:?}");
    let passwords: BTreeSet<Vec<u8>> = scenes.iter().map(password_of).collect();
    assert_eq!(passwords.len(), count);
    for (number, ((scene, id), asked)) in scenes.iter().zip(&ids).zip(&open).enumerate() {
        let words = if number % 2 == 0 { &["allow"][..] } else { &["deny", "--message", "no"] };
        let said = respond(scene, id, asked, words);
        assert_eq!(said.code, Some(0), "{said:#?}");
    }
    for (number, (scene, id)) in scenes.iter().zip(&ids).enumerate() {
        let status = ended(scene, id);
        assert_eq!(status["state"], "done", "{status:#}");
        assert_eq!(over(scene, &["read", id]).out, format!("answer {number}"));
        let there = (0..count).map(|other| scene.in_work(&format!("file-{other}")).exists());
        let there: Vec<usize> = there.enumerate().filter(|(_, is)| *is).map(|(n, _)| n).collect();
        let wanted = if number % 2 == 0 { vec![number] } else { vec![] };
        assert_eq!(there, wanted, "job {number}");
        assert_eq!(scene.server.requests().len(), 2, "job {number} asked its model twice");
        assert!(scene.marker.alive().is_empty());
    }
    let seen = format!("{count} ports, {count} passwords, each answer with its own job");
    case.keep("18", &format!("servers-{count}"), "normal", seen);
}

fn scene(case: &Case, number: usize) -> Scene {
    let turns =
        [Turn::shell(&format!("touch file-{number}")), Turn::text(&format!("answer {number}"))];
    Scene::new(case, Scenario::of(turns))
}

/// Where the job's server is, as its record says.
fn url_of(scene: &Scene, id: &str) -> String {
    let path = scene.room.state().join("servers").join(format!("{id}.json"));
    let text = wait_for("the server's record", HANG_LIMIT, || std::fs::read(&path).ok()).unwrap();
    let record: Value = serde_json::from_slice(&text).unwrap();
    record["url"].as_str().unwrap().to_owned()
}

/// What the job's server was given, read where only its owner may.
fn password_of(scene: &Scene) -> Vec<u8> {
    let server = scene.marker.alive().into_iter().find_map(|found| {
        let environ = std::fs::read(format!("/proc/{}/environ", found.pid)).ok()?;
        let mut pairs = environ.split(|byte| *byte == 0);
        pairs.find(|pair| pair.starts_with(b"OPENCODE_SERVER_PASSWORD=")).map(<[u8]>::to_vec)
    });
    server.unwrap()
}
