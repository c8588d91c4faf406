//! A critic's network can learn what states are worth, as far as playing on from them tells.

use troupe_core::config::{Config, TrainConfig, ValueCriticConfig};
use troupe_core::seed::Seed;
use troupe_estimators::audit::rank_correlation;
use troupe_guests::plugin::Split;
use troupe_guests::scenario::Next;
use troupe_model::Device;
use troupe_trainer::{Answered, Appraised, ValueCritic};
use troupe_training::imitation::imitate;
use troupe_training::rehearsal::pupils;
use troupe_training::rollout::{Setting, Start, TaskSeed, collect_from};
use troupe_training::team::Team;

use crate::support::plugin;

/// States that the critic learns from, and others; and episodes that say what each is worth.
const LEARNED: usize = 600;
const HELD_OUT: usize = 100;
const EPISODES: usize = 48;

/// A player that finds its way across a 5 × 5 board now and then.
fn team() -> (Config, Team) {
    let files = ["plan-path", "solo"].map(|name| plugin(name).display().to_string());
    let settings = [
        format!("plugins.files={files:?}"),
        "environment.size=5".to_owned(),
        "environment.walls=4".to_owned(),
        "environment.min_distance=1".to_owned(),
        "environment.max_distance=7".to_owned(),
        "environment.moves_per_turn=1".to_owned(),
        "environment.rewards=sparse".to_owned(),
        "rollout.max_turns=7".to_owned(),
        "rollout.max_completion_tokens=2".to_owned(),
        "imitation.success=0.3".to_owned(),
        "imitation.ceiling=0.9".to_owned(),
    ];
    let config = Config::load(None, &settings).unwrap();
    let mut team = Team::assemble(&config, Device::cpu()).unwrap();
    let pupils = pupils(&config, &team);
    imitate(&mut team, &config, &pupils, |_| ()).unwrap();
    (config, team)
}

/// The first prompts of so many tasks, each with an answer and its worth: the share of episodes
/// from there that reach the goal.
fn states(config: &Config, team: &Team) -> Vec<(Vec<u32>, Vec<u32>, f64)> {
    let scenario = &team.families[0].scenario;
    let mut starts = Vec::new();
    for number in 0..(LEARNED + HELD_OUT) as u32 {
        let begun = scenario.begin(Split::Train, number).unwrap();
        let Next::Asked(position) = begun.next else { panic!("nobody is asked") };
        for episode in 0..EPISODES as u64 {
            let seed = Seed::new(7).at(number.into()).at(episode);
            let task =
                TaskSeed { scenario: scenario.clone(), split: Split::Train, task: number, seed };
            starts.push(Start { task, position: position.clone(), answers: Vec::new() });
        }
    }
    let setting = Setting::of(&team.role_map, config);
    let rollout = collect_from(&setting, &team.policies, starts).unwrap();
    let firsts: Vec<_> = rollout.samples.iter().filter(|sample| sample.round == 0).collect();
    let of_state = firsts.chunks(EPISODES).zip(rollout.episodes.chunks(EPISODES));
    of_state
        .map(|(samples, episodes)| {
            let solved = episodes.iter().filter(|episode| episode.solved()).count();
            let (prompt, answer) = (samples[0].prompt.to_vec(), &samples[0].completion.tokens);
            (prompt, answer.clone(), solved as f64 / EPISODES as f64)
        })
        .collect()
}

#[test]
fn a_critic_that_was_told_the_truth_of_some_states_ranks_others_as_the_truth_does() {
    let (config, team) = team();
    let states = states(&config, &team);
    let (learned, held_out) = states.split_at(LEARNED);
    let answered =
        |(prompt, answer, _): &'_ (Vec<u32>, Vec<u32>, f64)| (prompt.clone(), answer.clone());
    let mut encoder = team.policies["shared"].duplicate().unwrap();
    let settings = ValueCriticConfig { minibatch_samples: 64, ..ValueCriticConfig::default() };
    let train = TrainConfig { learning_rate: 1e-3, ..TrainConfig::default() };
    let mut critic = ValueCritic::new(&encoder, &settings, &train, Seed::new(1)).unwrap();
    let known: Vec<Appraised> = learned
        .iter()
        .map(|(prompt, answer, worth)| Appraised {
            answered: Answered { prompt, answer },
            answer: *worth,
            state: *worth,
        })
        .collect();
    critic.fit(&mut encoder, &known, 25, Seed::new(2)).unwrap();
    let texts: Vec<_> = held_out.iter().map(answered).collect();
    let asked: Vec<Answered> =
        texts.iter().map(|(prompt, answer)| Answered { prompt, answer }).collect();
    let judged = critic.judge(&encoder, &asked).unwrap();
    let judged: Vec<f64> = judged.iter().map(|estimate| estimate.state).collect();
    let truth: Vec<f64> = held_out.iter().map(|(_, _, worth)| *worth).collect();
    let found = rank_correlation(&judged, &truth);
    assert!(found >= 0.9, "{found}");
    // One that was told the worth of other states learns nothing of these.
    let mut elsewhere = known.clone();
    elsewhere.iter_mut().zip(known.iter().cycle().skip(37)).for_each(|(known, other)| {
        (known.answer, known.state) = (other.answer, other.state);
    });
    let mut encoder = team.policies["shared"].duplicate().unwrap();
    let mut critic = ValueCritic::new(&encoder, &settings, &train, Seed::new(1)).unwrap();
    critic.fit(&mut encoder, &elsewhere, 25, Seed::new(2)).unwrap();
    let judged = critic.judge(&encoder, &asked).unwrap();
    let judged: Vec<f64> = judged.iter().map(|estimate| estimate.state).collect();
    assert!(rank_correlation(&judged, &truth) < 0.6);
}
