//! Validation of records: what would fail silently later is refused when the record is loaded.

use thiserror::Error;

use super::record::{Capture, Delivery, Format, Output, RECORD_SCHEMA, Record, Usage};
use super::rule::{FactKind, FactRule, Signal};
use crate::envelope::ENGINE_KEYS;

/// Why a record is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RecordError {
    /// Not TOML, or not the record's shape: the message of the parser names the key and the line.
    #[error("executor record {origin}: {message}")]
    Shape {
        /// Where the record came from.
        origin: String,
        /// The parser's words.
        message: String,
    },
    /// A key holds what cannot work.
    #[error("executor record {id:?} ({origin}): key `{key}` {problem}")]
    Key {
        /// The record.
        id: String,
        /// Where it came from.
        origin: String,
        /// The key.
        key: String,
        /// What is wrong with it.
        problem: String,
    },
}

/// The longest piece of a record's line that a message repeats, in characters.
const QUOTED: usize = 80;

/// The parser's message on one line, with the record's line that it is about: that names the key.
fn shape_message(text: &str, error: &toml::de::Error) -> String {
    let message = error.message().trim().replace('\n', " ");
    let Some(span) = error.span() else { return message };
    let before = text.get(..span.start).unwrap_or(text);
    let number = before.matches('\n').count();
    let line = text.lines().nth(number).unwrap_or_default().trim();
    let visible = line.chars().map(|letter| if letter.is_control() { '·' } else { letter });
    let quoted: String = visible.take(QUOTED).collect();
    format!("line {}, `{quoted}`: {message}", number + 1)
}

type Finding = (String, String);

impl Record {
    /// Reads and validates a record. `origin` says where the text came from, for messages.
    ///
    /// # Errors
    /// The first key that would fail, by name.
    pub fn from_toml(text: &str, origin: &str) -> Result<Self, RecordError> {
        let record: Record = toml::from_str(text).map_err(|error| RecordError::Shape {
            origin: origin.to_owned(),
            message: shape_message(text, &error),
        })?;
        match record.problems().into_iter().next() {
            None => Ok(record),
            Some((key, problem)) => {
                Err(RecordError::Key { id: record.id, origin: origin.to_owned(), key, problem })
            }
        }
    }

    /// Every key that cannot work, with what is wrong with it.
    #[must_use]
    pub fn problems(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        self.identity_problems(&mut found);
        self.prompt_problems(&mut found);
        self.version_problems(&mut found);
        if self.access.sandbox_probe.as_ref().is_some_and(|probe| probe.args.is_empty()) {
            let problem = "is empty: the program alone starts no sandbox";
            found.push(("access.sandbox_probe.args".into(), problem.into()));
        }
        output_problems(&self.output, &mut found);
        self.channel_problems(&mut found);
        for (index, rule) in self.facts.iter().enumerate() {
            fact_problems(index, rule, &mut found);
        }
        if let Some(usage) = &self.usage {
            usage_problems(usage, &mut found);
        }
        if let Some(contract) = &self.controls
            && let Err(error) = contract.validate()
        {
            found.push(("controls".to_owned(), error.to_string()));
        }
        found
    }

    fn channel_problems(&self, found: &mut Vec<Finding>) {
        let asks = self.facts.iter().any(|rule| rule.fact == FactKind::Asked);
        if self.dialogue.is_some() && !asks {
            let problem = "has no rule `asked` among the facts: no question would be seen";
            found.push(("dialogue".into(), problem.into()));
        }
        if self.dialogue.is_none() && self.facts.iter().any(|rule| rule.fact.is_request()) {
            let problem = "has rules for questions, and no `dialogue` to answer them by";
            found.push(("facts".into(), problem.into()));
        }
        let Some(server) = &self.server else { return };
        if self.dialogue.is_some() {
            let problem = "stands beside `server`: a job talks one way or the other";
            found.push(("dialogue".into(), problem.into()));
        }
        if server.admission.is_empty() || server.admission.contains(['=', '\0']) {
            found.push(("server.admission".into(), "must name a variable".into()));
        }
        if server.args.is_empty() {
            found.push(("server.args".into(), "is empty: the program alone is no server".into()));
        }
    }

    fn identity_problems(&self, found: &mut Vec<Finding>) {
        if self.schema_version != RECORD_SCHEMA {
            let problem = format!("is {}; this dcli reads {RECORD_SCHEMA}", self.schema_version);
            found.push(("schema_version".into(), problem));
        }
        for (key, id) in std::iter::once(("id", &self.id))
            .chain(self.aliases.iter().map(|alias| ("aliases", alias)))
        {
            if !is_id(id) {
                let problem = format!("{id:?} must be 1 to 64 of a-z, 0-9, '-', '_', '.'");
                found.push((key.into(), problem));
            }
        }
        if self.command.trim().is_empty() || self.command.contains('\0') {
            found.push(("command".into(), "must name a program".into()));
        }
        let fixed = self.args.len() + self.exec_args.len();
        if self.argument_index.is_some_and(|index| index > fixed) {
            let problem = format!("lies beyond the {fixed} fixed arguments");
            found.push(("argument_index".into(), problem));
        }
        for (key, args) in [("args", &self.args), ("exec_args", &self.exec_args)] {
            if args.iter().any(|arg| arg.contains('\0')) {
                found.push((key.into(), "must not hold a NUL".into()));
            }
        }
    }

    fn prompt_problems(&self, found: &mut Vec<Finding>) {
        let prompt = &self.prompt;
        let by_argument = prompt.delivery == Delivery::Argument;
        if by_argument && prompt.separator.is_empty() && prompt.joined_flag.is_none() {
            let problem = "must not be empty where the prompt is an argument and `joined_flag` \
                           is not given: a prompt could become a flag";
            found.push(("prompt.separator".into(), problem.into()));
        }
        if prompt.joined_flag.as_ref().is_some_and(|flag| !flag.starts_with("--")) {
            found.push(("prompt.joined_flag".into(), "must be a long flag".into()));
        }
        if prompt.argument_bound == 0 || prompt.argument_bound > 131_071 {
            found.push(("prompt.argument_bound".into(), "must be 1 to 131071".into()));
        }
    }

    fn version_problems(&self, found: &mut Vec<Finding>) {
        let version = &self.version;
        if !version.supported.is_empty() && version.supported.parse::<semver::VersionReq>().is_err()
        {
            found.push(("version.supported".into(), "must be a semver requirement".into()));
        }
        for (key, list) in [("tested", &version.tested), ("known_bad", &version.known_bad)] {
            if let Some(bad) = list.iter().find(|v| v.parse::<semver::Version>().is_err()) {
                found.push((format!("version.{key}"), format!("{bad:?} is not a version")));
            }
        }
        if version.args.is_empty() && !version.supported.is_empty() {
            let problem = "must say how the version is asked where a range is given";
            found.push(("version.args".into(), problem.into()));
        }
    }
}

fn is_id(id: &str) -> bool {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
    !id.is_empty()
        && id.len() <= 64
        && id.chars().all(allowed)
        && id.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
}

fn output_problems(output: &Output, found: &mut Vec<Finding>) {
    if output.format == Format::Jsonl && output.terminal.is_none() {
        let problem = "is missing: a jsonl stream needs a record that proves success";
        found.push(("output.terminal".into(), problem.into()));
    }
    if output.capture == Capture::Pipe {
        let problem = "is \"pipe\", which this dcli does not offer: every capture is a file";
        found.push(("output.capture".into(), problem.into()));
    }
    if output.terminal.as_ref().is_some_and(|terminal| terminal.success.is_empty()) {
        let problem = "is empty: every record would prove success";
        found.push(("output.terminal.success".into(), problem.into()));
    }
    for (index, rule) in output.failure.iter().enumerate() {
        let key = |name: &str| format!("output.failure.{index}.{name}");
        if rule.status_path.is_some() != rule.status_prefix.is_some() {
            let problem = "needs its twin: `status_path` and `status_prefix` go together";
            found.push((key("status_path"), problem.into()));
        }
        if rule.status_prefix.as_ref().is_some_and(String::is_empty) {
            found.push((key("status_prefix"), "is empty: every status would fail".into()));
        }
        let ungated =
            rule.when.is_empty() && rule.flag_path.is_none() && rule.status_path.is_none();
        if ungated {
            found.push((key("when"), "is empty: every record would fail".into()));
        }
        if rule.recovered_by.iter().any(super::rule::Matcher::is_empty) {
            found.push((key("recovered_by"), "holds an empty matcher".into()));
        }
        signal_problems(&key("signals"), &rule.signals, found);
    }
    for (index, rule) in output.metadata.iter().enumerate() {
        let key = format!("output.metadata.{index}.key");
        if ENGINE_KEYS.contains(&rule.key.as_str()) {
            found.push((key, format!("{:?} is one of the engine's own keys", rule.key)));
        } else if rule.key.is_empty() {
            found.push((key, "is empty".into()));
        }
    }
    for (index, rule) in output.sandbox_failure.iter().enumerate() {
        if rule.contains.is_empty() || rule.contains.iter().any(String::is_empty) {
            let key = format!("output.sandbox_failure.{index}.contains");
            found.push((key, "is empty: every text would match".into()));
        }
    }
    for (key, signals) in
        [("output.stderr_signals", &output.stderr_signals), ("output.signals", &output.signals)]
    {
        signal_problems(key, signals, found);
    }
    if output.http_after.iter().any(|words| words.trim().is_empty()) {
        let problem = "holds blank words: a bare number never classifies";
        found.push(("output.http_after".into(), problem.into()));
    }
    for (index, rule) in output.notes.iter().enumerate() {
        if rule.when.is_empty() {
            let key = format!("output.notes.{index}.when");
            found.push((key, "is empty: every record would be kept".into()));
        }
    }
}

fn signal_problems(key: &str, signals: &[Signal], found: &mut Vec<Finding>) {
    for signal in signals {
        let letters = |text: &str| text.chars().any(char::is_alphabetic);
        if signal.contains.is_empty() {
            found.push((key.into(), "holds an empty phrase".into()));
        } else if !letters(&signal.contains) {
            let problem = format!("holds {:?}: a bare number never classifies", signal.contains);
            found.push((key.into(), problem));
        }
        if signal.retry_at_after.as_ref().is_some_and(|words| !letters(words)) {
            found.push((key.into(), "holds a `retry_at_after` without words".into()));
        }
    }
}

fn fact_problems(index: usize, rule: &FactRule, found: &mut Vec<Finding>) {
    let known: &[&str] = match rule.fact {
        FactKind::Started => &["session_id"],
        FactKind::AssistantText => &["text", "message_id"],
        FactKind::Reasoning => &["message_id"],
        FactKind::ToolInvoked => &["call_id", "tool", "summary"],
        FactKind::ToolResult | FactKind::PermissionDenied => &["call_id", "summary"],
        FactKind::Asked => &["request_id", "detail"],
        FactKind::Withdrawn => &["request_id"],
        FactKind::TaskStarted => &["task_id"],
        FactKind::TaskSettled => &["task_id", "outcome"],
        FactKind::Retrying => &["attempt", "next_at", "summary"],
    };
    let required: &[&str] = match rule.fact {
        FactKind::AssistantText => &["text"],
        FactKind::TaskStarted | FactKind::TaskSettled => &["task_id"],
        FactKind::Asked => &["request_id", "detail"],
        FactKind::Withdrawn => &["request_id"],
        _ => &[],
    };
    if rule.when.is_empty() {
        found.push((format!("facts.{index}.when"), "is empty: every record would match".into()));
    }
    if let Some(unknown) = rule.fields.keys().find(|name| !known.contains(&name.as_str())) {
        let problem = format!("is not a field of this fact; it has {}", known.join(", "));
        found.push((format!("facts.{index}.fields.{unknown}"), problem));
    }
    if let Some(missing) = required.iter().find(|name| !rule.fields.contains_key(**name)) {
        found.push((format!("facts.{index}.fields.{missing}"), "is missing".into()));
    }
}

fn usage_problems(usage: &Usage, found: &mut Vec<Finding>) {
    if usage.usage_paths.is_empty() {
        found.push(("usage.usage_paths".into(), "is empty: nothing would be summed".into()));
    }
    if usage.usage_when.is_empty() {
        let problem = "is empty: usage paths need the condition that bounds them";
        found.push(("usage.usage_when".into(), problem.into()));
    }
    if usage.when_zero.as_ref().is_some_and(|rule| rule.keys.is_empty()) {
        found.push(("usage.when_zero.keys".into(), "is empty".into()));
    }
    if usage.usage_windows.as_ref().is_some_and(|windows| windows.keys.is_empty()) {
        let problem = "is empty: a window without keys would tell nothing";
        found.push(("usage.usage_windows.keys".into(), problem.into()));
    }
}
