//! What each operation answers.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::description::document;
use super::http::Answer;
use super::turn;
use super::world::{Facts, Reply, World, put};

/// Does what was asked: the operation as it is described, what fills its gap, its body.
pub(super) fn answer(world: &Arc<World>, route: &str, id: &str, body: &Value) -> Answer {
    match route {
        "GET /permission" => world.with(|facts| {
            let ids = facts.permissions.iter().filter_map(|one| one.get("id")?.as_str());
            let ids: Vec<String> = ids.map(str::to_owned).collect();
            facts.listed.extend(ids);
            Answer::ok(&json!(facts.permissions))
        }),
        "GET /question" => world.with(|facts| Answer::ok(&json!(facts.questions))),
        "GET /session" => world.with(|facts| Answer::ok(&json!(facts.sessions))),
        "GET /session/status" => world.with(|facts| Answer::ok(&json!(facts.status))),
        "POST /session" => Answer::ok(&world.open(body, None)),
        "POST /permission/{requestID}/reply" => permission(world, id, body),
        "POST /question/{requestID}/reply" => match body.get("answers") {
            Some(answers) if answers.is_array() => {
                replied(world, id, Reply::Answers(answers.clone()), "QuestionNotFoundError")
            }
            _ => bad("Missing key\n  at [\"answers\"]"),
        },
        "POST /question/{requestID}/reject" => {
            replied(world, id, Reply::Word("dismiss".to_owned(), None), "QuestionNotFoundError")
        }
        _ if route.contains("{sessionID}") => {
            if !world.with(|facts| facts.has(id)) {
                return Answer::not_found(id);
            }
            of_session(world, route, id, body)
        }
        _ => about(world, route),
    }
}

fn of_session(world: &Arc<World>, route: &str, id: &str, body: &Value) -> Answer {
    match route {
        "GET /session/{sessionID}" => Answer::ok(&session(world, id)),
        "GET /session/{sessionID}/children" => world.with(|facts| {
            let parent = |one: &&Value| one.get("parentID").and_then(Value::as_str) == Some(id);
            Answer::ok(&json!(facts.sessions.iter().filter(parent).collect::<Vec<_>>()))
        }),
        "GET /session/{sessionID}/message" => {
            world.with(|facts| Answer::ok(&json!(facts.messages.get(id))))
        }
        "PATCH /session/{sessionID}" => {
            world.with(|facts| append_rules(facts, id, body));
            Answer::ok(&session(world, id))
        }
        "POST /session/{sessionID}/abort" => {
            world.with(|facts| {
                if facts.status.contains_key(id) {
                    facts.aborted.insert(id.to_owned());
                }
            });
            Answer::ok(&json!(true))
        }
        _ => prompt(world, id, body),
    }
}

fn session(world: &World, id: &str) -> Value {
    let is_it = |one: &&Value| one.get("id").and_then(Value::as_str) == Some(id);
    world.with(|facts| facts.sessions.iter().find(is_it).cloned()).unwrap_or_default()
}

fn append_rules(facts: &mut Facts, id: &str, body: &Value) {
    let is_it = |one: &&mut Value| one.get("id").and_then(Value::as_str) == Some(id);
    let Some(session) = facts.sessions.iter_mut().find(is_it) else { return };
    let rules = |of: &Value| of.get("permission").and_then(Value::as_array).cloned();
    let all: Vec<Value> = rules(session).into_iter().chain(rules(body)).flatten().collect();
    put(session, "permission", json!(all));
}

fn prompt(world: &Arc<World>, session: &str, body: &Value) -> Answer {
    if !body.get("parts").is_some_and(Value::is_array) {
        return bad("Expected array\n  at [\"parts\"]");
    }
    let own = body.get("messageID").and_then(Value::as_str);
    if own.is_some_and(|id| !id.starts_with("msg")) {
        return bad("Expected a string starting with \"msg\"\n  at [\"messageID\"]");
    }
    let (user, nth) = world.with(|facts| {
        facts.prompts += 1;
        let user = turn::ask(facts, session, own, body);
        (user, facts.prompts)
    });
    let name = |key: &str| body.pointer(key).and_then(Value::as_str);
    let model = name("/model/providerID").zip(name("/model/modelID"));
    let model = model.map(|(provider, model)| format!("{provider}/{model}"));
    match model.filter(|model| !world.script.models.contains_key(model)) {
        Some(model) => turn::unknown_model(world, session, &model),
        None => {
            let turns = &world.script.turns;
            let steps = turns.get(nth - 1).or(turns.last()).cloned().unwrap_or_default();
            turn::begin(world, session, &user, steps);
        }
    }
    Answer::empty(204)
}

fn permission(world: &World, id: &str, body: &Value) -> Answer {
    let word = |key: &str| body.get(key).and_then(Value::as_str).map(str::to_owned);
    let reply =
        word("reply").filter(|reply| ["once", "always", "reject"].contains(&reply.as_str()));
    let Some(reply) = reply else {
        return bad("Expected once, always or reject\n  at [\"reply\"]");
    };
    let said = word("message").filter(|said| !said.is_empty());
    replied(world, id, Reply::Word(reply, said), "PermissionNotFoundError")
}

fn replied(world: &World, id: &str, reply: Reply, absent: &str) -> Answer {
    if world.with(|facts| facts.reply(id, reply)) {
        return Answer::ok(&json!(true));
    }
    let message = format!("request not found: {id}");
    Answer::json(404, &json!({"_tag": absent, "requestID": id, "message": message}))
}

fn bad(message: &str) -> Answer {
    let data = json!({"message": message, "kind": "Payload"});
    Answer::json(400, &json!({"name": "BadRequest", "data": data}))
}

/// What does not change.
fn about(world: &World, route: &str) -> Answer {
    let script = &world.script;
    let home = "/home/user";
    Answer::ok(&match route {
        "GET /global/health" => json!({"healthy": true, "version": script.version}),
        "GET /path" => json!({
            "home": home, "state": format!("{home}/.local/state/opencode"),
            "config": format!("{home}/.config/opencode"), "worktree": "/",
            "directory": script.directory.as_ref().unwrap_or(&world.directory),
        }),
        "GET /project/current" => {
            json!({"id": "global", "worktree": "/", "time": {"created": 1}, "sandboxes": []})
        }
        "GET /config" | "GET /global/config" => script.config.clone(),
        "GET /config/providers" => providers(world),
        "GET /agent" => agents(),
        "GET /doc" => document(&script.lacks),
        _ => return Answer::not_found(route),
    })
}

fn providers(world: &World) -> Value {
    let mut all: Map<String, Value> = Map::new();
    for (name, variants) in &world.script.models {
        let (provider, model) = name.split_once('/').unwrap_or((name, ""));
        let variants: Map<String, Value> =
            variants.iter().map(|variant| (variant.clone(), json!({}))).collect();
        let entry = all.entry(provider).or_insert_with(|| {
            json!({"id": provider, "name": provider, "source": "config", "env": [],
                   "options": {"apiKey": "stub-key"}, "models": {}})
        });
        if let Some(models) = entry.get_mut("models") {
            put(models, model, json!({"id": model, "providerID": provider, "variants": variants}));
        }
    }
    json!({"providers": all.values().collect::<Vec<_>>(), "default": {"stub": "stub-model"}})
}

fn agents() -> Value {
    let rule =
        |name: &str, action: &str| json!({"permission": name, "pattern": "*", "action": action});
    let rules = [rule("*", "allow"), rule("doom_loop", "ask"), rule("external_directory", "ask")];
    let agent = |name: &str, mode: &str| json!({"name": name, "mode": mode, "native": true, "permission": rules, "options": {}});
    json!([agent("build", "primary"), agent("plan", "primary"), agent("general", "subagent")])
}
