use super::*;
use troupe_core::config::PolicyConfig;
use troupe_core::trajectory::{Author, Message};
use troupe_model::{Constraint, Device};

#[test]
fn the_text_that_most_give_plays_and_of_equals_the_earlier_members() {
    for (texts, place) in [
        (vec!["L", "R", "R"], 1),
        (vec!["L", "R"], 0),
        (vec!["R", "L", "L", "R"], 0),
        (vec!["U", "R", "L", "L", "R"], 1),
        (vec!["L"], 0),
    ] {
        assert_eq!(most(texts.iter().copied()), place, "{texts:?}");
    }
}

#[test]
fn the_temperature_decides_between_one_sure_member_and_two_that_agree() {
    // Two members give the second answer 0.4 each, one gives the first 0.7 and the others 0.05.
    let ln = |shares: [f64; 3]| shares.map(f64::ln).to_vec();
    let answers = [ln([0.7, 0.05, 0.05]), ln([0.1, 0.4, 0.4])];
    // Σ p = 0.8 and 0.9; Σ p² = 0.495 and 0.33.
    assert_eq!(likeliest(&answers, 1.0), 1);
    assert_eq!(likeliest(&answers, 0.5), 0);
    // Σ √p = 1.28 and 1.58.
    assert_eq!(likeliest(&answers, 2.0), 1);
    assert_eq!(likeliest(&[answers[0].clone(), answers[0].clone()], 1.0), 0);
}

#[test]
fn answers_too_unlikely_for_a_number_are_still_told_apart() {
    let answers = [vec![-4000.0, -3000.0], vec![-2999.0, f64::NEG_INFINITY]];
    assert_eq!(likeliest(&answers, 1.0), 1);
    let never = vec![f64::NEG_INFINITY; 2];
    assert_eq!(likeliest(&[never, vec![-9.0, f64::NEG_INFINITY]], 1.0), 1);
}

fn policy(seed: u64) -> Policy {
    let words = ["up", "down", "left", "right"].map(str::to_owned);
    Policy::random(&PolicyConfig::default(), &words, Seed::new(seed), Device::cpu()).unwrap()
}

fn asked(text: &str, answers: u64) -> ChatRequest {
    ChatRequest {
        messages: vec![Message { author: Author::User, text: text.to_owned() }],
        tools: Vec::new(),
        thinking: None,
        seeds: (0..answers).map(Seed::new).collect(),
    }
}

fn council(seeds: &[u64], verdict: Verdict) -> Council {
    let member = |seed: &u64| (format!("policy-{seed}"), policy(*seed));
    Council::new(seeds.iter().map(member).collect(), verdict, 0)
}

/// The likeliest answer of a policy.
fn own(seed: u64, request: &ChatRequest) -> (Arc<[u32]>, Completion) {
    let policy = policy(seed);
    let prompt = policy.encode_prompt(&request.messages, &[], None).unwrap();
    let answer = policy.generate(&[question(prompt.clone())], &Sampling::greedy(3)).unwrap();
    (prompt, answer[0][0].clone())
}

#[test]
fn a_council_gives_its_members_likeliest_answers_however_it_is_asked_to_draw() {
    let requests = [asked("up down", 2), asked("left", 1)];
    for verdict in [Verdict::Vote, Verdict::Boltzmann(1.0)] {
        // The second and the third are the same, so they have the majority.
        let council = council(&[1, 2, 2], verdict);
        let given = council.complete(&requests, &Sampling::plain(3));
        for (request, given) in requests.iter().zip(given) {
            let Completions { prompt, completions } = given.unwrap();
            let (own_prompt, answer) = own(2, request);
            if verdict == Verdict::Vote {
                assert_eq!(completions[0].text, answer.text);
            }
            assert_eq!((prompt, completions.len()), (own_prompt, request.seeds.len()));
            assert!(completions.iter().all(|other| *other == completions[0]));
        }
    }
}

#[test]
fn boltzmann_plays_what_a_sum_by_hand_finds_likeliest() {
    let mut found = BTreeSet::new();
    for text in ["up", "down", "left", "right", "up up", "left down"] {
        let request = asked(text, 1);
        let candidates = [1, 2, 3].map(|seed| own(seed, &request).1);
        let weight = |answer: &Completion| -> f64 {
            let of = |seed| {
                let policy = policy(seed);
                let prompt = policy.encode_prompt(&request.messages, &[], None).unwrap();
                let tokens = [&prompt[..], &answer.tokens].concat();
                let scores = policy.score(&tokens).unwrap();
                let sum: f32 = scores[scores.len() - answer.tokens.len()..].iter().sum();
                f64::from(sum / 0.5).exp()
            };
            [1, 2, 3].map(of).iter().sum()
        };
        let weights = candidates.each_ref().map(weight);
        let best = weights.iter().copied().fold(0.0, f64::max);
        let best = weights.iter().position(|weight| *weight == best).unwrap();
        found.insert(best);
        let council = council(&[1, 2, 3], Verdict::Boltzmann(0.5));
        let given = council.complete(&[request], &Sampling::greedy(3)).remove(0).unwrap();
        assert_eq!(given.completions[0].tokens, candidates[best].tokens, "{text}: {weights:?}");
    }
    assert!(found.len() > 1, "one member always wins: {found:?}");
}

#[test]
fn what_members_draw_and_read_beside_the_answer_is_counted() {
    let request = asked("up down", 1);
    let all = [1, 2, 3].map(|seed| own(seed, &request));
    let drawn: u64 = all.iter().map(|(_, answer)| answer.tokens.len() as u64).sum();
    let prompt = all[0].0.len() as u64;
    let given = |council: &Council| -> u64 {
        let given = council
            .complete(std::slice::from_ref(&request), &Sampling::greedy(3))
            .remove(0)
            .unwrap();
        given.completions[0].tokens.len() as u64
    };
    let vote = council(&[1, 2, 3], Verdict::Vote);
    let own = given(&vote);
    let unseen = |council: &Council| Totals { acts: 0, ..council.unseen() };
    let once =
        Totals { samples: 2, completion_tokens: drawn - own, prompt_tokens: 2 * prompt, acts: 0 };
    assert_eq!(unseen(&vote), once);
    given(&vote);
    assert_eq!(unseen(&vote) - once, once, "it adds up");
    let scored = council(&[1, 2, 3], Verdict::Boltzmann(1.0));
    let own = given(&scored);
    let distinct: BTreeSet<&Vec<u32>> = all.iter().map(|(_, answer)| &answer.tokens).collect();
    assert!(distinct.len() > 1);
    let read: u64 = distinct.iter().map(|tokens| 3 * (prompt + tokens.len() as u64)).sum();
    let more = Totals { completion_tokens: drawn - own, prompt_tokens: 2 * prompt + read, ..once };
    assert_eq!(unseen(&scored), more);
}

#[test]
fn a_prompt_that_leaves_no_room_ends_its_request_alone() {
    let council = council(&[1, 2], Verdict::Vote);
    let long = asked(&"up ".repeat(100_000), 1);
    let given = council.complete(&[asked("up", 1), long, asked("down", 1)], &Sampling::plain(3));
    let kinds: Vec<Option<RemoteFailureKind>> =
        given.iter().map(|given| given.as_ref().err().map(|failure| failure.kind)).collect();
    assert_eq!(kinds, [None, Some(RemoteFailureKind::TooLong), None]);
}

#[test]
fn members_that_fail_are_not_a_server_that_does() {
    let council = council(&[1, 2], Verdict::Vote);
    let impossible = Sampling { top_p: 2.0, ..Sampling::plain(3) };
    for answered in council.complete(&[asked("up", 1), asked("down", 1)], &impossible) {
        let failure = answered.unwrap_err();
        assert_eq!(failure.kind, RemoteFailureKind::Broken);
        assert!(failure.message.contains("top_p"), "{failure}");
    }
}

#[test]
fn members_weigh_answers_among_those_that_are_allowed() {
    let texts: Arc<[String]> = ["left", "right"].map(str::to_owned).to_vec().into();
    let constraint = Some(Constraint::Choices(texts));
    let bound = Sampling { constraint, ..Sampling::greedy(3) };
    let council = council(&[1, 2, 3], Verdict::Boltzmann(1.0));
    let members = [1, 2, 3].map(policy);
    let (mut otherwise, mut tried) = (0, 0);
    let words = ["up", "down", "left", "right"];
    for text in words.iter().flat_map(|a| words.map(|b| format!("{a} {b} {a} {a}"))) {
        let request = asked(&text, 1);
        let given = council.complete(std::slice::from_ref(&request), &bound).remove(0).unwrap();
        let answer = &given.completions[0];
        assert!(["left", "right"].contains(&answer.text.as_str()), "{answer:?}");
        let weight = |word: &str, sampling: &Sampling| -> f64 {
            let of = |policy: &Policy| {
                let prompt = policy.encode_prompt(&request.messages, &[], None).unwrap();
                let end = *answer.tokens.last().unwrap();
                let tokens = [policy.wording().encode_text(word).unwrap(), vec![end]].concat();
                let logprobs = policy.score_answer(&prompt, &tokens, sampling).unwrap();
                f64::from(logprobs.iter().sum::<f32>()).exp()
            };
            members.iter().map(of).sum()
        };
        let chosen = |sampling: &Sampling| {
            if weight("left", sampling) >= weight("right", sampling) { "left" } else { "right" }
        };
        // Where all give the same answer, nothing is weighed.
        tried += usize::from(answer.text == chosen(&bound));
        otherwise += usize::from(chosen(&bound) != chosen(&Sampling::greedy(3)));
        let both = weight("left", &bound) + weight("right", &bound);
        assert!((both - 3.0).abs() < 1e-5, "each member's probabilities add up to 1: {both}");
    }
    assert_eq!((tried, otherwise > 0), (16, true));
}
