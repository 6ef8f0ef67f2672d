//! Makes a job: its directory appears whole, with what was asked, the first line of its journal, and
//! its lease in the hands of its maker.

use std::hash::{BuildHasher, Hasher, RandomState};

use dcli_core::job::id::JobId;
use dcli_core::job::machine::Job;

use super::capabilities::snapshot;
use super::engine::Engine;
use super::error::JobError;
use super::fault;
use super::repository::Repository;
use super::spec::{Spec, created, kept};
use crate::exec::stamp::now;
use crate::exec::version::Found;
use crate::exec::{Descent, Prepared, contained_now, descend, prepare, refused_now};
use crate::store::groups;
use crate::store::job_writer::JobWriter;
use crate::store::new_job::NewJob;
use crate::store::record::Durability;
use crate::store::root::WritableRoot;

/// A job that was just made.
pub(super) struct Made {
    pub writer: JobWriter,
    pub job: Job,
}

/// A new id: this second, and chance.
pub(super) fn new_id() -> Result<JobId, JobError> {
    let created = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
    let chance = RandomState::new().build_hasher().finish().to_ne_bytes();
    JobId::new(&created, chance).map_err(|error| JobError::Internal { message: error.to_string() })
}

/// A job that may be made.
pub(super) struct Checked {
    pub prepared: Prepared,
    /// Its place among the live runs below the job around it.
    pub descent: Option<Descent>,
}

/// Every check that needs no job. What it refuses leaves nothing behind. A cap is looked at here, and
/// counted when the run starts: of several jobs that are made at once, one too many fails then.
pub(super) fn check(engine: &Engine, spec: &mut Spec, id: &JobId) -> Result<Checked, JobError> {
    spec.request.job = Some(engine.stamp(id, spec.delegate));
    spec.request.action_id = id.to_string();
    spec.request.demand_version = true;
    refuse_secret(spec)?;
    let prepared = prepare(&engine.host, &spec.request).map_err(JobError::refused)?;
    spec.request.workspace.clone_from(&prepared.workspace);
    contained_now(&engine.host, spec.request.containment).map_err(JobError::refused)?;
    let descent = descend(&engine.host).map_err(JobError::refused)?;
    refused_now(&engine.host).map_err(JobError::refused)?;
    Ok(Checked { prepared, descent })
}

/// The password of a job's server is made by its worker, and known to nobody else.
fn refuse_secret(spec: &Spec) -> Result<(), JobError> {
    let Some(server) = &spec.request.executor.record.server else { return Ok(()) };
    let own = std::iter::once(&server.admission).chain(&server.private_state);
    let mut given = own.filter(|name| spec.request.env.iter().any(|(given, _)| given == *name));
    let Some(name) = given.next() else { return Ok(()) };
    let message = format!(
        "the variable {name} is set by dcli for each job anew; no job was created; leave it out of \
         --env"
    );
    Err(JobError::Usage { message })
}

/// What the backend can do now: frozen, since a job outlives upgrades. The rungs of containment are
/// no part of it: trying them all takes longer than everything else here, and the job has the one
/// that holds it.
fn capabilities(spec: &Spec, prepared: &Prepared) -> Option<serde_json::Value> {
    let found = Found { program: Ok(prepared.program.clone()), version: prepared.version.clone() };
    serde_json::to_value(snapshot(&spec.request.executor, found, Vec::new())).ok()
}

/// Makes the job. It is not there before everything in it is on the disk.
pub(super) fn create(
    engine: &Engine,
    root: &WritableRoot,
    id: &JobId,
    spec: &Spec,
    prepared: &Prepared,
) -> Result<Made, JobError> {
    let repository = Repository::of(&prepared.workspace);
    let failed = |error| JobError::record(id, error);
    let redactor = engine.redactor(&spec.request.env);
    let mut new = NewJob::create(root, &repository.key, id, redactor).map_err(failed)?;
    let writer = new.writer();
    let path = writer.dir().path().to_owned();
    let io = |source| JobError::io(&path, source);
    writer.write_request(&kept(id, spec, &repository)?).map_err(io)?;
    writer.write_prompt(spec.request.prompt.as_bytes()).map_err(io)?;
    let (at, mut first) = (now(), created(id, spec, &repository, engine.ancestry()));
    first.backend_version.clone_from(&prepared.version);
    first.warnings.extend(prepared.warnings.iter().cloned());
    first.capabilities_snapshot = capabilities(spec, prepared);
    let (job, event) = Job::new(&at, first);
    fault::point("make");
    writer.append_event(&at, &event).map_err(|error| JobError::journal(id, &error))?;
    fault::point("append created");
    writer.write_status(job.status(), Durability::Nameless).map_err(io)?;
    if let Some(group) = &spec.group {
        groups::join(root, group, new.writer().dir()).map_err(|e| JobError::io(root.path(), e))?;
    }
    let writer = new.publish().map_err(failed)?;
    fault::point("publish");
    Ok(Made { writer, job })
}
