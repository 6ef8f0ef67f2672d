use super::super::wire;
use super::*;

fn messages(value: &Value) -> Vec<Message> {
    wire::messages(value).unwrap()
}

fn assistant(id: &str, more: &Value, parts: &Value) -> Value {
    let mut info = json!({"id": id, "role": "assistant", "time": {"created": 1}});
    for (key, value) in more.as_object().unwrap() {
        info[key] = value.clone();
    }
    json!({"info": info, "parts": parts})
}

fn step(id: &str, reason: &str) -> Value {
    json!({"id": id, "type": "step-finish", "reason": reason, "tokens": {"total": 26}})
}

fn tool(id: &str, state: &Value) -> Value {
    json!({"id": id, "type": "tool", "tool": "bash", "callID": "call_1", "state": state})
}

fn kinds(news: &News) -> Vec<&str> {
    news.records.iter().map(|record| record["type"].as_str().unwrap()).collect()
}

#[test]
fn each_record_comes_once_in_its_order_and_the_last_step_when_it_is_released() {
    let all = json!([
        {"info": {"id": "m0", "role": "user"}, "parts": [{"id": "u", "type": "text", "text": "go"}]},
        assistant("m1", &json!({"finish": "tool-calls"}), &json!([
            {"id": "a", "type": "step-start"},
            tool("b", &json!({"status": "completed", "input": {"command": "ls"}})),
            step("c", "tool-calls"),
        ])),
        assistant("m2", &json!({"finish": "stop"}), &json!([
            {"id": "d", "type": "step-start"},
            {"id": "e", "type": "text", "text": "done", "time": {"start": 1, "end": 2}},
            step("f", "stop"),
        ])),
    ]);
    let mut projection = Projection::new("root");
    let news = projection.take("root", &messages(&all));
    let expected = ["step_start", "tool_start", "tool_end", "step_finish", "step_start", "text"];
    assert_eq!(kinds(&news), expected);
    assert_eq!(news.ran.len(), 1);
    let again = projection.take("root", &messages(&all));
    assert_eq!(again, News::default());
    assert_eq!(projection.release().unwrap()["part"]["reason"], "stop");
    assert_eq!(projection.release(), None);
}

#[test]
fn a_last_step_that_something_follows_was_not_the_last() {
    let mut projection = Projection::new("root");
    let first = assistant("m1", &json!({}), &json!([step("a", "stop")]));
    assert_eq!(kinds(&projection.take("root", &messages(&json!([first.clone()])))), [""; 0]);
    let second = assistant("m2", &json!({}), &json!([{"id": "b", "type": "step-start"}]));
    let news = projection.take("root", &messages(&json!([first, second])));
    assert_eq!(kinds(&news), ["child_step_finish", "step_start"]);
    assert_eq!(projection.release(), None);
}

#[test]
fn text_comes_when_it_is_whole_and_growth_is_noticed_before() {
    let mut projection = Projection::new("root");
    let growing = |text: &str, more: &Value| {
        let part = json!({"id": "a", "type": "text", "text": text, "time": {"start": 1}});
        messages(&json!([assistant("m1", more, &json!([part]))]))
    };
    let news = projection.take("root", &growing("th", &json!({})));
    assert!(news.records.is_empty() && news.grew);
    assert!(projection.take("root", &growing("these", &json!({}))).grew);
    assert!(!projection.take("root", &growing("these", &json!({}))).grew);
    let aborted = json!({"error": {"name": "MessageAbortedError"}});
    assert_eq!(kinds(&projection.take("root", &growing("these", &aborted))), ["text"]);
}

#[test]
fn a_running_tool_is_told_when_it_begins() {
    let mut projection = Projection::new("root");
    let mut at = |state: Value| {
        let all = json!([assistant("m1", &json!({}), &json!([tool("a", &state)]))]);
        let news = projection.take("root", &messages(&all));
        (kinds(&news).join(" "), news.ran.len())
    };
    assert_eq!(at(json!({"status": "pending"})), (String::new(), 0));
    assert_eq!(at(json!({"status": "running"})), ("tool_start".to_owned(), 0));
    assert_eq!(at(json!({"status": "running"})), (String::new(), 0));
    assert_eq!(at(json!({"status": "error", "error": "no"})), ("tool_end".to_owned(), 0));
}

#[test]
fn of_a_child_and_of_a_summary_only_calls_and_costs_are_told() {
    let mut projection = Projection::new("root");
    let parts = json!([
        {"id": "a", "type": "step-start"},
        tool("b", &json!({"status": "completed"})),
        {"id": "c", "type": "text", "text": "inner", "time": {"end": 1}},
        step("d", "stop"),
    ]);
    let all = messages(&json!([assistant("m1", &json!({}), &parts)]));
    let news = projection.take("child", &all);
    assert_eq!(kinds(&news), ["tool_start", "tool_end", "child_step_finish"]);
    assert_eq!(news.records[0]["part"]["callID"], "child/call_1");
    assert_eq!(news.records[0]["sessionID"], "root");
    assert_eq!(news.ran[0].call, "call_1");
    let summary = messages(&json!([assistant(
        "m2",
        &json!({"summary": true}),
        &json!([
            {"id": "e", "type": "text", "text": "a summary", "time": {"end": 1}},
            step("f", "stop"),
        ])
    )]));
    assert_eq!(kinds(&projection.take("root", &summary)), ["child_step_finish"]);
    assert_eq!(projection.release(), None);
}

#[test]
fn what_a_child_did_does_not_show_that_a_last_step_was_not_the_last() {
    let mut projection = Projection::new("root");
    let last = assistant("m1", &json!({}), &json!([step("a", "stop")]));
    projection.take("root", &messages(&json!([last])));
    let parts = json!([tool("b", &json!({"status": "completed"})), step("c", "stop")]);
    let news = projection.take("child", &messages(&json!([assistant("m2", &json!({}), &parts)])));
    assert_eq!(kinds(&news), ["tool_start", "tool_end", "child_step_finish"]);
    assert!(projection.release().is_some());
}
