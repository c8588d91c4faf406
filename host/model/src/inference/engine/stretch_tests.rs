//! What recorded steps draw must be what single steps draw, on the CPU by doing the step anew.

use super::super::batch::Batch;
use super::tests::{adapted, assert_same, largest_difference, policy, request, sampling};
use super::*;
use troupe_core::trajectory::StopReason;

/// An engine whose batches hold few rows and look at so many tokens at a time.
fn engine<'p>(
    policies: &[&'p Policy],
    sampling: &Sampling,
    rows: usize,
    stretch: Option<usize>,
) -> Engine<'p> {
    let mut engine = Engine::new(policies, sampling.clone(), 1 << 30).unwrap();
    for base_group in &mut engine.base_groups {
        base_group.limits.rows = rows;
        base_group.limits.prompt_tokens = 60;
        base_group.limits.stretch = stretch;
    }
    engine
}

/// The same answers, but for the last digits of log-probabilities.
fn assert_equal(left: &[Vec<Completion>], right: &[Vec<Completion>]) {
    assert_eq!(left.len(), right.len());
    for (left, right) in left.iter().flatten().zip(right.iter().flatten()) {
        assert_eq!((&left.tokens, &left.text, left.stop), (&right.tokens, &right.text, right.stop));
        let apart = |(a, b): (&f32, &f32)| (a - b).abs();
        let worst = left.logprobs.iter().zip(&right.logprobs).map(apart).fold(0.0, f32::max);
        assert!(worst < 1e-5, "{worst}");
        assert_eq!(left.logprobs.len(), right.logprobs.len());
    }
}

/// Prompts of different lengths, with different numbers of answers, to several policies.
fn questions(policies: usize) -> Vec<Question> {
    let of = |i: u64| (i as usize % policies, request(i, 10 + i as usize % 19, 1 + i % 5));
    (0..30).map(of).collect()
}

#[test]
fn recorded_steps_draw_what_single_steps_draw() {
    let base = policy();
    let roles = [adapted(&base, 1), adapted(&base, 2)];
    let policies: Vec<&Policy> = roles.iter().chain([&base]).collect();
    for sampling in [
        sampling(),
        Sampling::greedy(20),
        Sampling { temperature: 0.7, top_k: 5, ..sampling() },
        Sampling { temperature: 1.3, top_p: 0.8, min_p: 0.05, ..sampling() },
        Sampling { repetition_penalty: 1.4, temperature: 0.8, ..sampling() },
        Sampling { repetition_penalty: 1.4, ..Sampling::greedy(20) },
        Sampling { stop: vec!["w3 w".to_owned(), "w12".to_owned()], ..sampling() },
        up_to(60),
        up_to(1),
        up_to(2),
    ] {
        for rows in [1, 7, 40, 1000] {
            let answers = |stretch| {
                engine(&policies, &sampling, rows, stretch).generate(&questions(3)).unwrap()
            };
            assert_equal(&answers(Some(8)), &answers(None));
        }
    }
}

fn up_to(tokens: usize) -> Sampling {
    Sampling::plain(tokens)
}

#[test]
fn an_answer_does_not_depend_on_how_many_tokens_are_drawn_at_a_time() {
    let base = policy();
    let sampling = Sampling { repetition_penalty: 1.1, ..up_to(70) };
    let answers =
        |stretch| engine(&[&base], &sampling, 40, Some(stretch)).generate(&questions(1)).unwrap();
    let one_by_one = answers(1);
    let lengths = one_by_one.iter().flatten().map(|answer| answer.tokens.len());
    assert!(lengths.clone().any(|length| length == 70), "one is longer than its first rooms");
    assert!(lengths.clone().any(|length| length % 8 > 1), "one stops within a stretch");
    for stretch in [2, 3, 8, 20, 100] {
        assert_equal(&answers(stretch), &one_by_one);
    }
}

#[test]
fn recorded_answers_are_scored_alike_by_one_forward_pass() {
    let policy = policy();
    let requests: Vec<Request> = (0..6).map(|i| request(i, 9 + 2 * i as usize, 4)).collect();
    let questions: Vec<Question> = requests.iter().map(|request| (0, request.clone())).collect();
    let sampling = up_to(40);
    let answers = engine(&[&policy], &sampling, 1000, Some(8)).generate(&questions).unwrap();
    let worst = largest_difference(&policy, &requests, &answers, &sampling);
    assert!(worst < 1e-4, "{worst}");
}

#[test]
fn the_host_looks_once_in_a_stretch() {
    let policy = policy();
    let sampling = up_to(33);
    let mut engine = engine(&[&policy], &sampling, 1000, Some(8));
    let ticket = engine.submit(&[(0, request(3, 12, 30))]).unwrap()[0];
    let mut lengths = Vec::new();
    let mut complete = Vec::new();
    while complete.is_empty() {
        complete = engine.advance().unwrap();
        lengths.extend(engine.so_far(ticket).iter().map(|one| one.tokens.len()).max());
    }
    // The prompt's first tokens, then stretches until the limit ends the longest answer.
    assert_eq!(lengths, [1, 9, 17, 25]);
    assert!(complete[0].1.iter().any(|answer| answer.stop == StopReason::Length));
}

#[test]
fn a_stretch_is_no_longer_than_the_limit_leaves_room_for() {
    let policy = policy();
    for tokens in [1, 2, 8, 9, 10, 16, 17, 18] {
        let sampling = up_to(tokens);
        let mut engine = engine(&[&policy], &sampling, 1000, Some(8));
        let answers = engine.generate(&[(0, request(3, 12, 30))]).unwrap().remove(0);
        let longest = answers.iter().map(|answer| answer.tokens.len()).max();
        assert_eq!(longest, Some(tokens));
    }
}

#[test]
fn what_is_cancelled_within_stretches_changes_no_other_answer() {
    let policy = policy();
    let sampling = up_to(40);
    let questions: Vec<Question> = (0..9).map(|i| (0, request(i, 8 + i as usize, 3))).collect();
    let whole = engine(&[&policy], &sampling, 1000, Some(8)).generate(&questions).unwrap();
    let mut engine = engine(&[&policy], &sampling, 12, Some(8));
    let tickets = engine.submit(&questions).unwrap();
    let mut answers = BTreeMap::new();
    for cancelled in 0..4 {
        answers.extend(engine.advance().unwrap());
        let so_far = engine.so_far(tickets[cancelled]);
        for (grown, whole) in so_far.iter().zip(&whole[cancelled]) {
            assert_eq!(grown.tokens[..], whole.tokens[..grown.tokens.len()]);
            assert_eq!(grown.logprobs[..], whole.logprobs[..grown.logprobs.len()]);
        }
        engine.cancel(tickets[cancelled]);
    }
    while !engine.is_idle() {
        answers.extend(engine.advance().unwrap());
    }
    for ticket in &tickets[4..] {
        assert_same(&answers[ticket], &whole[*ticket]);
    }
}

#[test]
fn answers_that_join_late_are_drawn_as_if_alone() {
    let policy = policy();
    let sampling = up_to(40);
    let questions: Vec<Question> = (0..12).map(|i| (0, request(i, 8 + i as usize, 2))).collect();
    let alone = engine(&[&policy], &sampling, 1, None).generate(&questions).unwrap();
    let mut engine = engine(&[&policy], &sampling, 20, Some(8));
    let mut answers = BTreeMap::new();
    for chunk in questions.chunks(3) {
        engine.submit(chunk).unwrap();
        answers.extend(engine.advance().unwrap());
        answers.extend(engine.advance().unwrap());
    }
    while !engine.is_idle() {
        answers.extend(engine.advance().unwrap());
    }
    assert_eq!(answers.len(), questions.len());
    for (ticket, answers) in answers {
        assert_same(&answers, &alone[ticket]);
    }
}

#[test]
fn tensors_of_a_recorded_step_stay_where_they_are_while_extents_stay_the_same() {
    let policy = policy();
    let sampling = Sampling { repetition_penalty: 1.1, ..up_to(70) };
    let mut engine = engine(&[&policy], &sampling, 30, Some(8));
    engine.submit(&questions(1)).unwrap();
    let (mut known, mut again) = (BTreeMap::new(), 0);
    while !engine.is_idle() {
        engine.advance().unwrap();
        for (extent, addresses) in engine.base_groups[0].batch.iter().flat_map(Batch::addresses) {
            let before = known.entry(extent).or_insert_with(|| addresses.clone());
            again += usize::from(*before == addresses);
            assert_eq!(*before, addresses, "{extent:?}");
        }
    }
    assert!(again > known.len(), "some steps are repeated over several stretches");
}

#[test]
fn on_a_cpu_the_host_looks_at_every_token() {
    let policy = policy();
    let engine = Engine::new(&[&policy], sampling(), 1 << 30).unwrap();
    assert_eq!(engine.base_groups[0].limits.stretch, None);
}
