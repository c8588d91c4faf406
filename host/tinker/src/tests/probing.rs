//! What a server does is found out, and a server that cannot be right is refused.

use super::*;
use crate::{Conduct, Reduction, Snapshots};
use pretend_tinker::Older;
use troupe_core::config::ReductionChoice;

fn conduct(traps: Traps) -> Conduct {
    let (server, folder) = start(traps);
    let config = TinkerConfig {
        // So that what shows no norm may be tried out, too.
        reduction: ReductionChoice::Probe,
        ..config(&server, folder.path())
    };
    let speaker = speaker(folder.path());
    let client = std::sync::Arc::new(crate::client::Client::new(&config).unwrap());
    let session = std::sync::Arc::new(crate::session::Session::open(client).unwrap());
    let probe = crate::probe::Probe {
        session: &session,
        speaker: &speaker,
        base: BASE,
        rank: 4,
        said: None,
    };
    let conduct = probe.ask().unwrap();
    assert_eq!(server.loaded(), 0, "what was tried out on is unloaded");
    assert_eq!(server.checkpoints(), Vec::<String>::new());
    assert_eq!(server.harmed(), Vec::<String>::new());
    conduct
}

#[test]
fn a_server_that_does_as_documented_is_found_to() {
    let expected = Conduct {
        reduction: Some(Reduction::Sum),
        clips: Some(true),
        snapshots: Some(Snapshots::Stay),
        plain_logprobs: Some(true),
        steps_spread: Some(false),
        decay_spreads: Some(false),
        protobuf: true,
    };
    assert_eq!(conduct(Traps::default()), expected);
}

#[test]
fn each_way_of_a_server_is_found() {
    let plain = || conduct(Traps::default());
    let found = |traps: Traps, expected: Conduct| assert_eq!(conduct(traps), expected);
    for (sums, reduction) in
        [(Sums::SequenceMean, Reduction::SequenceMean), (Sums::TokenMean, Reduction::TokenMean)]
    {
        let expected = Conduct { reduction: Some(reduction), ..plain() };
        found(Traps { sums, ..Traps::default() }, expected);
    }
    found(Traps { clips: false, ..Traps::default() }, Conduct { clips: Some(false), ..plain() });
    for (older, snapshots) in
        [(Older::Follow, Snapshots::Follow), (Older::SetBack, Snapshots::SetBack)]
    {
        let expected = Conduct { snapshots: Some(snapshots), ..plain() };
        found(Traps { older, ..Traps::default() }, expected);
    }
    found(
        Traps { decay_spreads: true, ..Traps::default() },
        Conduct { decay_spreads: Some(true), ..plain() },
    );
    found(
        Traps { steps_spread: true, ..Traps::default() },
        Conduct { steps_spread: Some(true), decay_spreads: Some(true), ..plain() },
    );
    found(
        Traps { places: 1, ..Traps::default() },
        Conduct { steps_spread: None, decay_spreads: None, ..plain() },
    );
    found(Traps { json: true, ..Traps::default() }, Conduct { protobuf: false, ..plain() });
    found(Traps { short_prompts: true, polls: 3, ..Traps::default() }, plain());
    let silent = conduct(Traps { shows_norm: false, ..Traps::default() });
    assert_eq!((silent.reduction, silent.clips), (None, None));
}

#[test]
fn a_server_that_cannot_be_right_is_refused_with_the_setting() {
    let refused = |traps: Traps, choice, train: TrainConfig, policies| {
        let (server, folder) = start(traps);
        let config = TinkerConfig { reduction: choice, ..config(&server, folder.path()) };
        let (conducts, speaker) = (&mut Conducts::new(), speaker(folder.path()));
        let learning = Some((&train, policies));
        let opened = TinkerPolicy::open(&config, speaker, learning, conducts, Seed::new(1));
        let failure = opened.unwrap_err();
        assert_eq!(failure.kind, Kind::Unfit, "{failure}");
        assert_eq!(server.loaded(), 0);
        failure.message
    };
    let (probe, plain) = (ReductionChoice::Probe, Traps::default);
    let clipped = TrainConfig { max_gradient_norm: 1.0, ..train() };
    let decayed = TrainConfig { weight_decay: 0.1, ..train() };
    for (message, named) in [
        (refused(Traps { clips: false, ..plain() }, probe, clipped, 1), "train.max_gradient_norm"),
        (refused(Traps::skyrl(), probe, decayed.clone(), 1), "train.weight_decay"),
        (refused(Traps { places: 1, ..plain() }, probe, decayed, 1), "train.weight_decay"),
        (refused(Traps { steps_spread: true, ..plain() }, probe, train(), 2), "moves one model"),
        (refused(Traps { places: 1, ..plain() }, probe, train(), 2), "no place for a second"),
        (refused(Traps { shows_norm: false, ..plain() }, probe, train(), 1), "tinker.reduction"),
        (refused(Traps::skyrl(), ReductionChoice::Sum, train(), 1), "says that it sums losses"),
    ] {
        assert!(message.contains(named), "{message}");
    }
}

#[test]
fn a_server_that_shows_no_norm_is_believed_where_the_configuration_vouches_for_it() {
    let (server, folder) = start(Traps { shows_norm: false, ..Traps::default() });
    let config = TinkerConfig { reduction: ReductionChoice::Sum, ..config(&server, folder.path()) };
    let policy = open_with(&config, &train()).unwrap();
    let conduct = policy.conduct().unwrap();
    assert_eq!((conduct.steps_spread, conduct.snapshots), (Some(false), Some(Snapshots::Stay)));
}

#[test]
fn a_base_that_is_not_the_checkpoint_here_is_found_out() {
    let (server, _) = start(Traps::default());
    let folder = checkpoint();
    let failure = open_with(&config(&server, folder.path()), &train()).unwrap_err();
    assert_eq!(failure.kind, Kind::Unfit);
    assert!(failure.message.contains("is not the checkpoint in"), "{failure}");
    assert_eq!(server.loaded(), 0);
}

#[test]
fn a_base_that_is_not_there_is_named_with_those_that_are() {
    let (server, folder) = start(Traps::default());
    let config = TinkerConfig { base: "org/bse".to_owned(), ..config(&server, folder.path()) };
    let failure = open_with(&config, &train()).unwrap_err();
    assert!(failure.message.contains("did you mean `org/base`?"), "{failure}");
    assert_eq!(server.loaded(), 0);
}
