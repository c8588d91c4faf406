use std::fs;
use std::path::Path;

use super::*;

fn idle(settings: &[&str]) -> Vec<String> {
    let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
    let config = Config::load(None, &settings).unwrap();
    config.idle_settings().into_iter().map(|setting| setting.key).collect()
}

#[test]
fn a_changed_setting_is_named_where_others_leave_it_nothing_to_do_and_only_there() {
    assert_eq!(idle(&[]), [""; 0]);
    let (tree, softmax) = ("rollout.scheme=tree", "rollout.branch_choice=softmax");
    let (line, all) = ("rollout.scheme=trajectory", "rollout.scheme=exhaustive");
    let corpus = "tasks.files=['a.jsonl']";
    let ramp = "curriculum.settings.size={ from = 3, to = 5 }";
    let (path, base, b) = ("policies.a.path=m", "policies.a.base=b", "policies.b.path=m");
    let stored = "rollout.tables=['runs/a']";
    let (rae, running) = ("advantage.estimator=rae", "advantage.scale=running");
    let (pairs, likely) = ("train.objective=preference", "train.objective=reinforce");
    let (bonus, none) = ("train.entropy_coefficient=0.1", "train.entropy_coefficient=0");
    let unweighed = "train.importance=none";
    let critic = "policies.a.learns=preference";
    let (untaught, against) = ("policies.a.train=false", "policies.a.preference.against=policy");
    let asked = "advantage.then=['judge:a']";
    let cases: [(&str, &[&str], &[&str]); 37] = [
        ("sandbox.jobs=2", &[], &["sandbox.grant=['code']"]),
        ("sandbox.limits.fuel=5", &[], &["sandbox.grant=['code']"]),
        ("roles.x.branches=2", &[stored], &[]),
        ("rollout.max_episodes=9", &[all, stored], &[all]),
        ("rollout.branch_choice=greedy", &[tree, stored], &[tree]),
        ("advantage.least_spread=0.5", &[line, rae], &[]),
        ("advantage.filter=off", &[running], &[]),
        ("train.anchor=rescored", &[likely, unweighed], &[unweighed]),
        ("train.importance=mask", &[pairs, "train.anchor=rescored"], &["train.anchor=rescored"]),
        ("train.loss_aggregation=sample-mean-token-sum", &[pairs, none], &[pairs, bonus]),
        ("train.regularize=all", &[none], &[bonus]),
        ("policies.b.learning_rate=0.1", &[b, base], &[b]),
        ("policies.a.dtype=float32", &[b, base], &[path]),
        ("policies.a.preference.beta=0.5", &[critic, untaught, against, asked], &[critic, line]),
        (critic, &[untaught, against], &[untaught, against, asked]),
        ("rollout.branch_choice=greedy", &[line], &[tree]),
        ("rollout.branch_temperature=0.5", &[tree], &[tree, softmax]),
        ("rollout.max_episodes=9", &[tree], &[all]),
        ("advantage.discount=0.9", &[line], &[line, "advantage.worth=to-go"]),
        ("train.beta=0.5", &[], &["train.objective=weighted-likelihood"]),
        ("train.clip_low=0.1", &["train.objective=cispo"], &[]),
        ("train.clip_high=0.3", &["train.objective=reinforce"], &["train.objective=cispo"]),
        ("train.importance_cap=3", &["train.importance=none"], &["train.importance=mask"]),
        ("train.final_learning_rate_share=0.5", &["train.decay=constant"], &[]),
        ("rollout.store_mib=5", &["rollout.store=none"], &["rollout.store=kept"]),
        ("advantage.step_weight=2", &[], &[line, "advantage.estimator=gigpo"]),
        ("advantage.decay=0.5", &[], &["advantage.roles.x.scale=running"]),
        ("advantage.threads=3", &[], &["advantage.then=['align']"]),
        ("advantage.filter_ratio=0.5", &["advantage.filter=off"], &["advantage.filter=std"]),
        ("tasks.split_field=split", &["tasks.train=['a.jsonl']"], &[corpus]),
        ("tasks.limit=5", &[], &[corpus]),
        ("validation.top_k=5", &["validation.sampled=false"], &[]),
        ("curriculum.raise_at=0.9", &[], &[ramp]),
        ("policies.a.layers=4", &[path], &[]),
        ("policies.a.every=5", &[], &[b, "policies.a.snapshot_of=b"]),
        ("policies.a.learning_rate=0.1", &["policies.a.train=false"], &[]),
        ("policies.a.lora.rank=3", &[b, base, "policies.a.lora.path=m"], &[b, base]),
    ];
    for (setting, without, with) in cases {
        let estimator = "advantage.estimator=naive";
        let key = setting.split_once('=').unwrap().0;
        assert_eq!(idle(&[&[setting, estimator], without].concat()), [key]);
        assert_eq!(idle(&[&[setting, estimator], with].concat()), [""; 0], "{key}");
    }
}

#[test]
fn what_an_entry_of_a_mixture_sets_to_no_effect_is_named_with_the_entry() {
    let ramp = "settings={size={from=3,to=5}}";
    let entries = |first: &str, second: &str| {
        idle(&[&format!("mix=[{{environment='a',{first}}},{{family='b',{second}}}]")])
    };
    assert_eq!(
        entries("tasks={limit=5,split_field='x'}", "curriculum={raise_at=0.9}"),
        [
            "mix.tasks.split_field of the entry `a`",
            "mix.tasks.limit of the entry `a`",
            "mix.curriculum.raise_at of the entry `b`",
        ]
    );
    let climbs = format!("curriculum={{raise_at=0.9,{ramp}}}");
    assert_eq!(entries("tasks={limit=5,train=['a.jsonl']}", &climbs), [""; 0]);
}

#[test]
fn no_configuration_of_this_repository_sets_what_does_nothing() {
    let configs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs");
    let mut seen = 0;
    for folder in fs::read_dir(configs).unwrap().map(|entry| entry.unwrap().path()) {
        // What lies there is added to others, or is none.
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        if !folder.is_dir() || ["rows", "experiments", "methods", "jobs"].contains(&name.as_str()) {
            continue;
        }
        for file in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if file.extension().is_some_and(|extension| extension == "toml") {
                let config = Config::load(Some(&file), &[]).unwrap();
                assert_eq!(config.idle_settings(), [], "{}", file.display());
                seen += 1;
            }
        }
    }
    assert!(seen > 30, "{seen}");
}

#[test]
fn a_discount_is_at_work_where_one_roles_answers_are_worth_what_comes_later() {
    let common = ["advantage.discount=0.9", "rollout.scheme=trajectory", "advantage.worth=now"];
    let estimator = "advantage.estimator=turn-grpo";
    assert_eq!(idle(&[&common[..], &[estimator]].concat()), ["advantage.discount"]);
    let role = "advantage.roles.planner.worth=to-go";
    assert_eq!(idle(&[&common[..], &[estimator, role]].concat()), [""; 0]);
}
