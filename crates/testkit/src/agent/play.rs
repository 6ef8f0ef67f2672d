//! Playing a script.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rustix::process::{Signal, getpid, kill_process, setsid};

use super::descendants;
use super::record::Record;
use super::script::{Repeat, Script, ScriptError, Step};
use super::{SCRIPT_VARIABLE, signals};

/// Longest life of an agent that hangs or waits for a file that never comes.
const LIFE: Duration = Duration::from_secs(600);
/// Time between two looks at what gives no event.
const LOOK: Duration = Duration::from_millis(2);
/// Exit code of an agent that could not do a step.
const BROKEN: i32 = 74;

/// Plays steps in this process.
#[derive(Debug, Default)]
pub struct Player {
    stdin: Option<Vec<u8>>,
    line: String,
}

/// The whole program `dcli-fake-agent`.
pub fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let script = match find_script(&arguments) {
        Ok(script) => script,
        Err(error) => return broken(&error),
    };
    if let Some(version) = &script.version
        && arguments.iter().take_while(|word| *word != "--").any(|word| word == "--version")
    {
        drop(writeln!(io::stdout(), "{version}"));
        return ExitCode::SUCCESS;
    }
    if let Err(error) = signals::prepare(&script, &arguments) {
        return broken(&error);
    }
    watch_interrupt(&script);
    match Player::default().play(&script.steps) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => broken(&error),
    }
}

fn broken(error: &dyn std::error::Error) -> ExitCode {
    drop(writeln!(io::stderr(), "dcli-fake-agent: {error}"));
    ExitCode::from(BROKEN.unsigned_abs().try_into().unwrap_or(1))
}

fn find_script(arguments: &[OsString]) -> Result<Script, ScriptError> {
    match arguments {
        [flag, text, ..] if flag == descendants::INLINE => Script::parse(&text.to_string_lossy()),
        [flag, path, ..] if flag == "--script" => Script::load(Path::new(path)),
        _ => {
            let path = std::env::var_os(SCRIPT_VARIABLE).ok_or(ScriptError::Missing)?;
            Script::load(Path::new(&path))
        }
    }
}

/// Plays the script's interrupt steps in a thread of its own once a SIGINT is pending.
fn watch_interrupt(script: &Script) {
    let steps = script.steps.iter().find_map(|step| match step {
        Step::OnInterrupt(steps) => Some(steps.clone()),
        _ => None,
    });
    let Some(steps) = steps else { return };
    std::thread::spawn(move || {
        while !signals::interrupted() {
            std::thread::sleep(LOOK);
        }
        let played = Player::default().play(&steps);
        std::process::exit(if played.is_ok() { 130 } else { BROKEN });
    });
}

impl Player {
    /// Takes the steps in order.
    ///
    /// # Errors
    /// The first step that could not be done.
    pub fn play(&mut self, steps: &[Step]) -> io::Result<()> {
        steps.iter().try_for_each(|step| self.take(step))
    }

    fn take(&mut self, step: &Step) -> io::Result<()> {
        match step {
            Step::Stdout(text) => out(text.as_bytes()),
            Step::StdoutHex(digits) => out(&unhex(digits)?),
            Step::StdoutFile(path) => copy_out(path),
            Step::StdoutRepeat(repeat) => repeat_out(repeat),
            Step::Stderr(text) => io::stderr().write_all(text.as_bytes()),
            Step::ReadStdin(wanted) => self.read_stdin(*wanted),
            Step::ReadUntil(text) => self.read_until(text),
            Step::IfHeard(heard) if self.line.contains(&heard.text) => self.play(&heard.steps),
            Step::IfHeard(_) => Ok(()),
            Step::Record(path) => Record::of_self(self.stdin.as_deref())?.save(path),
            Step::SleepMs(ms) => pause(Duration::from_millis(*ms)),
            Step::BusyMs(ms) => busy(Duration::from_millis(*ms)),
            Step::WaitFile(path) => wait_file(path),
            Step::Touch(path) => File::create(path).map(drop),
            Step::Write(file) => std::fs::write(&file.path, &file.content),
            Step::Spawn(child) => descendants::spawn(child),
            Step::Ignore(_) | Step::OnInterrupt(_) => Ok(()),
            Step::Setsid(wanted) => when(*wanted, || Ok(setsid().map(drop)?)),
            Step::StopSelf(wanted) => when(*wanted, || signal_self(Signal::STOP)),
            Step::CloseStdout(wanted) => when(*wanted, close_stdout),
            Step::CloseStdin(wanted) => when(*wanted, close_stdin),
            Step::Exit(code) => std::process::exit(*code),
            Step::SignalSelf(number) => signal_self_by_number(*number),
            Step::Hang(wanted) => when(*wanted, hang),
        }
    }

    fn read_stdin(&mut self, wanted: bool) -> io::Result<()> {
        when(wanted, || {
            let stdin = self.stdin.get_or_insert_default();
            io::stdin().read_to_end(stdin).map(drop)
        })
    }

    /// At the end of standard input the last line read is empty.
    fn read_until(&mut self, text: &str) -> io::Result<()> {
        loop {
            self.line.clear();
            let count = io::stdin().read_line(&mut self.line)?;
            self.stdin.get_or_insert_default().extend_from_slice(self.line.as_bytes());
            if count == 0 || self.line.contains(text) {
                return Ok(());
            }
        }
    }
}

fn when(wanted: bool, step: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    if wanted { step() } else { Ok(()) }
}

fn out(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = raw_stdout()?;
    stdout.write_all(bytes)
}

/// Standard output without the line buffer of the standard library.
fn raw_stdout() -> io::Result<File> {
    Ok(File::from(rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?))
}

fn copy_out(path: &Path) -> io::Result<()> {
    io::copy(&mut File::open(path)?, &mut raw_stdout()?).map(drop)
}

fn repeat_out(repeat: &Repeat) -> io::Result<()> {
    let mut stdout = io::BufWriter::with_capacity(1 << 16, raw_stdout()?);
    let line = format!("{}\n", repeat.line);
    for _ in 0..repeat.times {
        stdout.write_all(line.as_bytes())?;
    }
    stdout.flush()
}

fn unhex(digits: &str) -> io::Result<Vec<u8>> {
    let digits: Vec<u8> = digits.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let pair = |pair: &[u8]| {
        let text = std::str::from_utf8(pair).unwrap_or_default();
        u8::from_str_radix(text, 16).map_err(io::Error::other)
    };
    digits.chunks(2).map(pair).collect()
}

fn pause(duration: Duration) -> io::Result<()> {
    std::thread::sleep(duration);
    Ok(())
}

fn busy(duration: Duration) -> io::Result<()> {
    let until = Instant::now() + duration;
    while Instant::now() < until {
        std::hint::spin_loop();
    }
    Ok(())
}

fn wait_file(path: &Path) -> io::Result<()> {
    let until = Instant::now() + LIFE;
    while !path.exists() {
        if Instant::now() >= until {
            return Err(io::ErrorKind::TimedOut.into());
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}

fn hang() -> io::Result<()> {
    std::thread::sleep(LIFE);
    Err(io::ErrorKind::TimedOut.into())
}

fn signal_self(signal: Signal) -> io::Result<()> {
    Ok(kill_process(getpid(), signal)?)
}

fn signal_self_by_number(number: i32) -> io::Result<()> {
    let signal = Signal::from_named_raw(number);
    let signal = signal.ok_or_else(|| io::Error::other("no such signal"))?;
    // The runtime's handler for stack overflows takes the first SIGSEGV and SIGBUS.
    let times = if matches!(signal, Signal::SEGV | Signal::BUS) { 2 } else { 1 };
    (0..times).try_for_each(|_| signal_self(signal))
}

fn close_stdout() -> io::Result<()> {
    let null = File::options().write(true).open("/dev/null")?;
    Ok(rustix::stdio::dup2_stdout(&null)?)
}

fn close_stdin() -> io::Result<()> {
    Ok(rustix::stdio::dup2_stdin(&File::open("/dev/null")?)?)
}
