//! Which parts of a stream's records a rule set wants: everything else is skipped unread.

use super::record::Record;
use super::rule::{Field, Matcher, OneOrMany};
use crate::decode::{Path, Projection};

/// Every path that any rule of the record asks for.
pub(super) fn projection_of(record: &Record) -> Projection {
    let mut paths = Vec::new();
    let output = &record.output;
    let matchers =
        |found: &mut Vec<Path>, matcher: &Matcher| found.extend(matcher.0.keys().cloned());
    paths.push(output.result.path.clone());
    for matcher in std::iter::once(&output.result.when)
        .chain(&output.result.not_when)
        .chain(&output.result.restart)
        .chain(
            output.terminal.iter().flat_map(|t| std::iter::once(&t.success).chain(&t.reopened_by)),
        )
        .chain(output.failure.iter().flat_map(|f| std::iter::once(&f.when).chain(&f.recovered_by)))
        .chain(output.notes.iter().flat_map(|rule| [&rule.when, &rule.only_if]))
        .chain(output.metadata.iter().map(|rule| &rule.when))
        .chain(output.sandbox_failure.iter().map(|rule| &rule.when))
        .chain(output.denials.iter().map(|rule| &rule.when))
        .chain(record.usage.iter().map(|usage| &usage.usage_when))
        .chain(record.usage.iter().flat_map(|u| u.usage_windows.iter().map(|w| &w.when)))
        .chain(record.facts.iter().map(|rule| &rule.when))
    {
        matchers(&mut paths, matcher);
    }
    for rule in &output.failure {
        let optional = [
            &rule.flag_path,
            &rule.status_path,
            &rule.http_path,
            &rule.body_path,
            &rule.retryable_path,
        ];
        let lists = [&rule.message_paths, &rule.error_type_paths, &rule.retry_at_paths];
        paths.extend(optional.into_iter().flatten().chain(lists.into_iter().flatten()).cloned());
    }
    for rule in &output.notes {
        paths.extend([&rule.error_type_path, &rule.retry_at_path].into_iter().flatten().cloned());
    }
    paths.extend(output.metadata.iter().map(|rule| rule.path.clone()));
    paths.extend(output.sandbox_failure.iter().map(|rule| rule.path.clone()));
    paths.extend(output.denials.iter().map(|rule| rule.path.clone()));
    usage_paths(record, &mut paths);
    fact_paths(record, &mut paths);
    Projection::new(&paths)
}

fn usage_paths(record: &Record, paths: &mut Vec<Path>) {
    let Some(usage) = &record.usage else { return };
    let parts = &usage.breakdown;
    let optional = [
        &parts.input,
        &parts.output,
        &parts.reasoning,
        &parts.cache_read,
        &parts.cache_write,
        &usage.cost_path,
    ];
    paths.extend(optional.into_iter().flatten().chain(&usage.usage_paths).cloned());
    paths.extend(usage.when_zero.iter().map(|rule| rule.path.clone()));
    paths.extend(usage.usage_windows.iter().map(|rule| rule.path.clone()));
}

fn fact_paths(record: &Record, paths: &mut Vec<Path>) {
    for rule in &record.facts {
        let inside = |path: Option<&Path>| {
            let text = match (&rule.each, path) {
                (Some(each), Some(path)) => format!("{each}.*.{path}"),
                (Some(each), None) => format!("{each}.*"),
                (None, Some(path)) => path.to_string(),
                (None, None) => return None,
            };
            text.parse::<Path>().ok()
        };
        let matched =
            rule.element.0.keys().chain(rule.failed.iter().flat_map(|failed| failed.0.keys()));
        paths.extend(matched.filter_map(|path| inside(Some(path))));
        for field in rule.fields.values().flat_map(OneOrMany::fields) {
            paths.extend(match field {
                Field::Record(path) => Some(path.clone()),
                Field::Element(path) => inside(path.as_ref()),
            });
        }
        if rule.each.is_some() && rule.element.is_empty() {
            paths.extend(rule.each.clone());
        }
    }
}
