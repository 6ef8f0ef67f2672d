//! The session, and the prompt in it: made at most once each, also where an answer was lost.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::Opening;
use super::ears::{Ears, Told};
use super::fault::{Fault, Stage};
use super::http::CallError;
use super::link::{Link, RETRY, read, refused};
use super::negotiate::{Ground, unexpected};
use super::operations as ops;
use super::ruleset;
use super::wire::{self, SessionInfo};

/// How long a prompt is looked for whose answer was lost.
const LOOKED_FOR: Duration = Duration::from_secs(30);
/// How often making a session is tried: one whose answer was lost and that is not there either costs
/// nothing, and no prompt is in it.
const MOST: u8 = 5;

/// Makes the session and sees that it is where the job is.
pub(super) fn session(
    link: &mut Link,
    ears: &mut Ears,
    opening: &Opening,
    ground: &Ground,
) -> Result<String, Fault> {
    let permission = ruleset::session(opening.access, &opening.terms, &ground.own);
    let body = json!({"title": opening.title, "permission": permission});
    let made = create(link, ears, opening, &body)?;
    let wanted = opening.directory.display().to_string();
    if std::path::Path::new(&made.directory) != opening.directory {
        return Err(Fault::Misplaced { what: "made a session in", found: made.directory, wanted });
    }
    if made.project != ground.project {
        let (found, wanted) = (made.project, ground.project.clone());
        return Err(Fault::Misplaced { what: "made a session of project", found, wanted });
    }
    Ok(made.id)
}

fn create(
    link: &mut Link,
    ears: &mut Ears,
    opening: &Opening,
    body: &Value,
) -> Result<SessionInfo, Fault> {
    let mut last = String::new();
    for _ in 0..MOST {
        match link.attempt(&ops::CREATE, "", Some(body)) {
            Ok(Some(made)) => {
                return read("POST /session", Stage::Negotiation, wire::session(&made));
            }
            Ok(None) => last = link.last(),
            Err(error) => return Err(unexpected(error)),
        }
        ears.pause(RETRY).map_err(|Told| Fault::Told)?;
        let all = link.get(&ops::SESSIONS, "", (ears, Stage::Negotiation))?;
        let all = read("GET /session", Stage::Negotiation, wire::sessions(&all))?;
        let title = Some(&opening.title);
        if let Some(made) = all.into_iter().find(|session| session.title.as_ref() == title) {
            return Ok(made);
        }
    }
    Err(Fault::Unmade { tries: MOST, last })
}

/// Sends the prompt; the id of its message. It is sent once: after a lost answer it is looked for.
pub(super) fn prompt(
    link: &mut Link,
    ears: &mut Ears,
    opening: &Opening,
    session: &str,
) -> Result<String, Fault> {
    let own = own_id();
    let id = format!("msg_{own}");
    // With both ids a request that arrives twice is one prompt (measured with 1.18.33).
    let part = json!({"id": format!("prt_{own}"), "type": "text", "text": opening.prompt});
    let mut body = json!({"messageID": id, "parts": [part]});
    if let Some((provider, model)) = opening.model.as_ref().and_then(|model| model.split_once('/'))
    {
        body["model"] = json!({"providerID": provider, "modelID": model});
    }
    if let Some(variant) = &opening.variant {
        body["variant"] = variant.as_str().into();
    }
    match link.attempt(&ops::PROMPT, session, Some(&body)) {
        Ok(Some(_)) => Ok(id),
        Ok(None) => sought(link, ears, session, id),
        Err(error) => {
            let undone = "the session was made, and no prompt was taken";
            Err(Fault::Call { error, stage: Stage::Negotiation, undone })
        }
    }
}

fn sought(link: &mut Link, ears: &mut Ears, session: &str, id: String) -> Result<String, Fault> {
    let lost = link.last();
    let until = Instant::now() + LOOKED_FOR;
    loop {
        let answer = link.attempt(&ops::MESSAGES, session, None);
        let answer = answer.map_err(|error: CallError| refused(error, Stage::Work))?;
        if let Some(all) = answer {
            let all = read("GET /session/{sessionID}/message", Stage::Work, wire::messages(&all))?;
            if all.iter().any(|message| message.id == id) {
                return Ok(id);
            }
        }
        if Instant::now() >= until {
            return Err(Fault::Unconfirmed { sec: LOOKED_FOR.as_secs(), last: lost });
        }
        ears.pause(RETRY).map_err(|Told| Fault::Told)?;
    }
}

/// An id of our own, in the form of opencode's: they are sorted by time.
fn own_id() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let time = (now << 12) & 0xffff_ffff_ffff;
    let chance = RandomState::new().build_hasher().finish();
    format!("{time:012x}{:014x}", chance & 0xff_ffff_ffff_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_ids_have_opencodes_form_and_are_sorted_by_time() {
        let (first, second) = (own_id(), own_id());
        assert_ne!(first, second);
        assert_eq!(first.len(), 26, "{first}");
        assert!(first[..12] <= second[..12]);
    }
}
