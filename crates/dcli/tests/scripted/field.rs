//! FIELD: each kind of fault that people met, through the built binary. This file holds the list;
//! a number without a test fails it.

use crate::listing;

/// The lines of the field notes that a one-shot run can meet.
const NUMBERS: [u32; 25] =
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 22, 23, 24, 25, 26];

/// The numbers of the list that no test has.
fn missing(named: &[String]) -> Vec<u32> {
    let has = |number: &u32| named.iter().any(|name| name.starts_with(&prefix(*number)));
    NUMBERS.iter().copied().filter(|number| !has(number)).collect()
}

fn prefix(number: u32) -> String {
    format!("field_{number:02}_")
}

#[test]
fn every_number_of_the_list_has_its_test() {
    let named = listing::tests("field_");
    assert_eq!(missing(&named), Vec::<u32>::new());
    let but_one: Vec<String> =
        named.iter().filter(|name| !name.starts_with("field_13_")).cloned().collect();
    assert_eq!(missing(&but_one), [13], "a number without a test has to be missed");
    let stray: Vec<_> = named
        .iter()
        .filter(|name| !NUMBERS.iter().any(|n| name.starts_with(&prefix(*n))))
        .collect();
    assert!(stray.is_empty(), "tests of a number that is not in the list: {stray:?}");
}
