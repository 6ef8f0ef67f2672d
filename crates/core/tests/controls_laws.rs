//! Model controls: the three built-in contracts, and laws that hold for each of them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use dcli_core::executor::Catalogue;
use dcli_core::executor::controls::{
    Configuration, Contract, ContractError, ControlRefusal, Launch, Receipt, Vocabulary, admit,
    build_model_arguments, native_arguments, refuse_collisions,
};

const CODEX: &str = r#"
versions = ["0.171.0", "0.162.1"]
providers = ["openai"]
[model]
flag = "--model"
also = [{ flag = "-m" }, { flag = "--config", key = "model" }, { flag = "-c", key = "model" }]
[[fields]]
name = "effort"
native = { flag = "--config", key = "model_reasoning_effort" }
also = [{ flag = "-c", key = "model_reasoning_effort" }]
vocabulary = "any-token"
"#;

const CLAUDE: &str = r#"
versions = ["2.1.197", "2.1.332", "2.1.111"]
providers = ["anthropic"]
model = { flag = "--model" }
[[fields]]
name = "effort"
native = { flag = "--effort" }
vocabulary = ["low", "medium", "high", "xhigh"]
"#;

const OPENCODE: &str = r#"
versions = ["1.18.33", "1.18.35"]
[model]
flag = "--model"
form = "provider/model"
also = [{ flag = "-m" }]
[[fields]]
name = "variant"
native = { flag = "--variant" }
vocabulary = "any-token"
"#;

const VERSIONS: [&str; 3] = ["0.171.0", "2.1.197", "1.18.33"];

/// A value that must appear in no refusal.
const SECRET: &str = "s3cret-value";

fn contract(text: &str) -> Contract {
    let contract: Contract = toml::from_str(text).unwrap();
    contract.validate().unwrap();
    contract
}

fn contracts() -> [(Contract, &'static str); 3] {
    let [codex, claude, opencode] = [CODEX, CLAUDE, OPENCODE].map(contract);
    [(codex, VERSIONS[0]), (claude, VERSIONS[1]), (opencode, VERSIONS[2])]
}

fn wanted(model: Option<&str>, provider: Option<&str>, fields: &[(&str, &str)]) -> Configuration {
    let owned = |text: Option<&str>| text.map(str::to_owned);
    let receipt = |(field, _): &(&str, &str)| Receipt {
        field: (*field).to_owned(),
        model: owned(model),
        source: "vendor's model list".to_owned(),
    };
    Configuration {
        model: owned(model),
        provider: owned(provider),
        fields: fields.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect(),
        receipts: fields.iter().map(receipt).collect(),
        executor_version: None,
    }
}

/// A configuration that each contract admits.
fn fit(contract: &Contract) -> Configuration {
    let field = contract.fields[0].name.as_str();
    let provider = contract.providers.first().map_or("acme", String::as_str);
    wanted(Some("m-1"), Some(provider), &[(field, "high")])
}

fn refusal(contract: &Contract, version: &str, wanted: &Configuration) -> ControlRefusal {
    let refusal = native_arguments(Some(contract), wanted, Some(version)).unwrap_err();
    assert!(!format!("{refusal} {refusal:?}").contains(SECRET), "{refusal:?} echoes a value");
    refusal
}

#[test]
fn the_three_contracts_write_exactly_what_their_vendors_take() {
    let written = |text: &str, version, wanted: &Configuration| {
        native_arguments(Some(&contract(text)), wanted, Some(version)).unwrap()
    };
    let codex = wanted(Some("gpt-x"), Some("openai"), &[("effort", "high")]);
    assert_eq!(
        written(CODEX, "0.171.0", &codex),
        ["--model", "gpt-x", "--config", "model_reasoning_effort=\"high\""]
    );
    let claude = wanted(Some("opus"), None, &[("effort", "xhigh")]);
    assert_eq!(written(CLAUDE, "2.1.332", &claude), ["--model", "opus", "--effort", "xhigh"]);
    let opencode = wanted(Some("big/one"), Some("acme"), &[("variant", "fast")]);
    let expected = ["--model", "acme/big/one", "--variant", "fast"];
    assert_eq!(written(OPENCODE, "1.18.33", &opencode), expected);
    let one_word = wanted(Some("acme/one"), None, &[]);
    assert_eq!(written(OPENCODE, "1.18.33", &one_word), ["--model", "acme/one"]);
}

#[test]
fn a_quote_in_a_keyed_value_cannot_leave_its_string() {
    let codex = wanted(None, None, &[("effort", "a\"\\b")]);
    let written = native_arguments(Some(&contract(CODEX)), &codex, Some("0.171.0")).unwrap();
    let parsed: toml::Table = toml::from_str(&written[1]).unwrap();
    assert_eq!(parsed["model_reasoning_effort"].as_str(), Some("a\"\\b"));
}

#[test]
fn native_arguments_follow_the_fixed_ones_and_nothing_wanted_adds_nothing() {
    let fixed = ["run".to_owned(), "--json".to_owned()];
    for (contract, version) in contracts() {
        let wanted = fit(&contract);
        let native = native_arguments(Some(&contract), &wanted, Some(version)).unwrap();
        let built = build_model_arguments(&fixed, Some(&contract), &wanted, Some(version)).unwrap();
        assert_eq!(built, [fixed.as_slice(), &native].concat());
        let nothing = Configuration::default();
        let built = build_model_arguments(&fixed, Some(&contract), &nothing, None).unwrap();
        assert_eq!(built, fixed);
    }
}

#[test]
fn no_model_gives_no_model_argument_though_a_field_is_set() {
    for (contract, version) in contracts() {
        let field = contract.fields[0].name.clone();
        let wanted = wanted(None, None, &[(&field, "low")]);
        let written = native_arguments(Some(&contract), &wanted, Some(version)).unwrap();
        assert_eq!(written.len(), 2);
        assert!(!written.contains(&contract.model.flag));
    }
}

#[test]
fn every_value_that_could_be_a_flag_or_two_arguments_is_refused_unechoed() {
    for (contract, version) in contracts() {
        let field = contract.fields[0].name.clone();
        for value in ["", " ", "--s3cret-value", "s3cret-value x", "s3cret-value\n", "\u{1b}"] {
            let model = wanted(Some(value), Some("openai"), &[]);
            let model = Configuration { provider: None, ..model };
            assert_eq!(refusal(&contract, version, &model), ControlRefusal::UnfitModel);
            let fields = wanted(None, None, &[(&field, value)]);
            let refused = refusal(&contract, version, &fields);
            assert!(matches!(refused, ControlRefusal::UnfitValue { .. }), "{refused:?}");
        }
    }
    let claude = contract(CLAUDE);
    let refused = refusal(&claude, "2.1.197", &wanted(None, None, &[("effort", SECRET)]));
    assert_eq!(refused.to_string(), "field `effort` takes one of low, medium, high, xhigh");
}

#[test]
fn a_version_without_evidence_or_another_than_resolved_for_is_refused() {
    for (contract, version) in contracts() {
        let mut wanted = fit(&contract);
        for unknown in [Some("9.9.9"), Some(""), None] {
            let refused = native_arguments(Some(&contract), &wanted, unknown).unwrap_err();
            let known = contract.versions.clone();
            assert_eq!(refused, ControlRefusal::UnknownVersion { known });
        }
        wanted.executor_version = Some(SECRET.to_owned());
        assert_eq!(refusal(&contract, version, &wanted), ControlRefusal::OtherVersion);
        wanted.executor_version = Some(version.to_owned());
        assert!(native_arguments(Some(&contract), &wanted, Some(version)).is_ok());
    }
}

#[test]
fn a_foreign_provider_is_refused_and_a_missing_one_only_where_it_is_written() {
    for (contract, version) in contracts() {
        let mut wanted = fit(&contract);
        wanted.provider = Some(format!("{SECRET}/x"));
        let refused = refusal(&contract, version, &wanted);
        assert_eq!(refused, ControlRefusal::ForeignProvider { known: contract.providers.clone() });
        wanted.provider = None;
        let answer = native_arguments(Some(&contract), &wanted, Some(version));
        let is_opencode = contract.providers.is_empty();
        assert_eq!(answer.err(), is_opencode.then_some(ControlRefusal::MissingProvider));
    }
    let refused = refusal(&contract(CODEX), "0.171.0", &wanted(None, Some(SECRET), &[]));
    assert_eq!(refused, ControlRefusal::ForeignProvider { known: vec!["openai".into()] });
}

#[test]
fn unknown_and_reserved_fields_are_refused_without_their_names_being_trusted() {
    for (contract, version) in contracts() {
        let known = vec![contract.fields[0].name.clone()];
        let unknown = wanted(None, None, &[(SECRET, "x")]);
        let refused = refusal(&contract, version, &unknown);
        assert_eq!(refused, ControlRefusal::UnknownField { known });
        let reserved = wanted(None, None, &[("model", SECRET)]);
        let refused = refusal(&contract, version, &reserved);
        assert_eq!(refused, ControlRefusal::ReservedField { field: "model" });
    }
}

#[test]
fn a_field_needs_a_receipt_that_names_it_its_model_and_a_source() {
    for (contract, version) in contracts() {
        let field = contract.fields[0].name.clone();
        let spoil: [fn(&mut Receipt); 4] = [
            |receipt| receipt.field = "other".into(),
            |receipt| receipt.model = Some("m-2".into()),
            |receipt| receipt.model = None,
            |receipt| receipt.source = " ".into(),
        ];
        for spoil in spoil {
            let mut wanted = fit(&contract);
            spoil(&mut wanted.receipts[0]);
            let missing = ControlRefusal::MissingReceipt { field: field.clone() };
            assert_eq!(refusal(&contract, version, &wanted), missing);
        }
        let wanted = Configuration { receipts: Vec::new(), ..fit(&contract) };
        let missing = ControlRefusal::MissingReceipt { field };
        assert_eq!(refusal(&contract, version, &wanted), missing);
    }
}

#[test]
fn raw_arguments_that_set_a_control_are_found_in_every_spelling() {
    let collides = |text: &str, extra: &[&str]| {
        let extra: Vec<String> = extra.iter().map(|&argument| argument.to_owned()).collect();
        refuse_collisions(&contract(text), &extra).is_err()
    };
    for text in [CODEX, CLAUDE, OPENCODE] {
        assert!(collides(text, &["--model=x"]) && collides(text, &["-v", "--model", "x"]));
        assert!(!collides(text, &["--models", "x", "--mode=model", "model", "--", "x"]));
    }
    for text in [CODEX, OPENCODE] {
        for extra in [&["-m", "x"][..], &["-m=x"], &["-mx"], &["-qm", "x"]] {
            assert!(collides(text, extra), "{extra:?}");
        }
    }
    for setting in ["model=x", "model = \"x\"", "'model'=x", "model_reasoning_effort=low"] {
        let joined =
            [format!("--config={setting}"), format!("-c{setting}"), format!("-c={setting}")];
        assert!(joined.iter().all(|argument| collides(CODEX, &[argument])), "{setting}");
        assert!(collides(CODEX, &["-c", setting]) && collides(CODEX, &["--config", setting]));
        assert!(collides(CODEX, &["-qc", setting]));
    }
    for setting in ["model_provider=x", "model_providers.a={}", "analytics.enabled=false"] {
        assert!(!collides(CODEX, &["-c", setting, "--config", setting]), "{setting}");
    }
    assert!(!collides(CODEX, &["-s", "read-only", "-c"]));
    assert!(collides(CLAUDE, &["--effort", "low"]) && collides(OPENCODE, &["--variant=a"]));
}

#[test]
fn a_table_that_holds_a_controlled_key_sets_it_and_so_does_a_key_below_it() {
    let contract = contract(&CODEX.replace("model_reasoning_effort", "reasoning.effort"));
    for (setting, is_set) in [
        ("reasoning.effort=x", true),
        ("reasoning={effort=\"x\"}", true),
        ("reasoning.effort.level=x", true),
        ("reasoning.summary=x", false),
        ("reason=x", false),
        ("reasoning.effortless=x", false),
    ] {
        let extra = ["-c".to_owned(), setting.to_owned()];
        assert_eq!(refuse_collisions(&contract, &extra).is_err(), is_set, "{setting}");
    }
}

#[test]
fn admission_checks_extra_arguments_also_without_a_configuration_and_shims_only_with_one() {
    for (contract, version) in contracts() {
        let extra = [format!("--model={SECRET}")];
        let launch = Launch { version: Some(version), extra: &[], is_shell_shim: false };
        let colliding = Launch { extra: &extra, ..launch };
        let refused = admit(Some(&contract), None, colliding).unwrap_err();
        let expected =
            ControlRefusal::Collision { flag: "--model".into(), control: "model".into() };
        assert_eq!(refused, expected);
        let (wanted, shim) = (fit(&contract), Launch { is_shell_shim: true, ..launch });
        let refused = admit(Some(&contract), Some(&wanted), shim);
        assert_eq!(refused, Err(ControlRefusal::ShellShim));
        assert_eq!(admit(Some(&contract), Some(&Configuration::default()), shim), Ok(vec![]));
        assert_eq!(admit(None, None, colliding), Ok(vec![]));
        assert_eq!(admit(None, Some(&wanted), launch), Err(ControlRefusal::NoControls));
        let native = native_arguments(Some(&contract), &wanted, Some(version));
        assert_eq!(admit(Some(&contract), Some(&wanted), launch), native);
    }
}

#[test]
fn a_per_run_configuration_replaces_the_default_whole() {
    let (default, per_run) = (wanted(Some("a"), Some("p"), &[]), wanted(Some("b"), None, &[]));
    assert_eq!(Configuration::effective(Some(&default), Some(&per_run)), Some(&per_run));
    assert_eq!(Configuration::effective(Some(&default), None), Some(&default));
    let nothing = Configuration::default();
    assert_eq!(Configuration::effective(Some(&default), Some(&nothing)), Some(&nothing));
}

#[test]
fn contracts_and_configurations_survive_being_stored() {
    for (contract, _) in contracts() {
        let stored = toml::to_string(&contract).unwrap();
        assert_eq!(toml::from_str::<Contract>(&stored).unwrap(), contract);
        let wanted = fit(&contract);
        let stored = serde_json::to_string(&wanted).unwrap();
        assert_eq!(serde_json::from_str::<Configuration>(&stored).unwrap(), wanted);
    }
}

#[test]
fn every_shipped_contract_writes_each_of_its_values_as_two_words_and_finds_them_again() {
    let catalogue = Catalogue::shipped().unwrap();
    let mut measured = 0;
    for executor in catalogue.iter() {
        let Some(contract) = &executor.record.controls else { continue };
        contract.validate().unwrap();
        for field in &contract.fields {
            let listed = match &field.vocabulary {
                Vocabulary::Listed(values) => values.clone(),
                Vocabulary::Any(_) => vec!["any".to_owned()],
            };
            for value in listed {
                let wanted = wanted(None, None, &[(&field.name, &value)]);
                let version = Some(contract.versions[0].as_str());
                let native = native_arguments(Some(contract), &wanted, version).unwrap();
                assert_eq!(native.len(), 2, "{native:?}");
                assert!(refuse_collisions(contract, &native).is_err(), "{native:?}");
                measured += 1;
            }
        }
    }
    assert!(measured >= 3, "only {measured} values: the shipped contracts are gone");
}

fn broken(spoil: impl Fn(&mut Contract)) -> ContractError {
    let mut contract = contract(CODEX);
    spoil(&mut contract);
    contract.validate().unwrap_err()
}

#[test]
fn a_contract_that_would_fail_silently_is_refused_when_it_is_loaded() {
    assert_eq!(broken(|it| it.versions.clear()), ContractError::Versions);
    assert_eq!(broken(|it| it.versions.push("1.x".into())), ContractError::Versions);
    assert_eq!(broken(|it| it.providers.push("a/b".into())), ContractError::Providers);
    for flag in ["", "-", "--", "model", "--a=b", "--a b", "-ab", "---x"] {
        let refused = broken(|it| it.model.flag = flag.into());
        assert!(matches!(refused, ContractError::Spelling { .. }), "{flag}: {refused}");
    }
    for name in ["", "model", "Effort", "a b", "-a"] {
        let refused = broken(|it| it.fields[0].name = name.into());
        assert_eq!(refused, ContractError::FieldName { field: name.into() });
    }
    for values in [vec![], vec!["a", "a"], vec![""], vec!["-a"]] {
        let values: Vec<String> = values.into_iter().map(str::to_owned).collect();
        let refused = broken(|it| it.fields[0].vocabulary = Vocabulary::Listed(values.clone()));
        assert_eq!(refused, ContractError::Vocabulary { field: "effort".into() });
    }
}

#[test]
fn every_field_has_one_native_form_that_no_other_control_shares() {
    let twice = broken(|it| it.fields.push(it.fields[0].clone()));
    assert_eq!(twice, ContractError::FieldName { field: "effort".into() });
    let shared = broken(|it| {
        let mut other = it.fields[0].clone();
        other.name = "other".into();
        it.fields.push(other);
    });
    assert!(matches!(shared, ContractError::Shared { .. }), "{shared}");
    let swallowed = broken(|it| it.model.flag = "--config".into());
    assert!(matches!(swallowed, ContractError::Shared { .. }), "{swallowed}");
    for text in [
        CLAUDE.replace("native = { flag = \"--effort\" }", ""),
        CLAUDE.replace("native =", "natives = []\nnative ="),
        CLAUDE.replace("{ flag = \"--effort\" }", "[{ flag = \"--effort\" }, { flag = \"-e\" }]"),
    ] {
        assert!(toml::from_str::<Contract>(&text).is_err(), "{text}");
    }
}
