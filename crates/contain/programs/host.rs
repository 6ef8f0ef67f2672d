//! A controller for the tests: offers the entry, starts what it is told and answers one line per command.
//!
//! `contain-host KIND STDIN PROGRAM [ARG…]`, where STDIN is `null`, `fd:PATH` or a file. Settings come as
//! `CONTAIN_…` variables: MARK (planted on the target), OUT (its output), CWD, ENTRY (another executable).

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, Seek, SeekFrom, Write};
use std::path::PathBuf;

use dcli_contain::{
    Aftermath, Contained, Detached, Entry, Exit, Input, Launch, StartError, detached_args, probe,
    start,
};

fn main() -> std::io::Result<()> {
    dcli_contain::entry();
    if let Some(args) = detached_args() {
        return live_apart(args);
    }
    let entry = match std::env::var_os("CONTAIN_ENTRY") {
        Some(path) => Entry::at(path.as_ref()),
        None => Entry::current(),
    };
    let entry = match entry {
        Ok(entry) => entry,
        Err(error) => return say(&format!("refused {error}")),
    };
    say("ready")?;
    let mut running: Option<Contained> = None;
    for line in std::io::stdin().lock().lines() {
        let answer = match line?.as_str() {
            "probe" => describe_support(&entry),
            "start" => match launch().map(|launch| start(&entry, launch))? {
                Ok(contained) => {
                    let leader = contained.leader();
                    running = Some(contained);
                    format!("started {} {}", leader.pid, leader.start_time)
                }
                Err(error) => describe_error(&error),
            },
            "detach" => match detach(&entry) {
                Ok(()) => "detached".to_owned(),
                Err(error) => format!("not detached {error}"),
            },
            "drop" => {
                running = None;
                "dropped".to_owned()
            }
            command => running.as_ref().map_or("nothing runs".to_owned(), |it| obey(it, command)),
        };
        say(&answer)?;
    }
    Ok(())
}

fn detach(entry: &Entry) -> std::io::Result<()> {
    let null = || std::fs::OpenOptions::new().read(true).write(true).open("/dev/null");
    let cwd = std::env::current_dir()?;
    entry.start_detached(Detached {
        args: vec!["one".into(), "two words".into()],
        env: vec![("CONTAIN_GIVEN".into(), "1".into())],
        cwd,
        stdio: [null()?.into(), null()?.into(), null()?.into()],
    })
}

/// Says who it is and what it was given, and lives until it is killed.
fn live_apart(args: Vec<OsString>) -> std::io::Result<()> {
    let given: Vec<_> = args.iter().map(|argument| argument.to_string_lossy()).collect();
    std::fs::write("detached", format!("{} {}\n", std::process::id(), given.join(" ")))?;
    loop {
        std::thread::park();
    }
}

fn say(line: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}

fn obey(contained: &Contained, command: &str) -> String {
    match command {
        "wait" => match contained.wait_leader() {
            Ok(exit) => describe_exit(exit),
            Err(_) => "lost".to_owned(),
        },
        "interrupt" => match contained.interrupt() {
            Ok(()) => "sent".to_owned(),
            Err(error) => error.to_string(),
        },
        "interrupt while waiting" => std::thread::scope(|scope| {
            let waiting = scope.spawn(|| obey(contained, "wait"));
            let sent = obey(contained, "interrupt");
            waiting.join().unwrap_or(sent)
        }),
        "end" => describe_aftermath(&contained.end()),
        "tree" => {
            let tree = contained.tree();
            let names: Vec<String> = tree.processes.iter().map(|it| it.comm.clone()).collect();
            format!("tree {} cpu {} names {}", names.len(), tree.cpu.as_millis(), names.join(","))
        }
        other => format!("unknown command {other}"),
    }
}

fn launch() -> std::io::Result<Launch> {
    let mut args = std::env::args_os().skip(1);
    let mut next = || args.next().ok_or(std::io::ErrorKind::InvalidInput);
    let kind = next()?.to_string_lossy().parse().map_err(std::io::Error::other)?;
    let stdin = input(next()?)?;
    let program = PathBuf::from(next()?);
    let setting = |name: &str| std::env::var_os(format!("CONTAIN_{name}"));
    let out = setting("OUT").unwrap_or_else(|| "/dev/null".into());
    let out = OpenOptions::new().append(true).create(true).open(out)?;
    let mut env = vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())];
    env.extend(setting("MARK").map(|mark| ("CONTAIN_TEST".into(), mark)));
    env.extend(setting("BULK").map(|size| bulk(&size)));
    Ok(Launch {
        program,
        args: args.collect(),
        arg0: setting("ARG0"),
        env,
        cwd: setting("CWD").unwrap_or_else(|| "/".into()).into(),
        stdin,
        stdout: out.try_clone()?.into(),
        stderr: out.into(),
        kind,
    })
}

fn bulk(size: &OsString) -> (OsString, OsString) {
    let size = size.to_string_lossy().parse().unwrap_or(0);
    ("BULK".into(), "x".repeat(size).into())
}

fn input(text: OsString) -> std::io::Result<Input> {
    let name = text.to_string_lossy();
    if name == "null" {
        return Ok(Input::Null);
    }
    if let Some(path) = name.strip_prefix("rw:") {
        let mut file = File::options().read(true).write(true).open(path)?;
        file.seek(SeekFrom::Start(3))?;
        return Ok(Input::Descriptor(file.into()));
    }
    match name.strip_prefix("fd:") {
        Some(path) => Ok(Input::Descriptor(File::open(path)?.into())),
        None => Ok(Input::File(text.into())),
    }
}

fn describe_support(entry: &Entry) -> String {
    let rungs = probe(entry).rungs;
    let rungs = rungs.iter().map(|rung| match &rung.available {
        Ok(()) => format!("{}=yes", rung.kind),
        Err(reason) => format!("{}=no: {reason}", rung.kind),
    });
    rungs.collect::<Vec<_>>().join(";")
}

fn describe_error(error: &StartError) -> String {
    let variant = match error {
        StartError::Program { .. } => "program",
        StartError::Directory { .. } => "directory",
        StartError::Stdin { .. } => "stdin",
        StartError::Output { .. } => "output",
        StartError::Argument { .. } => "argument",
        StartError::Init { .. } => "init",
        StartError::Unsupported { .. } => "unsupported",
    };
    format!("failed {variant}: {error}")
}

fn describe_exit(exit: Exit) -> String {
    match (exit.code, exit.signal) {
        (Some(code), None) => format!("code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        other => format!("impossible {other:?}"),
    }
}

fn describe_aftermath(aftermath: &Aftermath) -> String {
    let survivors = match &aftermath.survivors {
        None => "unknown".to_owned(),
        Some(survivors) => survivors.len().to_string(),
    };
    let leader = aftermath.leader.map_or("unknown".to_owned(), describe_exit);
    format!("left {} survivors {survivors} leader {leader}", aftermath.left_behind)
}
