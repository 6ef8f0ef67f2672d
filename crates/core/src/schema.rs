//! JSON Schemas (draft 2020-12) of everything that is printed as JSON: one table of names.
//!
//! A schema describes what this version writes: every key that is always there is required, with
//! `null` where data is missing. Keys that it does not name are not forbidden, since fields are
//! added over time and a reader must bear that.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use serde_json::{Map, Value};

use crate::capability::{Capabilities, CapabilityList};
use crate::doctor::DoctorReport;
use crate::envelope::ResultEnvelope;
use crate::fact::FactLine;
use crate::job::answer::{
    CleanupReport, DebugBundle, InteractionListing, JobReport, Listing, Responded, Submitted,
};
use crate::job::status::Status;
use crate::report::{BackendsReport, ErrorReport, EventLine, SchemaEntry, SchemasReport};
use crate::setting::ConfigReport;

/// Times as they are written: RFC 3339, UTC, with milliseconds.
pub const TIME: &str = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$";

/// One shape.
#[derive(Clone, Copy)]
pub struct Shape {
    /// The name that `dcli schema` takes.
    pub name: &'static str,
    /// What prints it.
    pub title: &'static str,
    make: fn() -> schemars::Schema,
}

/// Every shape, in the order of the names.
pub const SHAPES: &[Shape] = &[
    shape::<BackendsReport>("backends", "dcli backends --json"),
    shape::<CapabilityList>("capabilities", "dcli capabilities --json"),
    shape::<Capabilities>("capability", "dcli capabilities --json with --backend"),
    shape::<CleanupReport>("cleanup", "dcli cleanup --json"),
    shape::<ConfigReport>("config", "dcli config --json"),
    shape::<DebugBundle>("debug", "dcli debug --json"),
    shape::<DoctorReport>("doctor", "dcli doctor --json"),
    shape::<ResultEnvelope>("envelope", "dcli exec"),
    shape::<ErrorReport>("error", "every command but exec, with --json, where it has no answer"),
    shape::<EventLine>("event", "one line of dcli exec --events"),
    shape::<FactLine>("fact", "one fact: a line of facts.jsonl and of dcli tail --json"),
    shape::<InteractionListing>("interactions", "dcli interactions --json"),
    shape::<JobReport>("job", "dcli run, status, cancel, and wait for one job, with --json"),
    shape::<Listing>("jobs", "dcli list, and wait for several jobs, with --json"),
    shape::<Responded>("respond", "dcli respond --json"),
    shape::<SchemasReport>("schemas", "dcli schema --json"),
    shape::<Status>("status", "status.json of a job"),
    shape::<Submitted>("submit", "dcli submit --json"),
];

const fn shape<T: JsonSchema>(name: &'static str, title: &'static str) -> Shape {
    Shape { name, title, make: generate::<T> }
}

fn generate<T: JsonSchema>() -> schemars::Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize().with_transform(Plain);
    settings.into_generator().into_root_schema_for::<T>()
}

/// The shape of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Shape> {
    SHAPES.iter().find(|shape| shape.name == name)
}

/// All names, as `dcli schema --json` lists them.
#[must_use]
pub fn listing() -> SchemasReport {
    let entry =
        |shape: &Shape| SchemaEntry { name: shape.name.to_owned(), title: shape.title.to_owned() };
    let schema_version = crate::report::SCHEMA_VERSION;
    SchemasReport { schema_version, schemas: SHAPES.iter().map(entry).collect() }
}

impl Shape {
    /// The schema, with its identity and title.
    #[must_use]
    pub fn schema(&self) -> Value {
        let made = (self.make)().to_value();
        let mut schema = Map::new();
        let given = match made {
            Value::Object(given) => given,
            other => return other,
        };
        schema.insert("$schema".into(), given.get("$schema").cloned().unwrap_or_default());
        schema.insert("$id".into(), format!("urn:dcli:schema:{}:1", self.name).into());
        schema.insert("title".into(), self.title.into());
        schema.extend(given.into_iter().filter(|(key, _)| key != "$schema" && key != "title"));
        Value::Object(schema)
    }
}

/// Takes out what only this language means: names of number formats that no draft defines, and links
/// in descriptions.
#[derive(Clone)]
struct Plain;

impl Transform for Plain {
    fn transform(&mut self, schema: &mut schemars::Schema) {
        schema.remove("format");
        if let Some(Value::String(text)) = schema.get_mut("description") {
            *text = unlinked(text);
        }
        transform_subschemas(self, schema);
    }
}

/// ``[`a::B`]`` becomes `` `B` ``.
fn unlinked(text: &str) -> String {
    let mut parts = text.split("[`");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (link, rest) = part.split_once("`]").unwrap_or((part, ""));
        let name = link.rsplit("::").next().unwrap_or(link);
        plain.push_str(&format!("`{name}`{rest}"));
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_become_names() {
        assert_eq!(unlinked("At [`a::B`], not [`c`]; [d]."), "At `B`, not `c`; [d].");
    }

    #[test]
    fn names_are_in_order_and_none_comes_twice() {
        assert!(SHAPES.is_sorted_by(|one, next| one.name < next.name));
    }

    #[test]
    fn every_schema_says_what_it_is_and_describes_itself() {
        for shape in SHAPES {
            let schema = shape.schema();
            assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
            assert_eq!(schema["$id"], format!("urn:dcli:schema:{}:1", shape.name));
            assert!(schema["description"].is_string(), "{}", shape.name);
            let text = schema.to_string();
            assert!(!text.contains("uint") && !text.contains("[`"), "{text}");
        }
    }

    /// Every object of `schema` that names keys, with the path to it.
    fn objects<'s>(schema: &'s Value, path: &str, found: &mut Vec<(String, &'s Value)>) {
        if schema["properties"].is_object() {
            found.push((path.to_owned(), schema));
        }
        let parts = schema.as_object().into_iter().flatten().map(|(key, part)| (key.clone(), part));
        let list = schema.as_array().into_iter().flatten().enumerate();
        for (key, part) in parts.chain(list.map(|(at, part)| (at.to_string(), part))) {
            objects(part, &format!("{path}/{key}"), found);
        }
    }

    fn each_object(look: impl Fn(&str, &Value)) {
        for shape in SHAPES {
            let (schema, mut found) = (shape.schema(), Vec::new());
            objects(&schema, shape.name, &mut found);
            assert!(!found.is_empty(), "{}", shape.name);
            found.iter().for_each(|(path, object)| look(path, object));
        }
    }

    #[test]
    fn every_key_is_required_but_those_of_an_envelope_that_may_be_left_out() {
        let optional = [
            "changedPaths",
            "errors",
            "stdoutTruncated",
            "stderrTruncated",
            "malformedStreamLines",
        ];
        each_object(|path, object| {
            let required = object["required"].as_array().cloned().unwrap_or_default();
            for key in object["properties"].as_object().unwrap().keys() {
                let is_required = required.iter().any(|name| name == key);
                assert_eq!(is_required, !optional.contains(&key.as_str()), "{path}: {key}");
            }
        });
    }

    #[test]
    fn every_key_has_a_type_but_what_others_say_in_a_form_of_their_own() {
        let free = [
            "backend_state",
            "capabilities_snapshot",
            "command",
            "detail",
            "envelope",
            "machine",
            "next_at",
            "payload",
            "request",
            "retry_at",
            "usage_windows",
            "value",
            "windows",
        ];
        each_object(|path, object| {
            for (key, schema) in object["properties"].as_object().unwrap() {
                let typed = ["type", "$ref", "anyOf", "oneOf", "enum", "const"];
                let is_typed = typed.iter().any(|word| !schema[*word].is_null());
                assert!(is_typed || free.contains(&key.as_str()), "{path}: {key} is {schema}");
            }
        });
    }

    #[test]
    fn what_is_always_written_is_required_and_what_may_be_left_out_is_not() {
        let envelope = find("envelope").unwrap().schema();
        assert_eq!(envelope["required"], serde_json::json!(["status", "data", "summary"]));
        let run = &envelope["$defs"]["RunData"]["required"];
        assert_eq!(*run, serde_json::json!(["result", "usage", "usageWindows", "run"]));
        let failure = &envelope["$defs"]["Failure"];
        let (required, all) = (&failure["required"], failure["properties"].as_object().unwrap());
        assert_eq!(required.as_array().unwrap().len(), all.len());
    }
}
