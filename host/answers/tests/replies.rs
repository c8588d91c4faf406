//! Replies as language models write them: Markdown, display mathematics, money and units in
//! sentences, reasons behind answers, boxes that are only mentioned. Class by class, a row each.

use proptest::prelude::*;
use serde::Deserialize;
use troupe_answers::{Rules, Verdict, check_answer};

#[derive(Deserialize)]
struct Reply {
    class: String,
    gold: String,
    answer: String,
    expect: String,
    #[serde(default)]
    rules: Option<String>,
}

impl Reply {
    fn verdict(&self) -> Verdict {
        let name = self.rules.as_deref().unwrap_or("default");
        check_answer(&self.gold, &self.answer, &Rules::named(name).expect("rules of this name"))
    }
}

/// The replies of which something is expected, and what else they came to.
fn otherwise(expected: &str, unwanted: impl Fn(Verdict) -> bool) -> (usize, Vec<String>) {
    let replies: Vec<Reply> = include_str!("replies.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).expect("a pair"))
        .filter(|reply: &Reply| reply.expect == expected)
        .collect();
    let shown = |reply: &Reply| {
        let verdict = reply.verdict();
        let Reply { class, gold, answer, .. } = reply;
        unwanted(verdict).then(|| format!("{class}: {verdict:?}: {gold} <- {answer:?}"))
    };
    (replies.len(), replies.iter().filter_map(shown).collect())
}

#[test]
fn no_wrong_reply_is_correct() {
    let (_, fooled) = otherwise("wrong", |verdict| verdict == Verdict::Correct);
    assert!(fooled.is_empty(), "{fooled:#?}");
}

#[test]
fn hardly_a_right_reply_is_wrong_or_undecided() {
    let (all, missed) = otherwise("correct", |verdict| verdict != Verdict::Correct);
    assert!(missed.len() * 50 <= all, "{} of {all}: {missed:#?}", missed.len());
}

/// What replies are made of, for replies that nobody wrote.
const PIECES: [&str; 64] = [
    "The answer is ",
    "answer:",
    " because ",
    ", so ",
    "**",
    "__",
    "*",
    "`",
    "~~",
    "$",
    "$$",
    "\\(",
    "\\)",
    "\\[",
    "\\]",
    "\\boxed{",
    "\\boxed",
    "}",
    "{",
    "(",
    ")",
    "####",
    "\n",
    "\n\n",
    "- ",
    "1. ",
    "> ",
    "|",
    "|---|",
    "|---|---|",
    "5",
    "12",
    "3.5",
    ",",
    ".",
    ". ",
    "!",
    "?",
    ": ",
    " — ",
    "=",
    "−",
    "–",
    "±",
    "%",
    "\\%",
    "°",
    "½",
    "🎉",
    "❌",
    "1️⃣",
    "€",
    "£",
    " in ",
    " to ",
    " and a half",
    " is ",
    " not ",
    "minus ",
    " probability ",
    "x",
    "π",
    "<b>",
    "<think>",
];

proptest! {
    #[test]
    fn no_reply_makes_the_checker_fail(
        pieces in proptest::collection::vec(proptest::sample::select(PIECES.to_vec()), 0..24),
        text in "\\PC{0,20}",
    ) {
        let reply = pieces.concat() + &text;
        check_answer("12", &reply, &Rules::default());
        check_answer(&reply, "The answer is 12.", &Rules::default());
    }
}
