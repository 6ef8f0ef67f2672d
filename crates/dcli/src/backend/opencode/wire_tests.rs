use serde_json::json;

use super::*;

#[test]
fn unknown_fields_pass_and_used_ones_are_read() {
    let asked = json!([{
        "id": "per_1", "sessionID": "ses_1", "permission": "bash", "patterns": ["ls"],
        "always": ["ls *"], "metadata": {"command": "ls"}, "new": {"from": "a later version"},
        "tool": {"messageID": "msg_1", "callID": "call_1", "more": 1},
    }]);
    let read = permissions(&asked).unwrap();
    assert_eq!(read[0].patterns, ["ls"]);
    assert_eq!(read[0].call, Some(Call { message: "msg_1".into(), call: "call_1".into() }));
    assert_eq!(health(&json!({"healthy": true, "version": "1", "x": 0})).unwrap().version, "1");
}

#[test]
fn a_used_field_that_is_missing_or_retyped_is_named() {
    let cases = [
        (health(&json!({"healthy": true})).err(), "version is missing, and should be a text"),
        (place(&json!([])).err(), "directory is missing, and should be a text"),
        (permissions(&json!([{"id": 5}])).err(), "it[0].id is a number, and should be a text"),
        (permissions(&json!({})).err(), "it is an object, and should be a list"),
        (statuses(&json!({"s": {"type": 1}})).err(), "s.type is a number, and should be a text"),
        (
            messages(&json!([{"info": {"id": "m", "role": "user"}}])).err(),
            "it[0].parts is missing, and should be a list",
        ),
    ];
    for (found, expected) in cases {
        assert_eq!(found.unwrap().to_string(), expected);
    }
}

#[test]
fn sessions_that_are_not_idle_are_busy_or_wait_to_try_again() {
    let map = json!({
        "a": {"type": "busy"},
        "b": {"type": "retry", "attempt": 2, "message": "m", "next": 17},
        "c": {"type": "idle"},
        "d": {"type": "something new"},
    });
    let read = statuses(&map).unwrap();
    assert_eq!(read.keys().collect::<Vec<_>>(), ["a", "b", "d"]);
    let retry = Status::Retry { attempt: 2, message: "m".into(), next: json!(17) };
    assert_eq!((&read["b"], &read["d"]), (&retry, &Status::Busy));
}

#[test]
fn models_are_known_by_provider_and_name_and_have_variants() {
    let answer = json!({"providers": [
        {"id": "p", "options": {"apiKey": "never read"}, "models": {
            "m": {"variants": {"low": {}, "high": {}}},
            "a/b": {},
        }},
    ], "default": {}});
    let read = models(&answer).unwrap();
    assert_eq!(read.keys().collect::<Vec<_>>(), ["p/a/b", "p/m"]);
    assert_eq!(read["p/m"], ["low", "high"]);
    assert!(read["p/a/b"].is_empty());
}

#[test]
fn a_users_and_an_assistants_message_name_their_model_each_in_its_own_way() {
    let all = json!([
        {"info": {"id": "m1", "role": "user", "model": {"providerID": "p", "modelID": "m"}},
         "parts": []},
        {"info": {"id": "m2", "role": "assistant", "providerID": "p", "modelID": "n",
                  "time": {"created": 1, "completed": 2}, "finish": "stop"}, "parts": []},
    ]);
    let read = messages(&all).unwrap();
    assert_eq!(read[0].model.as_deref(), Some("p/m"));
    assert_eq!(read[1].model.as_deref(), Some("p/n"));
    assert!(read[1].is_completed && read[1].is_assistant && !read[0].is_assistant);
}
