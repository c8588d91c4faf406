//! What goes wrong is caught or named, and nothing is counted twice.

use super::*;
use std::time::{Duration, Instant};
use troupe_model::RemoteFailureKind;

fn update(policy: &TinkerPolicy, samples: &[Sample]) -> Result<UpdateMetrics, TrainerError> {
    update_with(policy, samples, &train())
}

fn update_with(
    policy: &TinkerPolicy,
    samples: &[Sample],
    train: &TrainConfig,
) -> Result<UpdateMetrics, TrainerError> {
    learn(policy, samples, train, |row| if row % 2 == 0 { 1.0 } else { -1.0 })
}

/// What two steps come to on a server that is troubled before the second one.
fn second_step(trouble: impl Fn(&Server)) -> (Vec<Vec<f64>>, usize, Server) {
    let (server, folder) = start(Traps::skyrl());
    let policy = open(&server, folder.path());
    let drawn = samples(&ask(&policy, 4).unwrap());
    update(&policy, &drawn).unwrap();
    policy.settle();
    trouble(&server);
    let drawn = samples(&ask(&policy, 4).unwrap());
    update(&policy, &drawn).unwrap();
    policy.settle();
    let scores = policy.score(&drawn.iter().collect::<Vec<_>>()).unwrap();
    let scores = scores.into_iter().map(|it| it.into_iter().map(f64::from).collect());
    let scores: Vec<Vec<f64>> = scores.collect();
    assert_eq!(server.harmed(), Vec::<String>::new());
    policy.close().unwrap();
    assert_eq!(server.loaded(), 0);
    (scores, server.steps().len(), server)
}

#[test]
fn trouble_on_the_way_changes_nothing_and_counts_nothing_twice() {
    let (undisturbed, steps, _) = second_step(|_| {});
    let routes = ["forward_backward", "optim_step", "asample", "retrieve_future"];
    let lost = routes.map(|route| Traps { lost: vec![route], ..Traps::skyrl() });
    let saves = ["save_weights", "save_weights_for_sampler"];
    let lost_saves = saves.map(|route| Traps { lost: vec![route], ..Traps::skyrl() });
    let expired = ["forward_backward", "optim_step", "asample", saves[0], saves[1]];
    let expired = expired.map(|route| Traps { expired: vec![route], ..Traps::skyrl() });
    let routes = ["forward_backward", "optim_step", "save_weights", "retrieve_future"];
    let late = routes.map(|route| Traps { late: vec![route], ..Traps::skyrl() });
    let others = [
        Traps { busy: 2, ..Traps::skyrl() },
        Traps { polls: 5, ..Traps::skyrl() },
        Traps { slow: Duration::from_millis(30), ..Traps::skyrl() },
    ];
    let all = lost.into_iter().chain(lost_saves).chain(expired).chain(late).chain(others);
    for traps in all {
        let (troubled, count, server) = second_step(|server| server.set(|it| *it = traps.clone()));
        assert_eq!((&troubled, count), (&undisturbed, steps), "{traps:?}");
        drop(server);
    }
}

#[test]
fn a_server_that_was_restarted_is_given_what_it_had() {
    let (undisturbed, steps, _) = second_step(|_| {});
    let (restarted, count, server) = second_step(Server::restart);
    assert_eq!((restarted, count), (undisturbed, steps));
    let loads = server.routes().iter().filter(|route| *route == "load_weights").count();
    assert_eq!(loads, 1);
}

#[test]
fn a_restart_within_an_update_makes_the_update_anew() {
    let (server, folder) = start(Traps::default());
    let policy = open(&server, folder.path());
    let drawn = samples(&ask(&policy, 4).unwrap());
    update(&policy, &drawn).unwrap();
    let answers: Vec<&Sample> = drawn.iter().collect();
    let once = policy.score(&answers).unwrap();
    // Nothing was kept of it: what is kept is the start.
    server.restart();
    update(&policy, &drawn).unwrap();
    assert_eq!(policy.score(&answers).unwrap(), once);
}

#[test]
fn a_checkpoint_that_the_server_has_lost_is_named() {
    let (server, folder) = start(Traps::default());
    let policy = open(&server, folder.path());
    server.lose_checkpoints();
    server.restart();
    let failure = ask(&policy, 2).unwrap_err();
    assert!(failure.message.contains("no such checkpoint"), "{failure}");
}

#[test]
fn a_promise_that_is_never_kept_ends_with_our_patience() {
    let (server, folder) = start(Traps::default());
    let policy = open(&server, folder.path());
    server.set(|traps| traps.never.push("asample"));
    let begun = Instant::now();
    let failure = ask(&policy, 2).unwrap_err();
    assert_eq!(failure.kind, RemoteFailureKind::Timeout);
    assert!(failure.message.contains("`patience_seconds`"), "{failure}");
    assert!(failure.message.contains("its queue is `paused_capacity`"), "{failure}");
    assert!(begun.elapsed() < Duration::from_secs(60));
}

#[test]
fn a_server_that_lies_in_sizes_is_not_believed() {
    let (server, folder) = start(Traps::default());
    let policy = open(&server, folder.path());
    let drawn = samples(&ask(&policy, 4).unwrap());
    let steps = server.steps().len();
    server.set(|traps| traps.lies.push("forward_backward"));
    let error = update(&policy, &drawn).unwrap_err().to_string();
    assert!(error.contains("4 answers were sent, 5 came back"), "{error}");
    assert_eq!(server.steps().len(), steps, "nothing was stepped on");
    server.set(|traps| traps.lies.push("asample"));
    let failure = ask(&policy, 3).unwrap_err();
    assert!(failure.message.contains("3 answers were asked for, 4 came"), "{failure}");
}

#[test]
fn what_draws_and_is_not_what_is_trained_is_named() {
    let (server, folder) = start(Traps::default());
    let policy = open(&server, folder.path());
    let drawn = samples(&ask(&policy, 4).unwrap());
    for _ in 0..20 {
        update(&policy, &drawn).unwrap();
    }
    assert!(policy.publish().unwrap() < 1e-4);
    update(&policy, &drawn).unwrap();
    server.set(|traps| traps.stale = true);
    let failure = policy.publish().unwrap_err();
    assert_eq!(failure.kind, Kind::Unfit);
    assert!(failure.message.contains("the base without any adapter"), "{failure}");
}

#[test]
fn an_answer_without_its_end_is_refused() {
    let (server, folder) = start(Traps { strips_ends: true, ..Traps::default() });
    let policy = open(&server, folder.path());
    let answers = (0..4).map(|_| ask(&policy, 64));
    let failure = answers.filter_map(Result::err).next().unwrap();
    assert!(failure.message.contains("leaves out the token that ends"), "{failure}");
}

#[test]
fn no_server_a_wrong_key_and_no_key_are_told_apart() {
    let (server, folder) = start(Traps { key: Some("tml-right"), ..Traps::default() });
    let keyless = open_with(&config(&server, folder.path()), &train()).unwrap_err();
    assert_eq!(keyless.kind, Kind::Locked);
    assert!(keyless.message.contains("`api_key_env`"), "{keyless}");
    let unset = Some("TROUPE_TEST_KEY_THAT_NOBODY_SETS".to_owned());
    let unset = TinkerConfig { api_key_env: unset, ..config(&server, folder.path()) };
    let unset = open_with(&unset, &train()).unwrap_err();
    assert_eq!(unset.kind, Kind::Locked);
    assert!(unset.message.contains("is not set"), "{unset}");
    let nobody =
        TinkerConfig { url: "http://127.0.0.1:9".to_owned(), ..config(&server, folder.path()) };
    let nobody = open_with(&nobody, &train()).unwrap_err();
    assert_eq!(nobody.kind, Kind::Lost);
    assert!(nobody.message.contains("cannot be reached"), "{nobody}");
}

#[test]
fn a_gradient_that_somebody_left_in_a_place_is_swept_out() {
    let first_step = |careless: bool| {
        let (server, folder) = start(Traps::skyrl());
        let config = config(&server, folder.path());
        let speaker = speaker(folder.path());
        // What it does is known: nothing is tried out, which would sweep as well.
        let mut conducts = Conducts::new();
        let mut open = || {
            let learning = Some((&train(), 1));
            let (speaker, seed) = (speaker.clone(), Seed::new(1));
            TinkerPolicy::open(&config, speaker, learning, &mut conducts, seed).unwrap()
        };
        drop(open());
        if careless {
            leave_a_gradient(&config, &speaker);
        }
        let policy = open();
        update(&policy, &samples(&ask(&policy, 4).unwrap())).unwrap();
        server.steps().pop().unwrap()
    };
    assert_eq!(first_step(true), first_step(false));
}

/// As a client does that is killed between a gradient and its step.
fn leave_a_gradient(config: &TinkerConfig, speaker: &Speaker) {
    let client = std::sync::Arc::new(crate::client::Client::new(config).unwrap());
    let session = std::sync::Arc::new(crate::session::Session::open(client).unwrap());
    let lora = (BASE, 4, 1);
    let mut careless = crate::lora::Lora::make(&session, lora, speaker.vocabulary()).unwrap();
    let lesson = crate::lesson::Lesson::new(&[4, 5], &[6, 7])
        .with("logprobs", vec![-1.0; 2])
        .with("advantages", vec![9.0; 2]);
    let plain = crate::Reduction::Sum;
    careless.add(&[lesson], crate::lora::Loss::ImportanceSampling, plain).unwrap();
    careless.unload().unwrap();
}

#[test]
fn what_was_made_is_unloaded_and_what_no_checkpoint_names_is_removed() {
    let (server, folder) = start(Traps::default());
    let policy = open(&server, folder.path());
    let mut paths = Vec::new();
    for _ in 0..3 {
        policy.keep().unwrap();
        policy.settle();
        paths.push(policy.kept(0, Caution::default()).path);
    }
    assert_eq!(server.checkpoints(), paths[2..], "the present one");
    policy.forget_all_but(&paths[2..]);
    policy.keep().unwrap();
    policy.settle();
    let later = policy.kept(0, Caution::default()).path;
    assert_eq!(server.checkpoints(), [paths[2].clone(), later], "the named and the present one");
    ask(&policy, 1).unwrap();
    policy.close().unwrap();
    assert_eq!((server.loaded(), server.checkpoints()), (0, paths[2..].to_vec()));
    let policy = open(&server, folder.path());
    assert!(server.loaded() > 0);
    drop(policy);
    assert_eq!(server.loaded(), 0, "also if nobody closes it");
}

#[test]
fn what_cannot_be_unloaded_is_named() {
    let (server, folder) = start(Traps::default());
    let policy = open(&server, folder.path());
    server.set(|traps| traps.never.push("unload_model"));
    let failure = policy.close().unwrap_err();
    assert!(failure.message.contains("`model_"), "{failure}");
    assert!(failure.message.contains("could not be unloaded"), "{failure}");
}

#[test]
fn a_model_that_is_promised_and_never_confirmed_is_unloaded() {
    let (server, folder) = start(Traps::default());
    server.set(|traps| traps.never.push("create_model"));
    let failure = open_with(&config(&server, folder.path()), &train()).unwrap_err();
    assert_eq!((failure.kind, server.loaded()), (Kind::Late, 0), "{failure}");
}

#[test]
fn what_a_server_says_at_the_start_is_passed_on() {
    let says = Some("this engine closes on Friday");
    let (server, folder) = start(Traps { says, ..Traps::default() });
    let said = open(&server, folder.path()).introduction();
    assert!(said.contains("which sums losses"), "{said}");
    assert!(said.ends_with("; the server says: this engine closes on Friday"), "{said}");
}

#[test]
fn a_run_that_begins_at_the_state_of_another_leaves_that_alone() {
    let (server, folder) = start(Traps::default());
    let old = open(&server, folder.path());
    let drawn = samples(&ask(&old, 4).unwrap());
    let answers: Vec<&Sample> = drawn.iter().collect();
    update(&old, &drawn).unwrap();
    old.settle();
    old.publish().unwrap();
    let (kept, then) = (old.kept(1, Caution::default()), old.score(&answers).unwrap());
    old.forget_all_but(std::slice::from_ref(&kept.path));
    old.close().unwrap();
    let new = open(&server, folder.path());
    new.begin_at(&kept).unwrap();
    assert_eq!(new.score(&answers).unwrap(), then);
    let first = new.kept(0, Caution::default()).path;
    new.forget_all_but(std::slice::from_ref(&first));
    update(&new, &drawn).unwrap();
    new.settle();
    let later = new.kept(1, Caution::default()).path;
    new.forget_all_but(std::slice::from_ref(&later));
    new.close().unwrap();
    let mut left = [kept.path, later];
    left.sort();
    assert_eq!(server.checkpoints(), left, "what it began at, and what its own checkpoint names");
}

#[test]
fn heartbeats_come_for_as_long_as_the_policy_is_there() {
    let (server, folder) = start(Traps::default());
    let policy = open(&server, folder.path());
    server.set(|traps| traps.forgets_after = Duration::from_secs(13));
    std::thread::sleep(Duration::from_millis(14_000));
    assert!(server.heartbeats() > 0);
    ask(&policy, 1).unwrap();
    assert!(!server.routes().iter().any(|route| route == "load_weights"), "it was never lost");
    drop(policy);
}

#[test]
fn an_archive_on_another_server_is_not_fetched() {
    let (server, folder) = start(Traps { sends_away: true, ..Traps::default() });
    let policy = open(&server, folder.path());
    let error = policy.export(&folder.path().join("out")).unwrap_err().to_string();
    assert!(error.contains("another server"), "{error}");
}

#[test]
fn a_resumed_policy_is_what_it_was_or_says_what_is_different() {
    let (server, folder) = start(Traps::default());
    let policy = open(&server, folder.path());
    let drawn = samples(&ask(&policy, 4).unwrap());
    let answers: Vec<&Sample> = drawn.iter().collect();
    update(&policy, &drawn).unwrap();
    policy.settle();
    policy.forget_all_but(&[policy.kept(1, Caution::default()).path]);
    policy.publish().unwrap();
    let (kept, then) = (policy.kept(1, Caution::default()), policy.score(&answers).unwrap());
    policy.close().unwrap();
    let again = open(&server, folder.path());
    again.restore(&kept).unwrap();
    assert_eq!(again.score(&answers).unwrap(), then);
    server.set(|traps| traps.clips = false);
    let changed = open(&server, folder.path()).restore(&kept).unwrap_err();
    assert!(changed.message.contains("when the run was trained there it"), "{changed}");
    let other = TinkerConfig { rank: 8, ..config(&server, folder.path()) };
    let other = open_with(&other, &train()).unwrap().restore(&kept).unwrap_err();
    assert!(other.message.contains("of rank 4"), "{other}");
}

#[test]
fn a_step_that_goes_too_far_is_taken_back_there() {
    let (server, folder) = start(Traps::skyrl());
    let policy = open(&server, folder.path());
    let drawn = samples(&ask(&policy, 8).unwrap());
    let answers: Vec<&Sample> = drawn.iter().collect();
    let before = policy.score(&answers).unwrap();
    let bold = TrainConfig { learning_rate: 1.0, max_movement: 1e-9, ..train() };
    let metrics = update_with(&policy, &drawn, &bold).unwrap();
    assert!(metrics.is_given_up() && metrics.overshoot.unwrap() > 1e-9, "{metrics:?}");
    assert_eq!(policy.score(&answers).unwrap(), before);
    let rates = server.optimizer_settings();
    let rates = rates.iter().rev().take(4).map(|told| told["learning_rate"].as_f64().unwrap());
    assert_eq!(rates.collect::<Vec<_>>(), [0.125, 0.25, 0.5, 1.0]);
    assert_eq!(server.loaded(), 1);
}

#[test]
fn answers_follow_from_seeds() {
    let (server, folder) = start(Traps::default());
    let policy = open(&server, folder.path());
    let draw = |seed: u64| {
        let text = "w1 w2".to_owned();
        let messages = vec![Message { author: Author::User, text }];
        let seeds = (0..4).map(|branch| Seed::new(seed).at(branch)).collect();
        let request = ChatRequest { messages, tools: Vec::new(), thinking: None, seeds };
        let answered = policy.complete(&[request], &Sampling::plain(5)).remove(0).unwrap();
        answered.completions.into_iter().map(|it| it.tokens).collect::<Vec<_>>()
    };
    assert_eq!(draw(3), draw(3));
    assert_ne!(draw(3), draw(4));
    assert_ne!(draw(3)[0], draw(3)[1]);
}
