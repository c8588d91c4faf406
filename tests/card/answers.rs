//! Answers that are drawn on a card.

use std::collections::BTreeMap;
use std::sync::Arc;

use troupe_core::config::{Dtype, LoraConfig, PolicyConfig};
use troupe_core::seed::Seed;
use troupe_core::trajectory::Completion;
use troupe_model::{Device, Engine, Policy, Question, Request, Sampling};

use crate::is_exact;
use crate::models::{adapted, card, request, team};
use crate::pretrained::first_layers;
use crate::support::near;

/// Prompts of unequal lengths that begin alike, to all members of a team.
fn questions() -> Vec<Question> {
    (0..24).map(|i| (i as usize % 3, request(i, 6 + 5 * (i as usize % 7), 1 + i % 4))).collect()
}

/// Answers of a team to the questions as they come, few at a time, so that what is drawn at once
/// has unequal ages.
fn drawn(team: &[Policy], sampling: &Sampling) -> Vec<(Question, Vec<Completion>)> {
    let policies: Vec<&Policy> = team.iter().collect();
    let mut engine = Engine::new(&policies, sampling.clone(), 1 << 28).unwrap();
    let (mut asked, mut answers) = (BTreeMap::new(), BTreeMap::new());
    for some in questions().chunks(5) {
        let tickets = engine.submit(some).unwrap();
        asked.extend(tickets.into_iter().zip(some.iter().cloned()));
        answers.extend(engine.advance().unwrap());
        answers.extend(engine.advance().unwrap());
    }
    while !engine.is_idle() {
        answers.extend(engine.advance().unwrap());
    }
    assert_eq!(answers.len(), asked.len());
    asked.into_iter().map(|(ticket, question)| (question, answers[&ticket].clone())).collect()
}

fn samplings() -> Vec<Sampling> {
    let plain = Sampling::plain(40);
    vec![
        Sampling { temperature: 0.7, top_k: 5, ..plain.clone() },
        Sampling { temperature: 1.3, top_p: 0.8, min_p: 0.05, ..plain.clone() },
        Sampling { repetition_penalty: 1.4, temperature: 0.8, ..plain.clone() },
        Sampling { stop: vec!["w3 w".to_owned(), "w12".to_owned()], ..plain.clone() },
        Sampling::greedy(20),
        plain,
    ]
}

#[test]
fn what_is_drawn_on_a_card_is_what_is_drawn_on_the_cpu() {
    let cpu = Device::cpu();
    for name in ["llama3", "qwen3-moe", "gemma3", "qwen3-window", "smollm3", "qwen2"] {
        let (here, there) = (team(name, card()), team(name, cpu));
        if !is_exact() {
            let (mean, most) = apart(&drawn(&here, &Sampling::plain(40)), &there);
            assert!(mean < 1e-4 && most < 1e-2, "{name}: {mean}, {most}");
            continue;
        }
        for sampling in samplings() {
            let pairs = drawn(&here, &sampling).into_iter().zip(drawn(&there, &sampling));
            for ((question, on_card), (_, on_cpu)) in pairs {
                for (left, right) in on_card.iter().zip(&on_cpu) {
                    assert_eq!(left.tokens, right.tokens, "{name} {question:?} {sampling:?}");
                    assert_eq!(left.stop, right.stop);
                    near(&left.logprobs, &right.logprobs, 2e-5);
                }
            }
        }
    }
}

#[test]
fn thoughts_are_cut_on_a_card_where_they_are_cut_on_the_cpu() {
    let words = (0..30).map(|word| format!("w{word}"));
    let words: Vec<String> = words.chain(["<think>", "</think>"].map(str::to_owned)).collect();
    let team = |device| {
        let base = Policy::random(&PolicyConfig::default(), &words, Seed::new(1), device).unwrap();
        vec![adapted(&base, 1), adapted(&base, 2), base]
    };
    let sampling = Sampling { thinking_budget: 4, ..Sampling::plain(40) };
    // Every prompt begins a thought.
    let begun = |(policy, request): Question| {
        let prompt = [&request.prompt[..], &[34]].concat().into();
        (policy, Request { prompt, ..request })
    };
    let questions: Vec<Question> = questions().into_iter().map(begun).collect();
    let answers = |device| {
        let team = team(device);
        let policies: Vec<&Policy> = team.iter().collect();
        Engine::new(&policies, sampling.clone(), 1 << 28).unwrap().generate(&questions).unwrap()
    };
    let (here, there) = (answers(card()), answers(Device::cpu()));
    let mut cut = 0;
    if !is_exact() {
        return;
    }
    for (left, right) in here.iter().flatten().zip(there.iter().flatten()) {
        assert_eq!((&left.tokens, &left.forced), (&right.tokens, &right.forced));
        cut += left.forced.len();
    }
    assert!(cut > 0, "no thought was cut");
}

/// How far the log-probabilities of answers are from those of another policy that reads them: on
/// average, and at most.
fn apart(answers: &[(Question, Vec<Completion>)], readers: &[Policy]) -> (f64, f64) {
    let (mut sum, mut most, mut count) = (0.0, 0.0_f64, 0);
    for ((policy, request), answers) in answers {
        for answer in answers {
            let tokens: Vec<u32> = request.prompt.iter().chain(&answer.tokens).copied().collect();
            let read = readers[*policy].score(&tokens).unwrap();
            let read = &read[read.len() - answer.tokens.len()..];
            for (read, drawn) in read.iter().zip(&answer.logprobs) {
                let apart = f64::from((read - drawn).abs());
                (sum, most, count) = (sum + apart, most.max(apart), count + 1);
            }
        }
    }
    (sum / f64::from(count), most)
}

#[test]
fn in_16_bits_the_card_reads_what_it_drew_as_well_as_the_cpu_does() {
    let cpu = Device::cpu();
    let plain = Sampling::plain(30);
    for name in ["llama3-bf16", "qwen3-moe-bf16", "gemma3-bf16", "qwen3-bf16"] {
        let (here, there) = (team(name, card()), team(name, cpu));
        let (mean, _) = apart(&drawn(&here, &plain), &here);
        let (mean_cpu, _) = apart(&drawn(&there, &plain), &there);
        assert!(mean < 1.5 * mean_cpu + 1e-3, "{name}: {mean}, on the CPU {mean_cpu}");
        // A single token may go to another expert.
        let (mean, most) = apart(&drawn(&here, &plain), &there);
        assert!(mean < 0.02 && most < 0.5, "{name}: {mean}, {most} from the CPU");
    }
}

#[test]
fn a_pretrained_team_draws_on_a_card_what_its_model_says_on_the_cpu() {
    let folder = first_layers();
    let load = |dtype, device| {
        let base = Policy::load_in(folder.path(), Some(dtype), device).unwrap();
        vec![base.adapt(&LoraConfig::default(), Seed::new(1)).unwrap(), base.plain()]
    };
    let cpu = Device::cpu();
    let here = load(Dtype::Bfloat16, card());
    let text = "Question: what is 12 + 30?\nAnswer: 12 + 30 =";
    let prompt: Arc<[u32]> = here[0].wording().encode_text(text).unwrap().into();
    let asked = |policy, answers| {
        (policy, Request { prompt: prompt.clone(), seeds: (0..answers).map(Seed::new).collect() })
    };
    let questions = [asked(0, 2), asked(1, 2)];
    let sampling = Sampling::plain(12);
    let policies: Vec<&Policy> = here.iter().collect();
    let answers = Engine::new(&policies, sampling, 1 << 28).unwrap().generate(&questions).unwrap();
    let answers: Vec<_> = questions.into_iter().zip(answers).collect();
    let (own, _) = apart(&answers, &here);
    let (narrow, _) = apart(&answers, &load(Dtype::Bfloat16, cpu));
    let (wide, most) = apart(&answers, &load(Dtype::Float32, cpu));
    assert!(own < 0.05, "{own} from what the card reads");
    assert!(narrow < 0.05, "{narrow} from the CPU in 16 bits");
    assert!(wide < 0.05 && most < 0.5, "{wide}, {most} from the CPU in 32 bits");
}
