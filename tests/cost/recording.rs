//! Steps that are recorded: in the order cold, warm, recorded, and told again.

use pretend_cuda::Costs;
use troupe_model::Sampling;

use crate::models::{card, model, request};

/// What it costs to draw so many tokens for one answer.
fn costs_of(name: &str, tokens: usize) -> Option<Costs> {
    let policy = model(name, card());
    let pretended = pretend_cuda::insert()?;
    let _alone = crate::support::alone();
    pretended.forget();
    policy.generate(&[request(1, 9, 1)], &Sampling::greedy(tokens)).unwrap();
    Some(pretended.costs())
}

#[test]
fn a_step_is_done_once_then_recorded_then_told_again() {
    // The prompt's first token, then stretches of eight: the first step of a stretch's kind is
    // done, the second is recorded and told, the others are told.
    let Some(costs) = costs_of("llama3", 17) else { return };
    assert_eq!(costs.of("(replay)").launches, 15);
    assert_eq!(costs.of("(recording)").launches, 1);
}
