//! `dcli capabilities`: what each backend can do on this machine.

use std::fmt::Write as _;

use dcli_contain::Entry;
use dcli_core::capability::{Capabilities, CapabilityList, OptionCapability};
use dcli_core::exit::FailureClass;
use dcli_core::report::ErrorReport;
use serde::Serialize;

use super::answer;
use super::args::Listing;
use crate::config;
use crate::exec::Host;
use crate::job::capabilities::{all, capabilities};
use crate::report::human::printable;

/// Runs the subcommand; its answer is the exit code.
pub(super) fn run(args: &Listing, backend: Option<&str>) -> u8 {
    match look(backend) {
        Ok(Seen::One(one)) => answer::give(args.json, &*one, |one| text(std::slice::from_ref(one))),
        Ok(Seen::All(all)) => answer::give(args.json, &all, |all| text(&all.backends)),
        Err(report) => answer::fail(args.json, &report),
    }
}

/// One backend is one object; all of them are a list of the same objects.
enum Seen {
    One(Box<Capabilities>),
    All(CapabilityList),
}

fn look(backend: Option<&str>) -> Result<Seen, ErrorReport> {
    let refused = |message: String, hint: &str| {
        ErrorReport::of_class(FailureClass::UsageError, message).hint(hint)
    };
    let catalogue = config::catalogue().map_err(|error| {
        refused(error.to_string(), "correct or remove the file that the message names")
    })?;
    let executor = backend.map(|id| catalogue.find(id)).transpose();
    let executor = executor.map_err(|error| refused(error.to_string(), "see 'dcli backends'"))?;
    let host = Entry::current().map(Host::new).map_err(|error| {
        let report = ErrorReport::of_class(FailureClass::Environment, error.to_string());
        report.hint("see 'dcli doctor'")
    })?;
    Ok(match executor {
        Some(executor) => Seen::One(Box::new(capabilities(&host, executor))),
        None => Seen::All(all(&host, &catalogue)),
    })
}

fn text(backends: &[Capabilities]) -> String {
    let texts: Vec<String> = backends.iter().map(one).collect();
    texts.join("\n")
}

fn one(backend: &Capabilities) -> String {
    let verified = if backend.verified { "" } else { ", never run against the real program" };
    let name = printable(&backend.display_name, 60);
    let mut text = format!("{} ({name}; {} record{verified})\n", backend.backend, backend.source);
    let program = backend.program.as_deref().or(backend.problem.as_deref()).unwrap_or("-");
    let version = &backend.version;
    let supported = version.supported.as_deref().unwrap_or("any");
    let found = version.found.as_deref().unwrap_or("-");
    let yes = |is: bool| if is { "yes" } else { "no" }.to_owned();
    let access = &backend.access;
    let kept = [
        ("read-only", &access.read_only),
        ("workspace", &access.workspace),
        ("unconfined", &access.unconfined),
    ];
    let kept = kept.map(|(name, access)| {
        let network = named(&access.network);
        format!("{name} kept by {}, network {network}", access.enforcement.kind)
    });
    let options: Vec<String> = backend.options.iter().map(option).collect();
    let rows = [
        ("program", program.to_owned()),
        ("version", format!("{found}, {}; supported: {supported}", named(&version.standing))),
        ("access", kept.join("; ")),
        ("--model", yes(backend.model_option)),
        ("options", listed(&options)),
        ("resume", listed(&backend.resume.iter().map(named).collect::<Vec<_>>())),
        ("answers to questions", yes(backend.interactions.supported)),
        ("output by JSON Schema", yes(backend.schema_output)),
        ("cancel", listed(&backend.cancel.iter().map(named).collect::<Vec<_>>())),
        ("reports", reports(backend)),
        ("containment", containment(backend)),
    ];
    for (title, value) in rows {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {title:<22} {}", printable(&value, 300));
    }
    text
}

fn option(option: &OptionCapability) -> String {
    match &option.values {
        Some(values) => format!("{}: {}", option.name, values.join(" | ")),
        None => format!("{}: any token", option.name),
    }
}

fn reports(backend: &Capabilities) -> String {
    let usage = &backend.usage;
    let all = [
        (backend.liveness.records, "records while it works"),
        (backend.liveness.tool_starts_announced, "starts of tools"),
        (usage.tokens, "tokens"),
        (usage.cost, "cost"),
        (usage.windows, "quota windows"),
    ];
    let named = all.into_iter().filter(|(is, _)| *is).map(|(_, name)| name.to_owned());
    listed(&named.collect::<Vec<_>>())
}

fn containment(backend: &Capabilities) -> String {
    let rungs = backend.containment.iter().filter(|rung| rung.available);
    listed(&rungs.map(|rung| rung.kind.clone()).collect::<Vec<_>>())
}

fn listed(words: &[String]) -> String {
    if words.is_empty() { "none".to_owned() } else { words.join(", ") }
}

/// A value by the name that JSON has for it.
fn named(value: &impl Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or("-").replace('_', " ")
}
