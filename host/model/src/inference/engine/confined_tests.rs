//! Answers that may not be anything: none is outside of what is allowed, and each is drawn with the
//! probability that it has among those.

use super::tests::{adapted, policy, request, sampling};
use super::*;
use crate::{Constraint, Device};
use troupe_core::config::PolicyConfig;
use troupe_core::trajectory::StopReason;

fn texts<T: ToString>(texts: impl IntoIterator<Item = T>) -> Arc<[String]> {
    texts.into_iter().map(|text| text.to_string()).collect()
}

fn confined(constraint: Constraint) -> Sampling {
    Sampling { constraint: Some(constraint), ..sampling() }
}

/// Some of the policy's words, or some texts of them.
fn drawn_rule(seed: Seed) -> Constraint {
    let word = |place: u64| format!("w{}", seed.at(place).index(30));
    let some = 1 + seed.named("some").index(6) as u64;
    if seed.named("form").index(2) == 0 {
        return Constraint::Words(texts((0..some).map(word)));
    }
    let text = |place: u64| {
        let length = 1 + seed.named("length").at(place).index(4) as u64;
        (0..length).map(|at| word(10 * place + at)).collect::<Vec<_>>().join(" ")
    };
    Constraint::Choices(texts((0..some).map(text)))
}

fn is_inside(answer: &Completion, constraint: &Constraint) -> bool {
    match (constraint, answer.stop) {
        (Constraint::Words(words), _) => {
            answer.text.split(' ').all(|word| words.iter().any(|known| known == word))
        }
        (Constraint::Choices(texts), StopReason::EndOfText) => texts.contains(&answer.text),
        (Constraint::Choices(texts), _) => texts.iter().any(|text| text.starts_with(&answer.text)),
        (Constraint::Schema(_), _) => false,
    }
}

#[test]
fn no_answer_is_outside_of_its_rule_and_its_probability_is_that_among_those_inside() {
    let base = policy();
    let policies = [&base, &adapted(&base, 1)];
    for seed in 0..30 {
        let rule = drawn_rule(Seed::new(seed));
        let shape = Seed::new(seed).named("shape");
        let sampling = Sampling {
            temperature: [1.0, 0.6, 1.7][shape.index(3)],
            max_completion_tokens: 2 + shape.at(1).index(8),
            ..confined(rule.clone())
        };
        let questions: Vec<Question> =
            (0..6).map(|place| (place as usize % 2, request(seed + place, 9, 5))).collect();
        let mut engine = Engine::new(&policies, sampling.clone(), 0).unwrap();
        let answers = engine.generate(&questions).unwrap();
        for ((policy, request), answers) in questions.iter().zip(&answers) {
            for answer in answers {
                assert!(is_inside(answer, &rule), "{answer:?} {rule:?}");
                if sampling.temperature == 1.0 {
                    let read = policies[*policy]
                        .score_answer(&request.prompt, &answer.tokens, &sampling)
                        .unwrap();
                    let pairs = read.iter().zip(&answer.logprobs);
                    let worst = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                    assert!(worst <= 1e-5, "{worst}");
                }
            }
        }
    }
}

#[test]
fn cut_offs_penalties_and_greed_choose_among_what_is_allowed() {
    let policy = policy();
    let rule = Constraint::Words(texts(["w3", "w7", "w11"]));
    let requests = [request(5, 12, 6)];
    for sampling in [
        Sampling { top_k: 5, ..confined(rule.clone()) },
        Sampling { top_p: 0.3, ..confined(rule.clone()) },
        Sampling { min_p: 0.9, ..confined(rule.clone()) },
        Sampling { repetition_penalty: 0.5, temperature: 3.0, ..confined(rule.clone()) },
        Sampling { temperature: 0.0, ..confined(rule.clone()) },
    ] {
        for answer in policy.generate(&requests, &sampling).unwrap().remove(0) {
            assert!(is_inside(&answer, &rule), "{answer:?} {sampling:?}");
            assert!(answer.logprobs.iter().all(|logprob| *logprob > -20.0), "{answer:?}");
        }
    }
}

#[test]
fn the_only_choice_is_drawn_with_certainty_and_then_the_answer_ends() {
    let only = confined(Constraint::Choices(texts(["w4 w4 w9"])));
    let answers = policy().generate(&[request(1, 7, 3)], &only).unwrap().remove(0);
    for answer in answers {
        assert_eq!((answer.text.as_str(), answer.stop), ("w4 w4 w9", StopReason::EndOfText));
        assert_eq!(answer.logprobs, [0.0; 4]);
    }
}

#[test]
fn an_answer_that_is_cut_is_the_beginning_of_one_that_is_allowed() {
    let choices = Constraint::Choices(texts(["w4 w4 w9"]));
    let short = Sampling { max_completion_tokens: 2, ..confined(choices) };
    let answers = policy().generate(&[request(1, 7, 1)], &short).unwrap().remove(0);
    assert_eq!((answers[0].text.as_str(), answers[0].stop), ("w4 w4", StopReason::Length));
}

#[test]
fn a_thought_has_its_budget_and_the_answer_after_it_its_rule() {
    let words: Vec<String> = (0..30).map(|word| format!("w{word}")).collect();
    let words = [&words[..], &["<think>".to_owned(), "</think>".to_owned()]].concat();
    let policy = Policy::random(&PolicyConfig::default(), &words, Seed::new(1), Device::cpu());
    let policy = policy.unwrap();
    let rule = confined(Constraint::Choices(texts(["w1", "w2 w3"])));
    let sampling = Sampling { thinking_budget: 3, ..rule };
    let asked = request(7, 9, 8);
    let prompt = [&asked.prompt[..], &[34]].concat().into();
    for answer in policy.generate(&[Request { prompt, ..asked }], &sampling).unwrap().remove(0) {
        let (thought, said) = answer.text.split_once("</think> ").unwrap();
        assert!(thought.split_whitespace().count() <= 3 && ["w1", "w2 w3"].contains(&said));
        assert_eq!(answer.stop, StopReason::EndOfText);
    }
}

#[test]
fn a_question_to_a_policy_that_cannot_keep_to_its_rule_is_refused() {
    let foreign = confined(Constraint::Choices(texts(["right"])));
    let refused = policy().generate(&[request(1, 3, 1)], &foreign).unwrap_err();
    assert!(refused.to_string().contains("`right`"), "{refused}");
}
