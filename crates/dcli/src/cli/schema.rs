//! `dcli schema`: the JSON Schema of anything that dcli prints as JSON.

use dcli_core::exit::FailureClass;
use dcli_core::report::{ErrorReport, SchemasReport};
use dcli_core::schema::{self, SHAPES};

use super::args::Schema;
use super::{answer, suggest};
use crate::report::table::Table;

/// Runs the subcommand; its answer is the exit code.
pub(super) fn run(args: &Schema) -> u8 {
    let Some(name) = args.name.as_deref() else {
        return answer::give(args.json, &schema::listing(), table);
    };
    match schema::find(name) {
        Some(shape) => answer::show(&format!("{:#}\n", shape.schema())),
        None => answer::fail(args.json, &unknown(name)),
    }
}

fn unknown(name: &str) -> ErrorReport {
    let meant = suggest::nearest(name, SHAPES.iter().map(|shape| shape.name));
    let meant = meant.map(|name| format!("; did you mean '{name}'?")).unwrap_or_default();
    let message = format!("no schema '{name}'{meant}");
    let report = ErrorReport::of_class(FailureClass::UsageError, message);
    report.coded("unknown_schema").hint("'dcli schema' lists them")
}

fn table(listing: &SchemasReport) -> String {
    let mut table = Table::new(["NAME", "WHAT PRINTS IT"]);
    for entry in &listing.schemas {
        table.row([entry.name.as_str(), entry.title.as_str()]);
    }
    table.text()
}
