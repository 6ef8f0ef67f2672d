//! Capabilities: what a backend can do on this machine, from its record, its version and the host's rungs.
//!
//! Nothing is looked up here: whoever found the program and probed the host brings both along. A
//! job keeps the value as it was when the job was made.

use schemars::JsonSchema;
use semver::{Version, VersionReq};
use serde::{Deserialize, Serialize};

use crate::envelope::AccessEnforcement;
use crate::executor::Executor;
use crate::executor::access::Access;
use crate::executor::controls::{Contract, Field, Vocabulary};
use crate::executor::record::{
    LivenessSignal, NativeEnforcement, Record, RungKind, Usage, Verification,
};
use crate::job::state::Network;

/// Version of the shape of [`Capabilities`] and [`CapabilityList`].
pub const SCHEMA_VERSION: u32 = 1;

/// How a version stands to a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// The record was tested with it.
    Tested,
    /// Inside the supported range.
    InRange,
    /// Outside the supported range.
    OutOfRange,
    /// Known not to work.
    KnownBad,
    /// Not known.
    Unknown,
}

impl Standing {
    /// How `version` stands to `record`.
    #[must_use]
    pub fn of(record: &Record, version: Option<&str>) -> Self {
        let rule = &record.version;
        let Some(version) = version.and_then(|text| text.parse::<Version>().ok()) else {
            return Self::Unknown;
        };
        let named = |list: &[String]| list.iter().any(|known| *known == version.to_string());
        if named(&rule.known_bad) {
            return Self::KnownBad;
        }
        if named(&rule.tested) {
            return Self::Tested;
        }
        match rule.supported.parse::<VersionReq>() {
            Ok(range) if !range.matches(&version) => Self::OutOfRange,
            _ => Self::InRange,
        }
    }

    /// Whether a job with this version is refused.
    #[must_use]
    pub fn is_refused(self) -> bool {
        matches!(self, Self::OutOfRange | Self::KnownBad)
    }
}

/// What was found on this machine, as whoever looked brings it along.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Finding {
    /// The program.
    pub program: Option<String>,
    /// Why there is none.
    pub problem: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// The rungs of containment of this host, the strongest first. A job's own snapshot leaves them
    /// out: its `containment` is the one that holds it.
    pub containment: Vec<RungCapability>,
}

/// One rung of containment on this host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RungCapability {
    /// `pid-namespace`, `guardian`, `process-group`, `job-object`, `taskkill-tree` or `none`.
    pub kind: String,
    /// Whether this host gives it, found by running it once.
    pub available: bool,
    /// Why it does not.
    pub reason: Option<String>,
}

/// The version found, and the versions that the record names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VersionCapability {
    /// What the program said.
    pub found: Option<String>,
    /// The range that the record supports, as a semver requirement; `null`: any.
    pub supported: Option<String>,
    /// Versions that the record was tested with.
    pub tested: Vec<String>,
    /// Versions known not to work.
    pub known_bad: Vec<String>,
    /// How the version found stands to these.
    pub standing: Standing,
}

/// One access: who enforces it, and what it means for the network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AccessCapability {
    /// Who keeps it.
    pub enforcement: AccessEnforcement,
    /// Whether its tools reach the network.
    pub network: Network,
}

/// Each access by its name on the command line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct AccessCapabilities {
    /// `--access read-only`.
    pub read_only: AccessCapability,
    /// `--access workspace`.
    pub workspace: AccessCapability,
    /// `--access unconfined`.
    pub unconfined: AccessCapability,
}

/// How a finished job can be taken up again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResumeKind {
    /// The backend continues its own session.
    ContinueBackendSession,
    /// A new session that starts from what the job left.
    ForkFromArtifacts,
    /// The same attempt again.
    RetryAttempt,
}

/// One option of the backend's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OptionCapability {
    /// Its name: `effort`, `variant`.
    pub name: String,
    /// The values it takes; `null`: any plain token.
    pub values: Option<Vec<String>>,
}

/// What silence of the backend means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LivenessCapability {
    /// Records come while it works, so that startup and idle deadlines apply.
    pub records: bool,
    /// The start of a tool is a record.
    pub tool_starts_announced: bool,
}

/// What the vendor reports of tokens and quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UsageCapability {
    /// Tokens.
    pub tokens: bool,
    /// Cost in the vendor's own figure.
    pub cost: bool,
    /// Quota windows.
    pub windows: bool,
}

/// Whether questions and permissions of a running job can be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InteractionCapability {
    /// Whether they can.
    pub supported: bool,
}

/// What one backend can do on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Capabilities {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The backend's id.
    pub backend: String,
    /// Its name for people.
    pub display_name: String,
    /// Where its record comes from: `shipped`, `user` or `file`.
    pub source: String,
    /// Whether the record was run against the real program.
    pub verified: bool,
    /// The program found on this machine.
    pub program: Option<String>,
    /// Why there is none.
    pub problem: Option<String>,
    /// Its version, and the versions known.
    pub version: VersionCapability,
    /// Who keeps each access.
    pub access: AccessCapabilities,
    /// Questions and permissions.
    pub interactions: InteractionCapability,
    /// What the backend itself can take up again.
    pub resume: Vec<ResumeKind>,
    /// Whether it can be asked for output that follows a JSON Schema.
    pub schema_output: bool,
    /// Whether `--model` names its model.
    pub model_option: bool,
    /// Its own options.
    pub options: Vec<OptionCapability>,
    /// What silence means.
    pub liveness: LivenessCapability,
    /// The rungs of a cancel, in order. After the last the tree has been ended.
    pub cancel: Vec<RungKind>,
    /// What it reports of tokens and quota.
    pub usage: UsageCapability,
    /// The rungs of containment of this host, the strongest first.
    pub containment: Vec<RungCapability>,
}

/// The capabilities of every backend.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CapabilityList {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// One entry a backend, in order of id.
    pub backends: Vec<Capabilities>,
}

impl Capabilities {
    /// What `executor` can do where `finding` was found.
    #[must_use]
    pub fn of(executor: &Executor, finding: Finding) -> Self {
        let record = &*executor.record;
        let contract = record.controls.as_ref();
        Self {
            schema_version: SCHEMA_VERSION,
            backend: record.id.clone(),
            display_name: record.display_name.clone(),
            source: executor.source.name().to_owned(),
            verified: record.verification == Verification::Verified,
            program: finding.program,
            problem: finding.problem,
            version: versions(record, finding.version),
            access: accesses(record),
            interactions: InteractionCapability {
                supported: record.server.is_some() || record.dialogue.is_some(),
            },
            resume: record.resume.iter().map(|_| ResumeKind::ContinueBackendSession).collect(),
            schema_output: record.schema_constrained_output,
            model_option: contract.is_some(),
            options: contract.map(options).unwrap_or_default(),
            liveness: LivenessCapability {
                records: record.liveness.signal == LivenessSignal::Records,
                tool_starts_announced: record.liveness.tool_starts_announced,
            },
            cancel: cancel(record),
            usage: usage(record.usage.as_ref()),
            containment: finding.containment,
        }
    }
}

/// Whether tools of `record` reach the network under `access`: what the record says was measured;
/// else nothing stands in their way where nobody enforces anything.
#[must_use]
pub fn network(record: &Record, access: Access) -> Network {
    let rules = &record.access;
    if rules.network_blocked.contains(&access) {
        return Network::Blocked;
    }
    match rules.enforcement == NativeEnforcement::Backend && access != Access::Unconfined {
        true => Network::Unknown,
        false => Network::Open,
    }
}

fn versions(record: &Record, found: Option<String>) -> VersionCapability {
    let rule = &record.version;
    VersionCapability {
        standing: Standing::of(record, found.as_deref()),
        found,
        supported: Some(rule.supported.clone()).filter(|range| !range.is_empty()),
        tested: rule.tested.clone(),
        known_bad: rule.known_bad.clone(),
    }
}

fn accesses(record: &Record) -> AccessCapabilities {
    let of = |access| AccessCapability {
        enforcement: record.access.unenforced_report(access),
        network: network(record, access),
    };
    AccessCapabilities {
        read_only: of(Access::ReadOnly),
        workspace: of(Access::Workspace),
        unconfined: of(Access::Unconfined),
    }
}

fn options(contract: &Contract) -> Vec<OptionCapability> {
    let option = |field: &Field| OptionCapability {
        name: field.name.clone(),
        values: match &field.vocabulary {
            Vocabulary::Listed(values) => Some(values.clone()),
            Vocabulary::Any(_) => None,
        },
    };
    contract.fields.iter().map(option).collect()
}

/// The record's rungs; the tree is ended last in any case.
fn cancel(record: &Record) -> Vec<RungKind> {
    let own = record.server.as_ref().map_or(&record.cancel, |server| &server.cancel);
    let mut rungs: Vec<RungKind> = own.iter().map(|rung| rung.rung).collect();
    if rungs.last() != Some(&RungKind::HardKill) {
        rungs.push(RungKind::HardKill);
    }
    rungs
}

fn usage(usage: Option<&Usage>) -> UsageCapability {
    UsageCapability {
        tokens: usage.is_some(),
        cost: usage.is_some_and(|usage| usage.cost_path.is_some()),
        windows: usage.is_some_and(|usage| usage.usage_windows.is_some()),
    }
}
