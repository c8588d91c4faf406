//! Pairs of our own, class by class: usual ways to write the right answer, and every way we
//! know to be taken for right without being it.

use serde::Deserialize;
use troupe_answers::{Rules, Verdict, check_answer};

#[derive(Deserialize)]
struct Pair {
    class: String,
    gold: String,
    answer: String,
    expect: String,
}

fn pairs() -> Vec<Pair> {
    let lines = include_str!("pairs.jsonl").lines();
    lines.map(|line| serde_json::from_str(line).expect("a pair")).collect()
}

/// The pairs whose verdict is `unwanted`, among those of which something is expected.
fn with_verdict(unwanted: impl Fn(&Pair, Verdict) -> bool) -> Vec<String> {
    let verdict = |pair: &Pair| check_answer(&pair.gold, &pair.answer, &Rules::default());
    let shown = |pair: &Pair| format!("{}: {} <- {}", pair.class, pair.gold, pair.answer);
    let pairs = pairs();
    let counted = pairs.iter().filter(|pair| pair.expect != "either");
    counted.filter(|pair| unwanted(pair, verdict(pair))).map(shown).collect()
}

#[test]
fn no_wrong_answer_is_correct() {
    let fooled =
        with_verdict(|pair, verdict| pair.expect == "wrong" && verdict == Verdict::Correct);
    assert!(fooled.is_empty(), "{fooled:#?}");
}

#[test]
fn no_right_answer_is_wrong() {
    let missed =
        with_verdict(|pair, verdict| pair.expect == "correct" && verdict == Verdict::Wrong);
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn few_pairs_are_undecided() {
    let undecided = with_verdict(|_, verdict| matches!(verdict, Verdict::Undecided(_)));
    assert!(undecided.len() * 50 < pairs().len(), "{undecided:#?}");
}

#[test]
fn every_gold_of_the_file_equals_itself() {
    // What is worked out at length stands in no box.
    for pair in pairs().into_iter().filter(|pair| !pair.gold.contains("####")) {
        let verdict =
            check_answer(&pair.gold, &format!("\\boxed{{{}}}", pair.gold), &Rules::default());
        assert_eq!(verdict, Verdict::Correct, "{}", pair.gold);
    }
}
