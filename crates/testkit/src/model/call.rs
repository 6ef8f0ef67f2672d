//! From what a scripted tool call does to the tool that the client offered for it.
//!
//! The names and the arguments are read from the request's own tool list, so a CLI that renames an
//! argument is still served. Families seen: claude 2.1 (`Write Bash Read AskUserQuestion`), codex
//! 0.171 (`exec_command`, `apply_patch` for models it knows), opencode 1.18 (`write bash read
//! question`), qwen-code and gemini-cli (`write_file run_shell_command read_file`).

use serde_json::{Map, Value, json};

use super::answer::Call;
use super::request::{Asked, Offered};
use super::scenario::Tool;

const WRITE: &[&str] = &["Write", "write_file", "write", "apply_patch"];
const SHELL: &[&str] =
    &["Bash", "run_shell_command", "bash", "exec_command", "shell_command", "shell", "exec"];
const READ: &[&str] = &["Read", "read_file", "read"];
const ASK: &[&str] =
    &["AskUserQuestion", "question", "request_user_input", "ask_user_question", "ask_user"];

/// The call as the client expects it.
pub(super) fn map(tool: &Tool, asked: &Asked, id: String) -> Call {
    let call = |name: &str, args: Value| {
        let free_form = args.is_string();
        Call { id: id.clone(), name: name.to_owned(), args, free_form }
    };
    match tool {
        Tool::Raw { name, args } => call(name, args.clone()),
        Tool::Shell { command } => {
            let (name, args) = shell(asked, command);
            call(name, args)
        }
        Tool::Write { path, content } => {
            let (name, args) = write(asked, path, content);
            call(name, args)
        }
        Tool::Read { path } => match find(asked, READ) {
            Some(tool) => call(&tool.name, filled(tool, &[("path", json!(path))])),
            None => {
                let (name, args) = shell(asked, &format!("cat {}", quoted(path)));
                call(name, args)
            }
        },
        Tool::Ask { question } => {
            let name = find(asked, ASK).map_or(asked.wire.ask_tool(), |tool| tool.name.as_str());
            call(name, questions(question))
        }
    }
}

fn find<'a>(asked: &'a Asked, names: &[&str]) -> Option<&'a Offered> {
    names.iter().find_map(|name| asked.tools.iter().find(|tool| tool.name == *name))
}

fn shell<'a>(asked: &'a Asked, command: &str) -> (&'a str, Value) {
    let Some(tool) = find(asked, SHELL) else {
        return (asked.wire.shell_tool(), json!({"command": command, "description": "run it"}));
    };
    if tool.name == "exec" && tool.free_form {
        let source = format!(
            "const r = await tools.exec_command({{cmd: {}}}); text(JSON.stringify(r));",
            json!(command)
        );
        return (&tool.name, json!(source));
    }
    let is_list = tool.argument("command").and_then(|schema| schema.get("type"));
    let value = if is_list == Some(&json!("array")) {
        json!(["bash", "-lc", command])
    } else {
        json!(command)
    };
    (&tool.name, filled(tool, &[("command", value)]))
}

fn write<'a>(asked: &'a Asked, path: &str, content: &str) -> (&'a str, Value) {
    match find(asked, WRITE) {
        Some(tool) if tool.free_form => (&tool.name, json!(patch(path, content))),
        Some(tool) if tool.name != "apply_patch" => {
            (&tool.name, filled(tool, &[("path", json!(path)), ("content", json!(content))]))
        }
        _ => shell(asked, &format!("printf %s {} > {}", quoted(content), quoted(path))),
    }
}

/// Fills in what the tool's schema names: the meanings given, and the arguments that some CLI
/// insists on. A tool without a schema gets every meaning under its plain name.
fn filled(tool: &Offered, meanings: &[(&str, Value)]) -> Value {
    let mut args = Map::new();
    for (meaning, value) in meanings {
        let names = spellings(meaning);
        let name = names.iter().find(|name| tool.argument(name).is_some());
        args.insert((*name.unwrap_or(&names[0])).to_owned(), value.clone());
    }
    for (name, value) in [("description", json!("run it")), ("is_background", json!(false))] {
        if tool.argument(name).is_some() {
            args.insert(name.to_owned(), value);
        }
    }
    Value::Object(args)
}

fn spellings(meaning: &str) -> &'static [&'static str; 4] {
    match meaning {
        "path" => &["file_path", "filePath", "absolute_path", "path"],
        "command" => &["command", "cmd", "script", "input"],
        _ => &["content", "contents", "file_text", "text"],
    }
}

fn questions(question: &str) -> Value {
    let option = |label: &str| json!({"label": label, "description": format!("choose {label}")});
    json!({"questions": [{
        "id": "q1",
        "header": "Pick",
        "question": question,
        "multiSelect": false,
        "options": [option("A"), option("B")],
    }]})
}

fn patch(path: &str, content: &str) -> String {
    let lines: String = content.lines().map(|line| format!("+{line}\n")).collect();
    format!("*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n")
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::map;
    use crate::model::request::{Asked, Offered};
    use crate::model::{Tool, Wire};

    fn call(wire: Wire, offered: &[(&str, Value)], tool: &Tool) -> (String, Value) {
        let tools = offered.iter().map(|(name, properties)| Offered {
            name: (*name).to_owned(),
            free_form: properties.is_null(),
            schema: json!({"properties": properties}),
        });
        let tools = tools.collect();
        let asked = Asked { wire, model: String::new(), stream: true, wants_json: false, tools };
        let call = map(tool, &asked, "id".to_owned());
        (call.name, call.args)
    }

    #[test]
    fn a_shell_command_takes_the_form_that_the_offered_tool_has() {
        let ls = Tool::Shell { command: "ls".into() };
        for (name, properties, args) in [
            (
                "Bash",
                json!({"command": {}, "description": {}}),
                json!({"command": "ls", "description": "run it"}),
            ),
            ("exec_command", json!({"cmd": {}}), json!({"cmd": "ls"})),
            (
                "shell",
                json!({"command": {"type": "array"}}),
                json!({"command": ["bash", "-lc", "ls"]}),
            ),
            (
                "run_shell_command",
                json!({"command": {}, "is_background": {}}),
                json!({"command": "ls", "is_background": false}),
            ),
        ] {
            let offered = [("unrelated", json!({})), (name, properties)];
            assert_eq!(call(Wire::Chat, &offered, &ls), (name.to_owned(), args));
        }
        let (name, code) = call(Wire::Responses, &[("exec", Value::Null)], &ls);
        assert_eq!(name, "exec");
        assert!(code.as_str().unwrap().contains(r#"exec_command({cmd: "ls"})"#), "{code}");
    }

    #[test]
    fn a_path_goes_under_the_name_that_the_offered_tool_has() {
        let read = Tool::Read { path: "/a b".into() };
        for argument in ["file_path", "filePath", "absolute_path", "path"] {
            let mut properties = json!({});
            properties[argument] = json!({"type": "string"});
            let mut args = json!({});
            args[argument] = json!("/a b");
            let called = call(Wire::Gemini, &[("read_file", properties)], &read);
            assert_eq!(called, ("read_file".to_owned(), args));
        }
        let shell = [("exec_command", json!({"cmd": {}}))];
        let called = call(Wire::Responses, &shell, &read);
        assert_eq!(called.1, json!({"cmd": "cat '/a b'"}));
    }

    #[test]
    fn a_question_is_asked_even_where_no_tool_for_it_is_offered() {
        let ask = Tool::Ask { question: "which?".into() };
        for (wire, name) in [
            (Wire::Anthropic, "AskUserQuestion"),
            (Wire::Responses, "request_user_input"),
            (Wire::Chat, "question"),
            (Wire::Gemini, "ask_user"),
        ] {
            let called = call(wire, &[], &ask);
            assert_eq!(called.0, name);
            assert_eq!(called.1["questions"][0]["question"], "which?");
        }
        let offered = [("ask_user_question", json!({}))];
        assert_eq!(call(Wire::Chat, &offered, &ask).0, "ask_user_question");
    }

    #[test]
    fn a_raw_call_is_passed_on_as_it_is() {
        let raw = Tool::Raw { name: "anything".into(), args: json!("free text") };
        assert_eq!(call(Wire::Chat, &[], &raw), ("anything".to_owned(), json!("free text")));
    }
}
