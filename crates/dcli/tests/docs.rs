//! The documentation says what the code does: tables and examples are read from the pages.
#![expect(clippy::unwrap_used, reason = "a test's helpers may fail the test")]

use std::path::Path;

use dcli::model::envelope::ErrorCode;
use dcli::model::executor::Record;
use dcli::model::executor::argv::{Scoped, command_line};
use dcli::model::exit::FailureClass;
use dcli::model::job::state::JobState;
use dcli::model::report::ErrorReport;
use dcli::model::schema::SHAPES;
use dcli::store::attempt::{AttemptDir, LogName};

fn page(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(name)).unwrap()
}

/// The cells of every table row whose first cell satisfies `first`.
fn rows(text: &str, first: impl Fn(&str) -> bool) -> Vec<Vec<String>> {
    let cells = |line: &str| -> Vec<String> {
        let inner = line.trim().trim_matches('|');
        inner.split('|').map(|cell| cell.trim().trim_matches('`').to_owned()).collect()
    };
    let table = text.lines().filter(|line| line.starts_with('|'));
    table.map(cells).filter(|row| first(&row[0])).collect()
}

#[test]
fn the_exit_code_page_is_the_table_in_the_code() {
    let documented = rows(&page("docs/exit-codes.md"), |cell| cell.parse::<u8>().is_ok());
    let classes: Vec<(String, String)> = documented
        .iter()
        .filter(|row| !row[1].is_empty())
        .map(|row| (row[0].clone(), row[1].clone()))
        .collect();
    let coded: Vec<(String, String)> = FailureClass::TABLE
        .iter()
        .map(|(_, code, name)| (code.to_string(), (*name).to_owned()))
        .collect();
    assert_eq!(classes, coded);
    let bare: Vec<&str> =
        documented.iter().filter(|row| row[1].is_empty()).map(|row| row[0].as_str()).collect();
    assert_eq!(bare, ["0", "3", "4", "20"]);
}

#[test]
fn the_error_code_page_is_the_table_in_the_code() {
    let documented = rows(&page("docs/exit-codes.md"), |cell| {
        cell.starts_with("executor") || cell.starts_with("request")
    });
    let documented: Vec<(String, String)> =
        documented.into_iter().map(|row| (row[0].clone(), row[1].clone())).collect();
    let name = |code: &ErrorCode| serde_json::to_value(code).unwrap().as_str().unwrap().to_owned();
    let coded: Vec<(String, String)> = ErrorCode::TABLE
        .iter()
        .map(|(code, class)| (name(code), class.name().to_owned()))
        .collect();
    assert_eq!(documented, coded);
}

#[test]
fn the_record_on_the_page_is_valid_and_gives_the_command_line_it_shows() {
    let text = page("docs/records.md");
    let block = text.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let record = Record::from_toml(block, "docs/records.md").unwrap();
    let access = &record.access.workspace.args;
    let line = |keeps_session| {
        let scoped = Scoped { access, keeps_session, ..Scoped::default() };
        command_line(&record, &scoped, "hello").unwrap()
    };
    assert_eq!(line(false).args, ["run", "--json", "--no-history", "--sandbox", "workspace"]);
    assert_eq!(line(true).args, ["run", "--json", "--sandbox", "workspace"]);
    assert!(line(false).prompt_on_stdin);
}

#[test]
fn the_readme_names_the_two_commands() {
    let readme = page("README.md");
    assert!(readme.contains("\ncargo run -p dcli -- demo\n"));
    assert!(readme.contains("\ncargo xtask check\n"));
    assert!(page(".ci/run").contains("cargo xtask check"));
}

#[test]
fn the_page_names_every_warning_code_of_the_sources_and_no_other() {
    let envelope = page("docs/envelope.md");
    let section = envelope.split("## Warnings").nth(1).unwrap().split("\n## ").next().unwrap();
    let is_code = |cell: &str| cell.contains('_') || cell == "survivors";
    let mut documented: Vec<String> =
        rows(section, is_code).into_iter().map(|row| row[0].clone()).collect();
    let mut coded = Vec::new();
    for directory in ["crates/core/src", "crates/dcli/src"] {
        collect_codes(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(directory),
            &mut coded,
        );
    }
    documented.sort();
    coded.sort();
    coded.dedup();
    assert!(coded.len() > 5, "the sources were not found");
    assert_eq!(documented, coded);
}

/// The first argument of every `Warning::new` below `directory`.
fn collect_codes(directory: &Path, codes: &mut Vec<String>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect_codes(&path, codes);
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let calls = text.split("Warning::new(").skip(1);
        let quoted = calls.filter_map(|rest| rest.trim_start().strip_prefix('"'));
        codes.extend(quoted.filter_map(|rest| rest.split('"').next()).map(str::to_owned));
    }
}

#[test]
fn the_page_lists_every_schema_with_what_prints_it() {
    let text = page("docs/json.md");
    let documented = rows(&text, |cell| cell != "name" && !cell.starts_with('-'));
    let coded = SHAPES.iter().map(|shape| vec![shape.name.to_owned(), shape.title.to_owned()]);
    assert_eq!(documented, coded.collect::<Vec<_>>());
    let example = text.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
    let example: ErrorReport = serde_json::from_str(example).unwrap();
    assert_eq!(example.error.class.map(FailureClass::exit_code), Some(example.error.exit_code));
}

#[test]
fn the_page_on_jobs_has_every_state_with_its_exit_code() {
    let text = page("docs/jobs.md");
    let life = text.split("## Life").nth(1).unwrap().split("\n## ").next().unwrap();
    let documented = rows(life, |cell| cell != "state" && !cell.starts_with('-'));
    let names: Vec<&str> = documented.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(names, JobState::ALL.map(JobState::name));
    for (state, row) in JobState::ALL.into_iter().zip(&documented) {
        let code = match state {
            JobState::Failed => "the code of its failure".to_owned(),
            state if state.is_terminal() => state.exit_code(None).to_string(),
            _ => String::new(),
        };
        assert_eq!(row[2], code, "{state}");
    }
}

#[test]
fn the_page_on_jobs_names_the_files_of_a_job() {
    let text = page("docs/jobs.md");
    let disk = text.split("## On the disk").nth(1).unwrap().split("\n## ").next().unwrap();
    let documented = rows(disk, |cell| cell != "name" && !cell.starts_with('-'));
    let documented: Vec<&str> = documented.iter().map(|row| row[0].as_str()).collect();
    let attempt = AttemptDir::of(Path::new(""), 1);
    let logs = [LogName::Stdout, LogName::Stderr, LogName::Worker].map(|name| attempt.log(name));
    let of_attempt = [
        attempt.prompt(),
        attempt.result(),
        attempt.command(),
        attempt.envelope(),
        attempt.facts(),
    ];
    let while_it_runs = [attempt.lease(), attempt.capture(), attempt.tmp()];
    let coded: Vec<String> = of_attempt
        .iter()
        .chain(&logs)
        .chain(&while_it_runs)
        .map(|path| path.display().to_string())
        .collect();
    let of_job =
        ["journal.jsonl", "status.json", "request.json", "cancel.request", "answers/i1.json"];
    assert_eq!(documented[..of_job.len()], of_job);
    assert_eq!(documented[of_job.len()..], coded);
}

#[test]
fn every_link_of_the_pages_leads_to_a_file() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let pages = [
        "records",
        "envelope",
        "jobs",
        "interactions",
        "json",
        "containment",
        "configuration",
        "doctor",
        "exit-codes",
        "evidence",
    ];
    let pages = pages.map(|name| format!("docs/{name}.md"));
    for name in pages.iter().map(String::as_str).chain(["README.md"]) {
        let text = page(name);
        let directory = root.join(name).parent().unwrap().to_owned();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            assert!(directory.join(link).exists(), "{name} links to {link}");
        }
    }
}
