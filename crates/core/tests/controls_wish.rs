//! Model and options as a person asks for them: names and values are held to the contract, nothing
//! else.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use dcli_core::executor::Catalogue;
use dcli_core::executor::controls::{Contract, ControlRefusal, Vocabulary, Wish, wished_arguments};

fn contract(id: &str) -> Contract {
    let catalogue = Catalogue::shipped().unwrap();
    catalogue.find(id).unwrap().record.controls.clone().unwrap()
}

fn wish(model: Option<&str>, options: &[(&str, &str)]) -> Wish {
    let options = options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Wish { model: model.map(str::to_owned), options: options.collect() }
}

#[test]
fn a_wish_becomes_the_words_that_each_vendor_takes() {
    let words = |id: &str, wish: &Wish| wished_arguments(Some(&contract(id)), wish).unwrap();
    let effort = wish(Some("m"), &[("effort", "high")]);
    let codex = ["--model", "m", "--config", "model_reasoning_effort=\"high\""];
    assert_eq!(words("codex", &effort), codex);
    assert_eq!(words("claude", &effort), ["--model", "m", "--effort", "high"]);
    let variant = wish(None, &[("variant", "fast")]);
    assert_eq!(words("opencode", &variant), ["--variant", "fast"]);
    assert_eq!(words("gemini", &wish(Some("m"), &[])), ["--model", "m"]);
}

#[test]
fn a_wish_for_nothing_needs_no_contract_and_any_other_does() {
    assert_eq!(wished_arguments(None, &Wish::default()), Ok(Vec::new()));
    for wish in [wish(Some("m"), &[]), wish(None, &[("effort", "high")])] {
        assert_eq!(wished_arguments(None, &wish), Err(ControlRefusal::NoControls));
    }
}

#[test]
fn a_foreign_option_and_a_foreign_value_are_refused_with_what_there_is() {
    let refused = |id: &str, option| {
        wished_arguments(Some(&contract(id)), &wish(None, &[option])).unwrap_err()
    };
    let known = vec!["effort".to_owned()];
    assert_eq!(refused("codex", ("variant", "x")), ControlRefusal::UnknownField { known });
    let known = Vec::new();
    assert_eq!(refused("qwen", ("effort", "low")), ControlRefusal::UnknownField { known });
    for (id, option) in [
        ("claude", ("effort", "minimal")),
        ("claude", ("effort", "")),
        ("opencode", ("variant", "-x")),
        ("opencode", ("variant", "a b")),
    ] {
        let ControlRefusal::UnfitValue { field, vocabulary } = refused(id, option) else {
            unreachable!("a value that is none of its own")
        };
        assert_eq!(field, option.0);
        assert!(!vocabulary.holds(option.1));
        assert_eq!(matches!(vocabulary, Vocabulary::Any(_)), id == "opencode");
    }
}

#[test]
fn a_model_that_could_be_a_flag_or_two_words_is_refused() {
    for model in ["", "-x", "a b", "a\nb"] {
        let answer = wished_arguments(Some(&contract("codex")), &wish(Some(model), &[]));
        assert_eq!(answer, Err(ControlRefusal::UnfitModel), "{model:?}");
    }
}
