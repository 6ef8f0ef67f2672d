//! Everything that is made sure of before anything is created: that the server is the job's own, that
//! its version and its operations are known, and that it works where the job does.

use std::collections::BTreeMap;
use std::path::Path;

use semver::{Version, VersionReq};
use serde_json::Value;

use super::Opening;
use super::ears::Ears;
use super::fault::{Fault, Stage};
use super::link::{Link, read, refused};
use super::operations::{self as ops, Operation};
use super::ruleset::{self, Own};
use super::wire;
use crate::store::versions;

/// The most names that a message lists.
const NAMED: usize = 10;

/// What is known of the server before the session.
pub(super) struct Ground {
    pub version: String,
    pub project: String,
    /// What the user's configuration denies.
    pub own: Own,
    /// Each model with its variants.
    pub models: BTreeMap<String, Vec<String>>,
    /// The model of a prompt that names none, where the configuration says so.
    pub default_model: Option<String>,
}

/// Negotiates.
pub(super) fn negotiate(
    link: &mut Link,
    ears: &mut Ears,
    opening: &Opening,
) -> Result<Ground, Fault> {
    stranger(link, ears)?;
    let version = version(link, ears, &opening.supported)?;
    let mut get =
        |operation: &'static Operation| link.get(operation, "", (&mut *ears, Stage::Negotiation));
    let negotiated = Stage::Negotiation;
    place(&read("GET /path", negotiated, wire::place(&get(&ops::PLACE)?))?, &opening.directory)?;
    let project = read("GET /project/current", negotiated, wire::project(&get(&ops::PROJECT)?))?;
    // The server takes 1.5 s to describe itself: once for each binary is enough.
    let label = ops::label(&version);
    if !versions::is_proven(&opening.program, &label) {
        if let Some((what, operation)) = ops::missing(&get(&ops::DOC)?) {
            return Err(Fault::Lacks { what, operation, supported: opening.supported.clone() });
        }
        // What cannot be remembered is asked again.
        let _ = versions::prove(&opening.program, &label);
    }
    read("GET /session/status", negotiated, wire::statuses(&get(&ops::STATUS)?))?;
    read("GET /permission", negotiated, wire::permissions(&get(&ops::PERMISSIONS)?))?;
    read("GET /question", negotiated, wire::questions(&get(&ops::QUESTIONS)?))?;
    let (user, merged) = (get(&ops::USER_CONFIG)?, get(&ops::CONFIG)?);
    let agents = get(&ops::AGENTS)?;
    let variable = ruleset::variable(opening.access, &opening.terms);
    let own = ruleset::own(&user, &merged, &agents, &variable);
    let models = read("GET /config/providers", negotiated, wire::models(&get(&ops::PROVIDERS)?))?;
    let default_model = merged.get("model").and_then(Value::as_str).map(str::to_owned);
    let ground = Ground { version, project, own, models, default_model };
    ground.has_what_is_asked(opening)?;
    Ok(ground)
}

/// A server that answers without the password is not the job's own; it is not sent the password.
fn stranger(link: &mut Link, ears: &mut Ears) -> Result<(), Fault> {
    loop {
        match link.client.without_password(&ops::HEALTH, link.patience()) {
            Ok(401 | 403) => return Ok(()),
            Ok(status) if status < 500 => {
                return Err(Fault::Open { url: link.client.url().to_owned(), status });
            }
            _ => link.silence()?,
        }
        ears.pause(super::link::RETRY).map_err(|_| Fault::Told)?;
    }
}

fn version(link: &mut Link, ears: &mut Ears, supported: &str) -> Result<String, Fault> {
    let url = link.client.url().to_owned();
    let answer = link.get(&ops::HEALTH, "", (ears, Stage::Negotiation));
    let answer = match answer {
        Err(Fault::Call { error, .. }) if matches!(error.status(), Some(401 | 403)) => {
            return Err(Fault::Stranger { url });
        }
        answer => answer?,
    };
    let health = read("GET /global/health", Stage::Negotiation, wire::health(&answer))?;
    if !health.healthy {
        return Err(Fault::Unwell { url });
    }
    let version = health.version;
    let is_known = match (Version::parse(&version), VersionReq::parse(supported)) {
        (Ok(found), Ok(range)) => range.matches(&found),
        (Err(_), Ok(_)) => supported.is_empty(),
        (_, Err(_)) => true,
    };
    match is_known {
        true => Ok(version),
        false => Err(Fault::Version { version, supported: supported.to_owned() }),
    }
}

fn place(found: &str, wanted: &Path) -> Result<(), Fault> {
    if Path::new(found) == wanted {
        return Ok(());
    }
    let wanted = wanted.display().to_string();
    Err(Fault::Misplaced { what: "works in", found: found.to_owned(), wanted })
}

impl Ground {
    /// Model and variant, as far as they were asked for.
    fn has_what_is_asked(&self, opening: &Opening) -> Result<(), Fault> {
        if let Some(model) = &opening.model {
            self.has_model(model, "no prompt was sent")?;
        }
        let model = opening.model.as_ref().or(self.default_model.as_ref());
        let (Some(variant), Some(model)) = (&opening.variant, model) else { return Ok(()) };
        let Some(variants) = self.models.get(model).filter(|all| !all.contains(variant)) else {
            return Ok(());
        };
        Err(Fault::Variant {
            model: model.clone(),
            variant: variant.clone(),
            available: listed("its variants are", variants.iter()),
        })
    }

    /// Whether there is such a model.
    pub(super) fn has_model(&self, model: &str, undone: &'static str) -> Result<(), Fault> {
        if self.models.contains_key(model) {
            return Ok(());
        }
        let provider = model.split_once('/').map(|(provider, _)| format!("{provider}/"));
        let beside = |name: &&String| provider.as_ref().is_some_and(|own| name.starts_with(own));
        let siblings: Vec<&String> = self.models.keys().filter(beside).collect();
        let available = match siblings.is_empty() {
            true => listed("there are", self.models.keys()),
            false => listed("of that provider there are", siblings.into_iter()),
        };
        Err(Fault::Model { model: model.to_owned(), available, undone })
    }
}

fn listed<'n>(what: &str, names: impl Iterator<Item = &'n String>) -> String {
    let names: Vec<&str> = names.map(String::as_str).collect();
    if names.is_empty() {
        return format!("{what} none");
    }
    let more = names.len().saturating_sub(NAMED);
    let shown = names[..names.len() - more].join(", ");
    if more == 0 { format!("{what} {shown}") } else { format!("{what} {shown} and {more} more") }
}

/// The server refused a call that it should know.
pub(super) fn unexpected(error: super::http::CallError) -> Fault {
    refused(error, Stage::Negotiation)
}
