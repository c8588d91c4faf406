use super::*;

fn message(overrides: &[&str]) -> String {
    let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
    Config::load(None, &overrides).unwrap_err().to_string()
}

#[test]
fn a_later_file_says_what_it_changes_of_those_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let files = [
        write("a.toml", "[train]\nsteps = 7\nepochs = 2\n[environment]\nwalls = 3"),
        write("b.toml", "roles = \"per-role\"\n[train]\nsteps = 9\n[plugins]\nfiles = [\"x\"]"),
        write("c.toml", "[plugins]\nfiles = [\"y\"]"),
    ];
    let config = Config::layered(&files, &["train.epochs=3".to_owned()]).unwrap();
    assert_eq!((config.train.steps, config.train.epochs), (9, 3));
    assert_eq!(config.roles, Roles::PerRole);
    assert_eq!(config.environment["walls"].as_integer(), Some(3));
    assert_eq!(config.plugins.files, [PathBuf::from("y")]);
}

#[test]
fn a_resolved_config_reads_back_as_itself() {
    let overrides = ["roles.planner=p", "policies.p.layers=3", "environment.walls=5"];
    let config = Config::load(None, &overrides.map(String::from)).unwrap();
    assert_eq!(Config::from_table(config.to_toml().parse().unwrap()).unwrap(), config);
    let default = Config::default();
    assert_eq!(Config::from_table(default.to_toml().parse().unwrap()).unwrap(), default);
}

#[test]
fn an_unknown_key_is_answered_with_the_nearest_right_one() {
    assert_eq!(
        message(&["rollout.tempature=1"]),
        "there is no setting `rollout.tempature`; did you mean `temperature`?"
    );
    assert_eq!(
        message(&["rolout.branches=1"]),
        "there is no setting `rolout`; did you mean `rollout`?"
    );
}

#[test]
fn values_that_cannot_be_are_refused_by_name() {
    assert_eq!(
        message(&["rollout.branches=0"]),
        "`rollout.branches` cannot be used: it is 0, but must be a whole number from 1 to 1024"
    );
    assert!(message(&["rollout.branches=1"]).contains("group of one"));
    assert!(message(&["advantage.estimator=grpo"]).contains("scheme = \"trajectory\""));
    let trajectory = message(&["rollout.scheme=trajectory"]);
    assert!(trajectory.contains("set rollout.scheme = \"tree\""), "{trajectory}");
    assert!(message(&["nonsense"]).contains("write key=value"));
}

#[test]
fn what_is_no_number_and_what_is_out_of_range_is_refused_by_name() {
    for setting in [
        "advantage.alpha=nan",
        "train.max_gradient_norm=0",
        "train.max_gradient_norm=-1",
        "train.beta1=1.5",
        "train.beta2=nan",
        "train.epsilon=-1",
        "train.kl_coefficient=nan",
        "train.entropy_coefficient=nan",
        "train.final_learning_rate_share=-3",
        "train.learning_rate=inf",
        "train.weight_decay=nan",
        "rollout.max_void_share=nan",
        "rollout.tasks_per_step=1000000000000",
        "rollout.branches=1000000000",
        "rollout.max_completion_tokens=1000000000000",
        "validation.tasks=1000000000000",
        "imitation.tasks=1000000000000",
        "imitation.answers_per_role=1000000000000",
        "imitation.exploration=7",
        "imitation.learning_rate=nan",
        "policies.shared.rope_theta=nan",
        "policies.shared.layers=100000000",
        "policies.shared.hidden_size=100000000",
        "policies.shared.lora.alpha=nan",
        "sandbox.limits.memory_mib=0",
        "plugins.limits.fuel=0",
    ] {
        let (key, value) = setting.split_once('=').unwrap();
        let value = if value == "inf" || value == "nan" { value } else { "" };
        let (message, expected) =
            (message(&[setting]), format!("`{key}` cannot be used: it is {value}"));
        assert!(message.starts_with(&expected) && message.contains("must be"), "{message}");
    }
}

#[test]
fn a_value_of_another_type_is_answered_with_what_would_be_right() {
    let cases = [
        (
            "train.steps=many",
            "`train.steps` cannot be used: it is \"many\", but must be a whole number from 0 to 1_000_000_000",
        ),
        (
            "train.steps=1.5",
            "`train.steps` cannot be used: it is 1.5, but must be a whole number from 0 to 1_000_000_000",
        ),
        (
            "rollout.scheme=bush",
            "`rollout.scheme` cannot be used: it is \"bush\", but must be \"tree\" or \"trajectory\" or \"fork-on-first\" or \"round-robin\" or \"independent\" or \"exhaustive\" or \"cross-policy\"",
        ),
        ("rollout=3", "`rollout` cannot be used: it is 3, but must be a table"),
        (
            "policies.a.layers=few",
            "`policies.a.layers` cannot be used: it is \"few\", but must be a whole number from 1 to 1024",
        ),
        (
            "roles=all",
            "`roles` cannot be used: it is \"all\", but must be \"shared\", \"per-role\" or a table of role = \"policy\"",
        ),
    ];
    for (setting, expected) in cases {
        assert_eq!(message(&[setting]), expected);
    }
    let long = message(&[&format!("train.steps={}", "x".repeat(5000))]);
    assert!(long.len() < 300, "{long}");
}

#[test]
fn a_mixture_says_everything_in_its_entries_and_names_each() {
    let entry = "mix=[{environment='a'},{environment='b',family='c',weight=2}]";
    let config = Config::load(None, &[entry.to_owned()]).unwrap();
    assert_eq!(config.families(), config.mix);
    assert_eq!(Config::from_table(config.to_toml().parse().unwrap()).unwrap(), config);
    let misplaced = message(&[entry, "environment.walls=3"]);
    assert!(misplaced.contains("`environment` cannot be used"), "{misplaced}");
    assert!(misplaced.contains("in each entry, as `settings`"), "{misplaced}");
    for alike in ["mix=[{},{environment='b'}]", "mix=[{environment='b'},{family='b'}]"] {
        assert!(message(&[alike]).contains("entry 1 has no name of its own"), "{alike}");
    }
    assert_eq!(
        message(&["mix=[{environment='a',weight=-1}]"]),
        "`mix.weight` cannot be used: it is -1, but must be a number from 0 to 1_000_000"
    );
    assert_eq!(
        message(&["mix=[{environment='a'},{weight='x'}]"]),
        "`mix.weight` cannot be used: it is \"x\", but must be a number from 0 to 1_000_000"
    );
    assert!(message(&["mix=[{environment='a',weight=0}]"]).contains("give one entry at least"));
    let ramp = "curriculum.settings.walls={from=2,to=4}";
    let idle = format!("mix=[{{environment='a'}},{{environment='b',weight=0,{ramp}}}]");
    assert!(message(&[&idle]).contains("`mix.curriculum` cannot be used: its entry has weight 0"));
    assert_eq!(
        message(&["mix=[{wieght=1}]"]),
        "there is no setting `mix.wieght`; did you mean `weight`?"
    );
    assert!(message(&["mix=3"]).contains("it is 3, but must be"));
}

#[test]
fn a_curriculum_that_leads_nowhere_is_refused() {
    let ramp = |ramp: &str| message(&[&format!("curriculum.settings.walls={ramp}")]);
    assert!(ramp("{from=2,to=2}").contains("`curriculum.settings.walls` cannot be used: it goes"));
    assert!(ramp("{from=0,to=9,step=1e-6}").contains("more than 1000 steps"));
    assert!(ramp("{from=0,to=nan}").contains("it is nan, but must be a number"));
    assert!(message(&["curriculum.lower_at=0.9"]).contains("below raise_at"));
}

#[test]
fn a_role_may_be_a_policys_name_or_a_table_and_more_may_be_added_to_either() {
    let load = |overrides: &[&str]| {
        let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
        Config::load(None, &overrides)
    };
    let config = load(&["roles.a=p", "roles.a.branches=8", "roles.b.top_p=0.5"]).unwrap();
    let Roles::Table(table) = &config.roles else { panic!("a table was given") };
    assert_eq!((table["a"].policy.as_deref(), table["a"].branches), (Some("p"), Some(8)));
    assert_eq!(config.roles.policy_of("b"), Some("shared"));
    assert_eq!(config.roles.policy_of("c"), None, "somebody was named");
    assert_eq!(Config::from_table(config.to_toml().parse().unwrap()).unwrap(), config);
    let alone = load(&["roles.b.temperature=0.5"]).unwrap();
    assert_eq!(alone.roles.policy_of("c"), Some("shared"), "nobody was named");
    assert_eq!(
        message(&["roles.a.branches=0"]),
        "`roles.a.branches` cannot be used: it is 0, but must be a whole number from 1 to 1024"
    );
    assert_eq!(
        message(&["roles.a.brunches=1"]),
        "there is no setting `roles.a.brunches`; did you mean `branches`?"
    );
    let trajectory =
        ["roles.a.branches=2", "rollout.scheme=trajectory", "advantage.estimator=grpo"];
    assert!(message(&trajectory).contains("is the number of episodes of a task"));
}

#[test]
fn policies_that_roles_imply_are_what_the_default_says_unless_they_have_a_table() {
    let of = |settings: &[&str]| {
        let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
        let seats = ["planner", "executor"].map(str::to_owned);
        Config::load(None, &settings).unwrap().with_implied_policies(&seats).policies
    };
    let default = ["policies.big.path=big", "policies.default.base=big"];
    let with = |more: &[&'static str]| of(&[&default, more].concat());
    let roles = with(&["roles=per-role", "policies.planner.layers=3"]);
    assert_eq!(roles.keys().collect::<Vec<_>>(), ["big", "executor", "planner"]);
    assert_eq!(roles["executor"].base.as_deref(), Some("big"));
    assert_eq!((roles["planner"].base.as_deref(), roles["planner"].layers), (None, 3));
    assert_eq!(with(&[])["shared"].base.as_deref(), Some("big"));
    // Who names a policy that has no table has mistyped it.
    let named = with(&["roles.planner=big", "roles.executor=big"]);
    assert_eq!(named.keys().collect::<Vec<_>>(), ["big"]);
    let itself = with(&["roles.planner=default", "roles.executor=big"]);
    assert_eq!(itself["default"].base.as_deref(), Some("big"));
}

#[test]
fn cross_policy_sampling_needs_a_snapshot() {
    let cross = ["rollout.scheme=cross-policy", "advantage.estimator=turn-grpo"];
    assert!(message(&cross).contains("policies.old = { snapshot_of"));
    // As it is told to be written: of a policy that has no table.
    let old = "policies.old={snapshot_of=\"shared\",every=5}";
    Config::load(None, &[cross[0], cross[1], old].map(String::from)).unwrap();
}

#[test]
fn an_estimator_is_refused_where_its_choices_do_not_fit_each_other() {
    for estimator in Estimator::ALL {
        let Comparison { unit, worth, same, .. } = estimator.comparison();
        let by_state = same.contains(&Same::State);
        let fits = |sampling| {
            let name = table::choice(&estimator);
            let set = [format!("advantage.estimator={name}"), format!("rollout.scheme={sampling}")];
            Config::load(None, &set).is_ok()
        };
        let (now, apart) = (worth == Worth::Now, unit != Unit::Completion);
        assert_eq!([fits("tree"), fits("independent")], [now; 2], "{estimator:?}");
        assert_eq!([fits("trajectory"), fits("fork-on-first")], [!by_state; 2], "{estimator:?}");
        assert_eq!(fits("round-robin"), !by_state && !apart, "{estimator:?}");
        assert_eq!(fits("exhaustive"), !apart, "{estimator:?}");
    }
    assert!(message(&["advantage.same=[\"role\"]"]).contains("add \"task\""));
    assert!(message(&["advantage.unit=seat"]).contains("`advantage.worth` cannot be used"));
    let parts = ["advantage.estimator=grpo", "rollout.scheme=trajectory", "advantage.scale=parts"];
    assert!(message(&parts).contains("set worth = \"now\""));
    assert!(message(&["advantage.same=[\"mood\"]"]).contains("each \"family\" or \"task\""));
}

#[test]
fn a_snapshot_is_an_earlier_state_of_a_trained_policy_and_nothing_else() {
    let with = |more: &[&str]| {
        let table = ["policies.p.layers=2", "policies.old.snapshot_of=p"];
        let all = table.iter().chain(more).map(ToString::to_string);
        Config::load(None, &all.collect::<Vec<_>>())
    };
    let config = with(&[]).unwrap();
    assert!(config.trains("p") && !config.trains("old"));
    assert_eq!((config.source_of("old"), config.source_of("p")), (Some("p"), None));
    let error = |more: &[&str]| with(more).unwrap_err().to_string();
    assert!(error(&["policies.old.snapshot_of=q"]).contains("no table [policies.q]"));
    assert!(error(&["policies.p.train=false"]).contains("`p` is not trained"));
    assert!(error(&["policies.old.snapshot_of=old"]).contains("`old` is not trained"));
    assert!(error(&["policies.old.layers=3"]).contains("leave out all but"));
}

#[test]
fn a_run_is_named_and_not_placed() {
    for name in ["../../escape", "a/b", "", ".", "..", ".hidden", "a\u{1b}b"] {
        let message = message(&[&format!("run.name={}", toml::Value::from(name))]);
        assert!(message.starts_with("`run.name` cannot be used"), "{message}");
    }
    Config::load(None, &["run.name=my run-2.b".to_owned()]).unwrap();
}

#[test]
fn overrides_take_words_and_numbers_and_lists() {
    let overrides =
        ["rollout.scheme=trajectory", "advantage.estimator=grpo", "plugins.files=[\"a\"]"];
    let config = Config::load(None, &overrides.map(String::from)).unwrap();
    assert_eq!(config.advantage.estimator, Estimator::Grpo);
    assert_eq!(config.plugins.files, [PathBuf::from("a")]);
}

const CRITIC: &str = "policies.critic.learns=preference";
const VALUE: &str = "policies.critic.learns=value";
const NO_WARMUP: &str = "policies.critic.value.warmup_steps=0";
const WHOLE: [&str; 2] = ["rollout.scheme=trajectory", "advantage.estimator=turn-grpo"];

fn set(settings: &[&str]) -> Result<Config, ConfigError> {
    let settings: Vec<String> = WHOLE.iter().chain(settings).map(ToString::to_string).collect();
    Config::load(None, &settings)
}

#[test]
fn a_critic_plays_no_role_and_what_it_cannot_do_is_refused_by_name() {
    let config = set(&[CRITIC, "advantage.then=[\"judge:critic\"]"]).unwrap();
    assert!(config.keeps_hints() && config.trains("critic"));
    assert!(!set(&[VALUE, NO_WARMUP]).unwrap().keeps_hints());
    let error = |settings: &[&str]| set(settings).unwrap_err().to_string();
    for (settings, said) in [
        (&["advantage.then=[\"judge:critic\"]"][..], "names no critic"),
        (&["advantage.then=[\"judge:crtic\"]", CRITIC], "did you mean `critic`?"),
        (&["policies.critic.preference.hint=false"], "learns = \"preference\""),
        (&[CRITIC, "policies.critic.value.hint=false"], "learns = \"value\""),
        (&[CRITIC, "roles.solo=critic"], "plays no role"),
        (&["policies.shared.learns=value"], "plays no role"),
        (&[CRITIC, "policies.critic.train=false"], "name the policy that it once began as"),
        (&[CRITIC, "policies.critic.preference.start=old"], "leave it out"),
        (&[CRITIC, "rollout.scheme=exhaustive"], "set rollout.scheme = \"trajectory\""),
        (&[VALUE, "rollout.scheme=exhaustive"], "\"trajectory\" or \"tree\""),
        (
            &[VALUE, "rollout.scheme=independent", "advantage.estimator=at-grpo"],
            "part of what the answer is worth already",
        ),
        (&[VALUE, "policies.critic.value.replay_steps=4"], "set asked_again"),
        (&[VALUE, "policies.critic.value.asked_again=4"], "add \"judge:critic\""),
        (&[VALUE, "policies.critic.value.lambda=0.5"], "the λ of reading"),
        (&[VALUE], "the policies would wait for a critic that nobody asks"),
        (
            &[
                VALUE,
                NO_WARMUP,
                "policies.other.learns=value",
                "policies.other.value.warmup_steps=0",
            ],
            "one critic of values",
        ),
        (&[VALUE, "policies.critic.train=false"], "`policies.critic.train` cannot be used"),
        (&[VALUE, "policies.over.base=critic"], "let no other policy be an adapter over it"),
    ] {
        let error = error(settings);
        assert!(error.contains(said), "{settings:?}: {error}");
    }
    let judged = "advantage.then=[\"judge:critic\"]";
    let again = ["policies.critic.value.asked_again=4", "policies.critic.value.replay_steps=4"];
    assert_eq!(set(&[&[VALUE, judged], &again[..]].concat()).unwrap().replayed_steps(), 3);
    let gae = "policies.critic.value.reading=gae";
    assert!(error(&[VALUE, judged, gae, again[0]]).contains("no rewards to add up"));
    assert!(
        error(&[&[VALUE, judged, "rollout.store=kept"], &again[..]].concat()).contains("store")
    );
    assert!(error(&[VALUE, judged, "rollout.refill=1"]).contains("rollout.refill"));
    for band in ["advantage.least_solved=0.2", "advantage.roles.solo.most_solved=0.8"] {
        set(&[VALUE, judged, band]).unwrap();
        assert!(error(&[VALUE, judged, band, again[0]]).contains("leave out least_solved"));
    }
}

#[test]
fn groups_of_all_sizes_count_as_much_by_what_the_last_critic_finds() {
    let then = |steps: &str| {
        let settings = ["rollout.branches=adaptive", VALUE, NO_WARMUP, steps].map(str::to_owned);
        Config::load(None, &settings).unwrap().advantage.then
    };
    let steps = |words: &[&str]| -> Vec<CreditStep> {
        words.iter().map(|word| word.parse().unwrap()).collect()
    };
    let judged = "advantage.then=[\"mask:truncated\", \"judge:critic\", \"whiten\"]";
    let expected = ["mask:truncated", "judge:critic", "state-mean", "whiten"];
    assert_eq!(then(judged), steps(&expected));
    let first = then("advantage.then=[\"whiten\"]");
    assert_eq!(first, steps(&["state-mean", "whiten"]), "where nobody judges, it comes first");
    let own = "advantage.then=[\"judge:critic\", \"whiten\", \"state-mean\"]";
    assert_eq!(then(own), steps(&["judge:critic", "whiten", "state-mean"]));
}

#[test]
fn what_is_learned_from_again_is_weighed() {
    let error = set(&["rollout.replay_steps=3"]).unwrap_err().to_string();
    assert!(error.contains("set train.importance"), "{error}");
    let weighed = ["rollout.replay_steps=3", "train.importance=truncate", "train.anchor=rescored"];
    assert_eq!(set(&weighed).unwrap().replayed_steps(), 2);
    let error = set(&[&weighed[..], &["train.objective=preference"]].concat()).unwrap_err();
    assert!(error.to_string().contains("weighs no answers"), "{error}");
}

#[test]
fn a_band_needs_several_episodes_of_a_task() {
    let band = ["advantage.least_solved=0.2", "advantage.most_solved=0.8"];
    set(&band).unwrap();
    let error = message(&band);
    assert!(error.contains("`advantage.least_solved` cannot be used"), "{error}");
    assert!(
        message(&["advantage.least_solved=0.9", "advantage.most_solved=0.1"]).contains("above")
    );
    let of_judge = ["advantage.roles.judge.worth=to-go"];
    let error = message(&of_judge);
    assert!(error.contains("`advantage.roles.judge.estimator`"), "{error}");
    set(&of_judge).unwrap();
    let config = set(&["advantage.roles.judge.least_solved=0.25"]).unwrap();
    assert_eq!(config.advantage.band_of("judge"), (0.25, 1.0));
    assert_eq!(config.advantage.band_of("solo"), (0.0, 1.0));
}

#[test]
fn stored_answers_are_taken_as_they_are() {
    for refused in ["rollout.refill=1", "curriculum.settings.walls.to=3"] {
        let error = message(&["rollout.tables=[\"runs/a\"]", refused]);
        assert!(error.contains("stored"), "{error}");
    }
    let end = |settings: &[&str]| {
        let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
        let checked = Config::load(None, &settings).unwrap().check_end();
        checked.err().map(|error| error.to_string())
    };
    let tables = "rollout.tables=[\"runs/a\"]";
    for key in ["train.budget.samples", "train.budget.completion_tokens"] {
        let error = end(&[tables, &format!("{key}=20")]).unwrap();
        assert!(error.contains(key) && error.contains("train.budget.seconds"), "{error}");
        assert_eq!(end(&[&format!("{key}=20")]), None);
    }
    assert_eq!(end(&[tables, "train.budget.seconds=20"]), None);
}
