//! What goes wrong with an answer, as a script has it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One fault.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Fault {
    /// The operation, as the description writes it: `GET /permission`; `*`: all.
    pub route: String,
    /// From which call of it on, counted from 1.
    pub from: usize,
    /// How many calls; `None`: all from then on.
    pub times: Option<usize>,
    /// Only once a prompt has come; calls are counted from there.
    pub after_prompt: bool,
    /// What.
    pub is: Kind,
}

/// What goes wrong.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Kind {
    /// It is not answered, and not done. The connection stays open.
    #[default]
    Stall,
    /// It is not done; the connection is closed.
    Drop,
    /// It is done; the connection is closed without an answer.
    DropAfter,
    /// It is answered after so many milliseconds.
    DelayMs(u64),
    /// It is not done; this status, with an error object.
    Status(u16),
    /// It is done; this status with this JSON in place of the answer.
    Body(u16, Value),
    /// It is done; status 200 and this text in place of the answer.
    Raw(String),
    /// What this pointer leads to in the answer becomes this.
    Retype(String, Value),
    /// Half of the answer, then the connection is closed.
    Cut,
}

impl Default for Fault {
    fn default() -> Self {
        Self { route: "*".to_owned(), from: 1, times: None, after_prompt: false, is: Kind::Stall }
    }
}

impl Fault {
    /// This, whenever `route` is called.
    #[must_use]
    pub fn of(route: &str, is: Kind) -> Self {
        Self { route: route.to_owned(), is, ..Self::default() }
    }

    /// Not for the first calls.
    #[must_use]
    pub fn from(mut self, from: usize) -> Self {
        self.from = from;
        self
    }

    /// For so many calls only.
    #[must_use]
    pub fn times(mut self, times: usize) -> Self {
        self.times = Some(times);
        self
    }

    /// Only once a prompt has come.
    #[must_use]
    pub fn after_prompt(mut self) -> Self {
        self.after_prompt = true;
        self
    }

    /// Whether it strikes at the `nth` call of `route`; `since`: the same, counted from the prompt.
    pub(super) fn strikes(&self, route: &str, nth: usize, since: usize) -> bool {
        let nth = if self.after_prompt { since } else { nth };
        let last = self.times.map_or(usize::MAX, |times| self.from.saturating_add(times));
        (self.route == "*" || self.route == route) && nth >= self.from.max(1) && nth < last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_strikes_its_own_route_from_its_call_on_for_its_times() {
        let fault = Fault::of("GET /permission", Kind::Drop).from(3).times(2);
        let struck: Vec<_> =
            (1..9).filter(|nth| fault.strikes("GET /permission", *nth, 0)).collect();
        assert_eq!(struck, [3, 4]);
        assert!(!fault.strikes("GET /question", 3, 3));
        let late = Fault::of("*", Kind::Stall).after_prompt();
        assert!(!late.strikes("GET /x", 50, 0) && late.strikes("GET /x", 51, 1));
    }
}
