//! `dcli doctor`: what works on this machine, one line a check.

use std::io::{self, IsTerminal as _};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use dcli_contain::Entry;
use dcli_core::doctor::{BackendReport, Check, CheckStatus, DoctorReport, Smoke};
use dcli_core::exit::{FailureClass, SUCCESS};
use dcli_core::report::ErrorReport;

use super::args::Doctor;
use super::{answer, signals};
use crate::exec::Host;
use crate::job::doctor::{Examination, doctor};
use crate::report::human::{printable, say};
use crate::report::paint::Tone;
use crate::report::table::{Cell, Table};

/// The most characters of what others wrote on one line.
const WIDTH: usize = 400;

/// Runs the subcommand; its answer is the exit code.
pub(super) fn run(args: &Doctor, backend: Option<&str>) -> u8 {
    let directory = args.cwd.clone().or_else(|| std::env::current_dir().ok());
    let host = Entry::current().map(Host::new).map_err(|error| error.to_string());
    let examination = Examination {
        backend: backend.map(str::to_owned),
        smoke: Some(args.live_smoke_timeout_sec).filter(|limit| !limit.is_zero()),
        ..Examination::new(host, directory.unwrap_or_else(|| "/".into()))
    };
    announce(examination.smoke);
    // A doctor that no signal reaches still ends by itself.
    let _ = signals::cancel_on_signals(examination.cancel.clone(), Arc::new(AtomicBool::new(true)));
    let report = match doctor(&examination) {
        Ok(report) => report,
        Err(error) => {
            let report = ErrorReport::of_class(FailureClass::UsageError, error.to_string());
            return answer::fail(args.json, &report.hint("see 'dcli backends'"));
        }
    };
    match answer::give(args.json, &report, text) {
        SUCCESS => report.exit_code(),
        unprinted => unprinted,
    }
}

fn announce(smoke: Option<Duration>) {
    if let Some(limit) = smoke
        && io::stderr().is_terminal()
    {
        let seconds = limit.as_secs_f64();
        say(&format!("dcli: each backend is asked for one word; that takes up to {seconds} s"));
    }
}

fn text(report: &DoctorReport) -> String {
    let mut table = Table::new(["STATUS", "CHECK", "WHAT WAS SEEN"]);
    report.checks.iter().for_each(|check| row(&mut table, "", check));
    for backend in &report.backends {
        let of = format!("{}: ", backend.backend);
        backend.checks.iter().for_each(|check| row(&mut table, &of, check));
        row(&mut table, &of, &smoke(&backend.smoke));
    }
    table.text() + &closing(report)
}

fn row(table: &mut Table<3>, of: &str, check: &Check) {
    let tone = match check.status {
        CheckStatus::Ok => Tone::Good,
        CheckStatus::Warning => Tone::Notice,
        CheckStatus::Failed => Tone::Bad,
        CheckStatus::Skipped => Tone::Dim,
    };
    let title = format!("{of}{}", check.title);
    table.row([Cell::toned(check.status.name(), tone), title.into(), check.detail.as_str().into()]);
    if let Some(remedy) = &check.remedy {
        table.row([String::new(), String::new(), format!("→ {remedy}")]);
    }
}

/// A live run as one more check.
fn smoke(smoke: &Smoke) -> Check {
    let class = smoke.class.map(|class| format!("{class}: ")).unwrap_or_default();
    let took = smoke.duration_ms.map(|ms| format!(" after {}.{} s", ms / 1000, ms % 1000 / 100));
    let tokens = smoke.tokens.map(|tokens| format!(", {tokens} tokens"));
    let rest = took.unwrap_or_default() + &tokens.unwrap_or_default();
    Check {
        id: String::new(),
        title: "a live run".to_owned(),
        status: smoke.status,
        detail: format!("{class}{}{rest}", smoke.detail),
        remedy: smoke.remedy.clone(),
    }
}

fn closing(report: &DoctorReport) -> String {
    if report.ok {
        return "\nNothing that a run needs is missing.\n".to_owned();
    }
    let unfit = |backend: &&BackendReport| backend.chosen && !backend.is_usable();
    let general = report.checks.iter().filter(|check| check.status == CheckStatus::Failed);
    let names = general.map(|check| check.title.clone());
    let backends = report.backends.iter().filter(unfit).map(|backend| backend.backend.clone());
    let names: Vec<String> = names.chain(backends).collect();
    format!("\nRuns will fail because of: {}\n", printable(&names.join(", "), WIDTH))
}
