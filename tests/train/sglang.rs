//! Policies that are trained here while SGLang draws their answers, with the real binary.

use crate::adapters::metrics;
use crate::fake_vllm::{Fake, Trap};
use crate::support::run;
use crate::vllm::{caught, prepared, train};

const SGLANG: [&str; 4] = [
    "--set",
    "policies.planner.sampler.engine=sglang",
    "--set",
    "policies.executor.sampler.engine=sglang",
];

/// What a run says that meets a trap, and its exit code; `flags` beside the usual ones.
fn caught_by_sglang(trap: Trap, flags: &[&str]) -> (i32, String) {
    caught(trap, &[&SGLANG, flags].concat())
}

#[test]
fn a_run_that_sglang_draws_for_is_the_run_and_leaves_no_adapter() {
    let (folder, config) = prepared();
    let fake = Fake::start(folder.path(), &folder.path().join("base"), 4, Trap::None);
    let steps = [&SGLANG[..], &["--set", "train.steps=3"]].concat();
    let (code, stderr) = train(&config, &fake.url, &steps);
    assert_eq!(code, 0, "{stderr}");
    let records = metrics(&folder.path().join("run"));
    assert_eq!(records.len(), 4);
    for record in &records[1..] {
        for role in ["planner", "executor"] {
            assert!(record["canaries"][role].as_f64().unwrap() < 1e-5, "{record}");
            let difference = &record["updates"][role]["mean_logprob_difference"];
            assert!(difference.as_f64().unwrap() < 1e-5, "{record}");
        }
    }
    assert!(fake.names().iter().any(|name| name.ends_with("-executor-v3")), "{:?}", fake.names());
    assert_eq!(fake.loaded(), (4, 0), "two versions of two policies");
    assert!(fake.seeds().iter().all(|seed| *seed < 1 << 31));
    assert!(fake.routes().iter().all(|path| !path.starts_with("/v1/") || path == "/v1/models"));
}

#[test]
fn what_answers_at_sglang_without_being_the_policy_is_told_by_the_canary() {
    let hot = ["--set", "rollout.temperature=1.5"];
    let cut = ["--set", "rollout.top_k=3"];
    for (trap, flags, said) in [
        (Trap::ForgetsAfter(600), &[][..], "log-probabilities of the base without any adapter"),
        (Trap::Raw, &hot, "start it without SGLANG_RETURN_ORIGINAL_LOGPROB"),
        (Trap::None, &cut, "the policy before cut-offs: SGLang tells none after cut-offs"),
        (Trap::FillsIn, &[], "--sampling-defaults openai"),
    ] {
        let (code, stderr) = caught_by_sglang(trap, flags);
        assert_eq!(code, 6, "{trap:?}: {stderr}");
        assert!(stderr.contains(said), "{trap:?}: {stderr}");
    }
}

#[test]
fn an_sglang_that_cannot_do_its_part_is_told_what_to_be_started_with() {
    for (trap, code, said) in [
        (Trap::NoRuntimeLoading, 6, "start it with `--enable-lora`"),
        (Trap::FewSlotsTold, 4, "start it with `--max-loaded-loras 4`"),
        (Trap::SmallRank, 6, "see what it says of rank (`--max-lora-rank`)"),
    ] {
        let (found, stderr) = caught_by_sglang(trap, &[]);
        assert_eq!(found, code, "{trap:?}: {stderr}");
        assert!(stderr.contains(said), "{trap:?}: {stderr}");
    }
    let (_folder, config) = prepared();
    let hasty = ["planner", "executor"].map(|role| format!("policies.{role}.sampler.retries=0"));
    let flags = [&SGLANG[..], &["--set", &hasty[0], "--set", &hasty[1]]].concat();
    let (code, stderr) = train(&config, "http://127.0.0.1:9/v1", &flags);
    assert_eq!(code, 4, "{stderr}");
    for said in ["sglang.launch_server", "--max-lora-rank 8", "--max-loras-per-batch 4"] {
        assert!(stderr.contains(said), "{said}: {stderr}");
    }
}

#[test]
fn an_answer_of_sglang_that_cannot_be_learned_from_ends_the_run_by_name() {
    for (trap, said) in [
        (Trap::NoIds, "no `output_token_logprobs`"),
        (Trap::MissingLogprob, "not the tokens of `output_token_logprobs`"),
        (Trap::NullLogprob, "is missing or is none"),
        (Trap::ForeignToken, "drew the token 1000000"),
        (Trap::Aborts, "\"abort\""),
        (Trap::OtherPrompt, "read another prompt"),
        (Trap::LosesAfter(100), "no longer has the adapter"),
    ] {
        let (code, stderr) = caught_by_sglang(trap, &[]);
        assert_eq!(code, 6, "{trap:?}: {stderr}");
        assert!(stderr.contains(said) && stderr.contains("resume the run"), "{trap:?}: {stderr}");
    }
}

#[test]
fn another_engine_than_was_said_is_refused_by_name() {
    let (code, _, stderr) = run(&[
        "train",
        "--set",
        "policies.planner.sampler.engine=tgi",
        "--set",
        "policies.planner.sampler.url=http://127.0.0.1:9/v1",
    ]);
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains("must be \"vllm\" or \"sglang\""), "{stderr}");
}
