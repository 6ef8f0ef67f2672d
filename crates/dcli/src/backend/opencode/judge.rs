//! Whether the job's session has come to its end, and to which: idle by evidence, and then by what
//! its messages say. That it is not in the map of busy sessions means nothing by itself.

use serde_json::Value;

use super::wire::{Message, Status};

/// How often it has to be absent from the map after it was busy.
const ABSENCES: u32 = 2;

/// What was seen of the session's activity since the prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Activity {
    was_busy: bool,
    was_idle: bool,
    absences: u32,
}

impl Activity {
    /// The map of busy sessions was read; this is what it has of the session.
    pub(super) fn listed(&mut self, status: Option<&Status>) {
        match status {
            Some(_) => *self = Self { was_busy: true, was_idle: false, absences: 0 },
            None => self.absences = self.absences.saturating_add(1),
        }
    }

    /// It has written a message: it was busy, whoever saw it.
    pub(super) fn wrote(&mut self) {
        self.was_busy = true;
    }

    /// The server said that it is idle.
    pub(super) fn idle(&mut self) {
        self.was_idle = true;
        self.absences = 0;
    }

    /// Whether it is proven to be idle.
    pub(super) fn is_idle(&self) -> bool {
        (self.was_idle && self.absences > 0) || (self.was_busy && self.absences >= ABSENCES)
    }

    /// Whether nothing was seen of it at all.
    pub(super) fn is_unseen(&self) -> bool {
        !self.was_busy && !self.was_idle
    }
}

/// What the messages of a session say that is idle.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum End {
    /// It answered.
    Answered,
    /// It failed with this.
    Failed(Value),
    /// It stopped without an answer.
    Stopped,
    /// It has not come to the end of a message: it is not idle, or the message is still on its way.
    Unfinished,
    /// It has written nothing.
    Unanswered,
}

/// What the messages say, of those that come after the prompt.
pub(super) fn end(messages: &[Message], prompt: &str) -> End {
    let after = messages.iter().position(|message| message.id == prompt).map_or(0, |at| at + 1);
    let last = messages[after..].iter().rfind(|message| message.is_assistant);
    let Some(last) = last else { return End::Unanswered };
    if let Some(error) = &last.error {
        return End::Failed(error.clone());
    }
    match last.finish.as_deref() {
        Some("stop") if last.is_summary => End::Stopped,
        // What was announced and is still open is no answer yet.
        Some("stop") if last.has_open_tool() => End::Unfinished,
        Some("stop") if last.is_completed => End::Answered,
        Some("stop") | None if !last.is_completed => End::Unfinished,
        _ => End::Stopped,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::wire;
    use super::*;

    #[test]
    fn absence_proves_nothing_until_it_was_busy_or_said_to_be_idle() {
        let mut activity = Activity::default();
        for _ in 0..100 {
            activity.listed(None);
        }
        assert!(!activity.is_idle() && activity.is_unseen());
        activity.listed(Some(&Status::Busy));
        activity.listed(None);
        assert!(!activity.is_idle());
        activity.listed(None);
        assert!(activity.is_idle());
        activity.listed(Some(&Status::Busy));
        assert!(!activity.is_idle());
        activity.idle();
        assert!(!activity.is_idle());
        activity.listed(None);
        assert!(activity.is_idle());
    }

    #[test]
    fn a_message_shows_that_it_was_busy_though_nobody_saw_it() {
        let mut activity = Activity::default();
        activity.wrote();
        activity.listed(None);
        activity.listed(None);
        assert!(activity.is_idle());
    }

    #[test]
    fn the_last_message_after_the_prompt_decides() {
        let user = json!({"info": {"id": "p", "role": "user"}, "parts": []});
        let said = |more: Value| {
            let mut info = json!({"id": "a", "role": "assistant", "time": {"completed": 1}});
            for (key, value) in more.as_object().unwrap() {
                info[key] = value.clone();
            }
            let all = json!([{"info": info, "parts": []}]);
            let mut list = vec![user.clone()];
            list.extend(all.as_array().unwrap().clone());
            end(&wire::messages(&Value::Array(list)).unwrap(), "p")
        };
        assert_eq!(said(json!({"finish": "stop"})), End::Answered);
        assert_eq!(said(json!({"finish": "stop", "summary": true})), End::Stopped);
        assert_eq!(said(json!({"finish": "tool-calls"})), End::Stopped);
        assert_eq!(said(json!({})), End::Stopped);
        assert_eq!(said(json!({"time": {}})), End::Unfinished);
        assert_eq!(said(json!({"finish": "stop", "time": {}})), End::Unfinished);
        let error = json!({"name": "APIError"});
        assert_eq!(said(json!({"error": error.clone()})), End::Failed(error));
        let alone = wire::messages(&json!([user])).unwrap();
        assert_eq!(end(&alone, "p"), End::Unanswered);
        let before = json!([{"info": {"id": "a", "role": "assistant", "finish": "stop"}, "parts": []}, user]);
        assert_eq!(end(&wire::messages(&before).unwrap(), "p"), End::Unanswered);
    }
}
