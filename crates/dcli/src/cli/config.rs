//! `dcli config`: which configuration is in force here, and what set it.

use std::path::PathBuf;

use dcli_core::exit::FailureClass;
use dcli_core::report::ErrorReport;
use dcli_core::setting::{ConfigReport, SetBy, Setting};
use serde_json::Value;

use super::answer;
use super::args::Config;
use crate::config;
use crate::report::table::Table;

/// What the settings of answers do not do.
const NOTE: &str = "\ninteractions.* hold for jobs of backends that can be answered while they work \
                    ('dcli capabilities'); others run as if they were not there\n";

/// Runs the subcommand; its answer is the exit code.
pub(super) fn run(args: &Config) -> u8 {
    match directory(args).and_then(|directory| {
        let hint = "correct or remove the file that the message names";
        config::report(&directory).map_err(|error| refused(error.to_string()).hint(hint))
    }) {
        Ok(report) => answer::give(args.json, &report, text),
        Err(report) => answer::fail(args.json, &report),
    }
}

fn refused(message: String) -> ErrorReport {
    ErrorReport::of_class(FailureClass::UsageError, message)
}

fn directory(args: &Config) -> Result<PathBuf, ErrorReport> {
    let given = args.cwd.clone().map_or_else(std::env::current_dir, Ok);
    given.and_then(|path| path.canonicalize()).map_err(|error| {
        let shown = args
            .cwd
            .as_ref()
            .map_or("the current directory".into(), |path| path.display().to_string());
        refused(format!("{shown} cannot be used: {error}"))
    })
}

fn text(report: &ConfigReport) -> String {
    let mut places = Table::new(["PLACE", "PATH", "", "SET BY"]);
    for place in &report.places {
        let path = place.path.as_deref().unwrap_or("-");
        let exists = if place.exists { "" } else { "not there" };
        let set_by = place.set_in.as_deref().unwrap_or(place.set_by.name());
        places.row([place.what.as_str(), path, exists, set_by]);
    }
    let mut settings = Table::new(["SETTING", "VALUE", "SET BY", "IN"]);
    for setting in &report.settings {
        let (value, set_in) = (shown(&setting.value), setting.set_in.join(", "));
        settings.row([setting.key.as_str(), &value, setting.set_by.name(), &set_in]);
    }
    let is_set = |setting: &Setting| setting.set_by != SetBy::Default;
    let mut answers = report.settings.iter().filter(|s| s.key.starts_with("interactions."));
    let note = if answers.any(is_set) { NOTE } else { "" };
    format!("{}\n{}{note}", places.text(), settings.text())
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(list) if list.is_empty() => "none".to_owned(),
        Value::Array(list) => list.iter().map(shown).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}
