//! What Claude Code asks before it uses a tool, in words that all backends share.
//!
//! The shapes were measured with 2.1.197 and 2.1.332. A missing or retyped field that is needed here
//! makes a question unreadable; all others may be there or not.

use std::path::Path;

use dcli_core::fact::InteractionKind;
use dcli_core::interaction::Ask;
use serde_json::{Value, json};

use super::place::{Place, place};
use super::shell::commands;
use crate::backend::brief::brief;

/// A tool and what it is to be used with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Use<'r> {
    /// Its name, as the backend has it.
    tool: &'r str,
    /// All that it gets.
    input: &'r Value,
}

/// Questions to the user come as the use of this tool.
const QUESTION: &str = "AskUserQuestion";

impl<'r> Use<'r> {
    /// What the field `input` of a request, or `tool_input` of a hook, is for.
    pub(super) fn of(request: &'r Value, input: &str) -> Option<Self> {
        let tool = request.get("tool_name")?.as_str()?;
        let input = request.get(input).filter(|input| input.is_object())?;
        Some(Self { tool, input })
    }

    /// What has to be decided before it is used; `None`: a field that says it is missing.
    pub(super) fn ask(&self, directory: &Path) -> Option<Ask> {
        let mut ask = Ask::default();
        match self.tool {
            QUESTION => {
                ask.kind = InteractionKind::Question;
                ask.permission = "question".to_owned();
                ask.detail = json!({"questions": self.shown_questions()?});
            }
            "Bash" => {
                let commands = commands(self.text("command")?);
                ask.permission = "bash".to_owned();
                (ask.patterns, ask.is_opaque) = (commands.patterns, commands.is_opaque);
            }
            "Write" | "Edit" | "MultiEdit" => {
                self.path("file_path", "edit", directory, &mut ask)?
            }
            "NotebookEdit" => self.path("notebook_path", "edit", directory, &mut ask)?,
            "Read" => self.path("file_path", "read", directory, &mut ask)?,
            tool @ ("Glob" | "Grep") => {
                let path = self.text("path").unwrap_or(".");
                placed(path, &tool.to_lowercase(), directory, &mut ask);
            }
            "WebFetch" => {
                ask.permission = "webfetch".to_owned();
                ask.patterns = vec![self.text("url")?.to_owned()];
            }
            "WebSearch" => {
                ask.permission = "websearch".to_owned();
                ask.patterns = vec![self.text("query")?.to_owned()];
            }
            other => ask.permission = other.to_lowercase(),
        }
        Some(ask)
    }

    /// The text of each question; empty for anything else.
    pub(super) fn questions(&self) -> Vec<String> {
        let questions = self.input.get("questions").and_then(Value::as_array);
        let questions = questions.filter(|_| self.tool == QUESTION).into_iter().flatten();
        questions.filter_map(|question| Some(question.get("question")?.as_str()?.into())).collect()
    }

    fn shown_questions(&self) -> Option<Vec<Value>> {
        let questions = self.input.get("questions")?.as_array().filter(|all| !all.is_empty())?;
        questions.iter().map(shown_question).collect()
    }

    fn text(&self, name: &str) -> Option<&'r str> {
        self.input.get(name)?.as_str()
    }

    fn path(&self, name: &str, inside: &str, directory: &Path, ask: &mut Ask) -> Option<()> {
        placed(self.text(name)?, inside, directory, ask);
        Some(())
    }
}

/// Leave for `inside` where the path is, else to go outside.
fn placed(path: &str, inside: &str, directory: &Path, ask: &mut Ask) {
    let (permission, pattern) = match place(directory, path) {
        Place::Inside(relative) => (inside, relative),
        Place::Outside(absolute) => ("external_directory", absolute),
    };
    ask.permission = permission.to_owned();
    ask.is_edit = inside == "edit";
    ask.patterns = vec![pattern];
}

fn shown_question(question: &Value) -> Option<Value> {
    let options = question.get("options").and_then(Value::as_array);
    let options = options.into_iter().flatten().map(|option| {
        json!({"label": brief(&option["label"]), "description": brief(&option["description"])})
    });
    Some(json!({
        "question": brief(question.get("question").filter(|text| text.is_string())?),
        "header": brief(&question["header"]),
        "options": options.collect::<Vec<_>>(),
        "multiple": question["multiSelect"] == true,
    }))
}

/// The whole of a request `can_use_tool`.
pub(super) fn asked(key: &str, request: &Value, directory: &Path) -> Option<Ask> {
    let tool_use = Use::of(request, "input")?;
    let mut ask = Ask { key: key.to_owned(), ..tool_use.ask(directory)? };
    if ask.kind == InteractionKind::Question {
        return Some(ask);
    }
    ask.always = always(&ask, request, tool_use.tool);
    let field = |name: &str| request.get(name).map_or(Value::Null, brief);
    ask.detail = json!({
        "permission": ask.permission,
        "patterns": brief(&json!(ask.patterns)),
        "always": brief(&json!(ask.always)),
        "tool": tool_use.tool,
        "input": brief(tool_use.input),
        "description": field("description"),
        "blocked_path": field("blocked_path"),
        "session": if is_child(request) { "child" } else { "root" },
    });
    Some(ask)
}

/// Whether an agent asks that the main one started.
pub(super) fn is_child(request: &Value) -> bool {
    request.get("agent_id").is_some_and(Value::is_string)
}

/// What the backend itself would allow from now on, in the words of our own patterns, and what was
/// asked now. Empty where it would allow nothing.
fn always(ask: &Ask, request: &Value, tool: &str) -> Vec<String> {
    let suggestions = request.get("permission_suggestions").and_then(Value::as_array);
    let suggestions = suggestions.into_iter().flatten();
    let adding = suggestions.filter(|suggestion| suggestion["type"] == "addRules");
    let rules = adding.filter_map(|adding| adding["rules"].as_array()).flatten();
    let own = rules.filter(|rule| rule["toolName"] == tool);
    let contents: Vec<&str> = own.filter_map(|rule| rule["ruleContent"].as_str()).collect();
    if contents.is_empty() {
        return Vec::new();
    }
    let mut found: Vec<String> = match &*ask.permission {
        "bash" => contents.into_iter().flat_map(of_command).collect(),
        "webfetch" => ask.patterns.iter().filter_map(|url| Some(origin(url)? + "/*")).collect(),
        "external_directory" => {
            let absolute = contents.into_iter().filter_map(|content| content.strip_prefix('/'));
            absolute.map(|content| content.replace("**", "*")).collect()
        }
        _ => Vec::new(),
    };
    // What has a star of its own would allow more than was asked.
    let plain = ask.patterns.iter().filter(|pattern| !pattern.contains(['*', '?']));
    found.extend(plain.cloned());
    found
}

/// `touch *` and `touch:*` are for `touch` alone too.
fn of_command(content: &str) -> Vec<String> {
    let head = content.strip_suffix(":*").or_else(|| content.strip_suffix(" *"));
    match head {
        Some(head) => vec![head.to_owned(), format!("{head} *")],
        None if content.contains(['*', '?']) => Vec::new(),
        None => vec![content.to_owned()],
    }
}

/// Scheme, host and port.
fn origin(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let host = rest.split(['/', '?', '#', '\\']).next()?;
    (!host.contains('*')).then(|| format!("{scheme}://{host}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORK: &str = "/no/such/work";

    fn of(tool: &str, input: &Value) -> Option<Ask> {
        asked("k", &json!({"tool_name": tool, "input": input}), Path::new(WORK))
    }

    #[test]
    fn each_tool_has_a_permission_and_says_for_what() {
        for (tool, input, permission, patterns) in [
            ("Bash", json!({"command": "a && b"}), "bash", &["a", "b"][..]),
            ("Write", json!({"file_path": "/no/such/work/d/f"}), "edit", &["d/f"]),
            ("Edit", json!({"file_path": "f"}), "edit", &["f"]),
            ("MultiEdit", json!({"file_path": "/x"}), "external_directory", &["/x"]),
            ("NotebookEdit", json!({"notebook_path": "f"}), "edit", &["f"]),
            ("Read", json!({"file_path": "f"}), "read", &["f"]),
            ("Read", json!({"file_path": "../f"}), "external_directory", &["/no/such/f"]),
            ("Grep", json!({"pattern": "x"}), "grep", &["."]),
            ("Glob", json!({"pattern": "x", "path": "/x"}), "external_directory", &["/x"]),
            ("WebFetch", json!({"url": "http://h/x"}), "webfetch", &["http://h/x"]),
            ("WebSearch", json!({"query": "words"}), "websearch", &["words"]),
            ("mcp__server__Tool", json!({"x": 1}), "mcp__server__tool", &[]),
        ] {
            let ask = of(tool, &input).unwrap();
            assert_eq!((&*ask.permission, ask.kind), (permission, InteractionKind::Permission));
            assert_eq!(ask.patterns, patterns, "{tool}");
            assert_eq!(ask.detail["tool"], tool);
            assert_eq!(ask.detail["permission"], permission);
        }
    }

    #[test]
    fn a_request_without_what_is_needed_cannot_be_read() {
        for (tool, input) in [
            ("Bash", json!({})),
            ("Bash", json!({"command": 1})),
            ("Write", json!({"path": "x"})),
            ("WebFetch", json!({"url": null})),
            ("AskUserQuestion", json!({})),
            ("AskUserQuestion", json!({"questions": []})),
            ("AskUserQuestion", json!({"questions": [{"header": "x"}]})),
            ("Anything", json!("text")),
        ] {
            assert_eq!(of(tool, &input), None, "{tool} {input}");
        }
        assert_eq!(asked("k", &json!({"input": {}}), Path::new(WORK)), None);
    }

    #[test]
    fn a_question_shows_what_can_be_answered() {
        let option = |label: &str| json!({"label": label, "description": "d"});
        let questions = json!({"questions": [{"question": "Which?", "header": "H", "multiSelect": true,
            "options": [option("A"), option("B")]}, {"question": "Why?"}]});
        let ask = of("AskUserQuestion", &questions).unwrap();
        assert_eq!((ask.kind, &*ask.permission), (InteractionKind::Question, "question"));
        let wanted = json!({"questions": [
            {"question": "Which?", "header": "H", "multiple": true,
             "options": [option("A"), option("B")]},
            {"question": "Why?", "header": null, "multiple": false, "options": []},
        ]});
        assert_eq!(ask.detail, wanted);
        let request = json!({"tool_name": "AskUserQuestion", "input": questions});
        assert_eq!(Use::of(&request, "input").unwrap().questions(), ["Which?", "Why?"]);
    }

    #[test]
    fn always_is_what_the_backend_suggests_in_patterns_of_ours() {
        let always = |tool: &str, input: Value, rules: Value| {
            let request = json!({"tool_name": tool, "input": input, "permission_suggestions": [
                {"type": "setMode", "mode": "acceptEdits"}, {"type": "addRules", "rules": rules}]});
            asked("k", &request, Path::new(WORK)).unwrap().always
        };
        let rule = |tool: &str, content: &str| json!({"toolName": tool, "ruleContent": content});
        let bash = always(
            "Bash",
            json!({"command": "touch z && rm *.o"}),
            json!([rule("Bash", "touch z *"), rule("Bash", "rm:*"), rule("Read", "//x/**")]),
        );
        assert_eq!(bash, ["touch z", "touch z *", "rm", "rm *", "touch z"]);
        let read = always("Read", json!({"file_path": "/x/a"}), json!([rule("Read", "//x/**")]));
        assert_eq!(read, ["/x/*", "/x/a"]);
        let fetch = always(
            "WebFetch",
            json!({"url": "http://h:1/a?b"}),
            json!([rule("WebFetch", "domain:h")]),
        );
        assert_eq!(fetch, ["http://h:1/*"]);
        assert_eq!(always("Bash", json!({"command": "x"}), json!([])), Vec::<String>::new());
    }
}
