//! Progress for people: only where standard error is a terminal, and nothing foreign raw in it.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use dcli_core::executor::rule::FactKind;
use dcli_testkit::agent::Step;
use dcli_testkit::hang::{HANG_LIMIT, wait_until};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::json;

use crate::common::{Dialect, Stage, fake_agent};

/// A terminal of 120 columns, and everything that was written to it.
struct Terminal {
    end: File,
    written: Arc<Mutex<Vec<u8>>>,
}

impl Terminal {
    fn new() -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let end = File::options().read(true).write(true).open(name).unwrap();
        let size = Winsize { ws_row: 40, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&end, size).unwrap();
        let written = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&written);
        std::thread::spawn(move || keep(master, &kept));
        Self { end, written }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.written.lock().unwrap()).into_owned()
    }

    fn wait(&self, text: &str) {
        wait_until(text, HANG_LIMIT, || self.text().contains(text))
            .unwrap_or_else(|hang| panic!("{hang}: {:?}", self.text()));
    }
}

fn keep(master: OwnedFd, kept: &Mutex<Vec<u8>>) {
    let mut master = File::from(master);
    let mut chunk = [0; 4096];
    while let Ok(count @ 1..) = master.read(&mut chunk) {
        kept.lock().unwrap().extend_from_slice(&chunk[..count]);
    }
}

#[test]
fn progress_says_what_the_agent_does_and_lets_nothing_foreign_through() {
    let codex = Dialect::of("codex");
    let stage = Stage::new([]);
    let hostile = "rm \u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{202e} -rf";
    let fields = [("call_id", json!("c")), ("summary", json!(hostile))];
    let call = codex.fact(FactKind::ToolInvoked, &fields).unwrap();
    let go = |name: &str| Step::WaitFile(stage.path(name));
    let usage = codex.usage(5).unwrap();
    let steps =
        [codex.tale([call]).told(), go("tmp/one"), codex.tale([usage]).told(), go("tmp/two")];
    stage.play(steps.into_iter().chain([codex.ok("Done.").told()]));
    let terminal = Terminal::new();
    let stderr = terminal.end.try_clone().unwrap();
    let exec = stage.exec("codex").env("TERM", "xterm").stderr(stderr).words("Do it.");
    let running = exec.start();
    terminal.wait("command_execution: rm ");
    stage.room.file("tmp/one", "").unwrap();
    terminal.wait("1.5k tokens");
    stage.room.file("tmp/two", "").unwrap();
    running.finish().envelope().ok("Done.");
    let text = terminal.text();
    assert!(text.contains("codex") && text.contains("owned"), "{text:?}");
    for foreign in ["\u{1b}]", "\u{7}", "\u{1b}[2J", "\u{9b}", "\u{202e}"] {
        assert!(!text.contains(foreign), "{foreign:?} got through: {text:?}");
    }
}

#[test]
fn the_agent_has_no_terminal_although_dcli_has_one() {
    let stage = Stage::new([Dialect::of("claude").ok("Done.").told()]);
    // script(1) makes a terminal the controlling one, for input, output and errors.
    let agent = fake_agent();
    let line = format!(
        "exec {} exec --backend claude --command {} -- Do it.",
        env!("CARGO_BIN_EXE_dcli"),
        agent.display(),
    );
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
    script.env("FAKE_AGENT_SCRIPT", stage.path("script.json")).env("HOME", stage.room.home());
    script.env("DCLI_STATE_ROOT", stage.room.state()).env("TMPDIR", stage.room.tmp());
    script.current_dir(stage.room.work()).stdin(Stdio::null()).process_group(0);
    let output = script.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("\"status\":\"ok\""), "{output:?}");
    let seen = stage.seen();
    assert!(!seen.has_terminal, "{seen:?}");
    let terminals = seen.fds.iter().filter(|fd| fd.target.starts_with("/dev/pts"));
    assert_eq!(terminals.count(), 0, "{:?}", seen.fds);
}

#[test]
fn a_table_is_coloured_on_a_terminal_only_and_not_where_somebody_refuses() {
    let stage = Stage::new([]);
    let shown = |variables: &[(&str, &str)]| {
        let terminal = Terminal::new();
        let mut dcli = stage.dcli().arg("schema").env("TERM", "xterm");
        for (name, value) in variables {
            dcli = dcli.env(name, value);
        }
        assert_eq!(dcli.stdout(terminal.end.try_clone().unwrap()).run().code(), 0);
        terminal.wait("dcli schema --json");
        terminal.text()
    };
    assert!(shown(&[]).contains("\u{1b}[2mNAME\u{1b}[0m"));
    assert!(shown(&[("NO_COLOR", "")]).contains('\u{1b}'));
    assert!(!shown(&[("NO_COLOR", "1")]).contains('\u{1b}'));
    assert!(!shown(&[("TERM", "dumb")]).contains('\u{1b}'));
    assert!(!stage.dcli().arg("schema").env("TERM", "xterm").run().text().contains('\u{1b}'));
}
