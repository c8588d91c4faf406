use std::path::Path;

use super::*;
use troupe_core::config::PolicyConfig;
use troupe_core::seed::Seed;
use troupe_model::{Device, Policy};

/// Qwen3-1.7B in 16 bits.
fn base() -> Base {
    let policy = Policy::random(&PolicyConfig::default(), &[], Seed::new(1), Device::cpu());
    let mut shape = policy.unwrap().config().clone();
    (shape.hidden_size, shape.num_hidden_layers, shape.head_dim) = (2048, 28, 128);
    (shape.num_attention_heads, shape.num_key_value_heads) = (16, 8);
    (shape.intermediate_size, shape.vocab_size) = (6144, 151_936);
    let parameters = 1_720_574_976;
    Base { shape, number: 2, parameters, trained: true, adapters: Vec::new() }
}

fn rollout() -> RolloutConfig {
    RolloutConfig {
        branches: 8,
        max_completion_tokens: 512,
        cache_gib: 8.0,
        ..RolloutConfig::default()
    }
}

/// More prompts than fit into a pass, a quarter as long as all their answers.
fn load(max_completion_tokens: u64) -> Load {
    Load {
        prompt: 2 * max_completion_tokens,
        groups: 1 << 20,
        asked: 32,
        examined: 0,
        roles: 1,
        critics: 0,
    }
}

fn card(memory: u64) -> Machine {
    let (memory, host_memory) = (Some(memory), Some(1 << 40));
    Machine { gpu: true, threads: 1, memory, host_memory, program: 0, world: 1 }
}

fn plan(base: &Base, train: &TrainConfig, memory: u64) -> Result<Plan, DoesNotFit> {
    Plan::of(std::slice::from_ref(base), train, &rollout(), &load(512), &card(memory))
}

#[test]
fn the_fast_choice_is_taken_where_it_fits() {
    let train = TrainConfig::default();
    let roomy = plan(&base(), &train, 140_000_000_000).unwrap();
    assert!(!roomy.checkpointing && !roomy.offload);
    assert_eq!(roomy.weights, 2 * 1_720_574_976);
    assert_eq!(roomy.optimizer, 12 * 1_720_574_976);
    let settled = |plan: &Plan| plan.settle(Config::default()).train;
    assert_eq!(settled(&roomy).gradient_checkpointing, Choice::Off);
    let tight = plan(&base(), &train, 48_000_000_000).unwrap();
    assert!(tight.checkpointing && !tight.offload, "{tight}");
    assert!(tight.activations * 3 < roomy.activations);
    let tighter = plan(&base(), &train, 24_000_000_000).unwrap();
    assert!(tighter.checkpointing && tighter.offload, "{tighter}");
    assert_eq!(settled(&tighter).offload_optimizer, Choice::On);
}

#[test]
fn memory_that_nobody_can_measure_is_unknown_and_refuses_nothing() {
    let (base, train) = (base(), TrainConfig::default());
    let rollout = RolloutConfig { cache_gib: 0.0, ..rollout() };
    let machine = Machine { memory: None, host_memory: None, ..card(0) };
    let plan = Plan::of(&[base], &train, &rollout, &load(512), &machine).unwrap();
    assert!(!plan.checkpointing && !plan.offload, "{plan}");
    assert_eq!(plan.settle(Config::default()).rollout.cache_gib, 1.0);
    let said = plan.to_string();
    assert!(said.ends_with("; how much memory there is, the system does not say"), "{said}");
}

#[test]
fn several_processes_share_the_optimizers_state_out() {
    let (base, train) = (base(), TrainConfig::default());
    let machine = Machine { world: 4, ..card(140_000_000_000) };
    let plan = Plan::of(&[base], &train, &rollout(), &load(512), &machine).unwrap();
    assert_eq!(plan.optimizer, 3 * 1_720_574_976);
    assert_eq!(plan.weights, 2 * 1_720_574_976);
}

#[test]
fn a_cache_that_is_left_to_the_machine_is_settled_to_a_power_of_two() {
    let rollout = RolloutConfig { cache_gib: 0.0, ..rollout() };
    let train = TrainConfig::default();
    let cache = |memory| {
        let plan = Plan::of(&[base()], &train, &rollout, &load(512), &card(memory)).unwrap();
        plan.settle(Config::default()).rollout.cache_gib
    };
    assert_eq!(cache(140_000_000_000), 16.0);
    assert_eq!(cache(139_000_000_000), 16.0);
    assert_eq!(cache(60_000_000_000), 8.0);
}

#[test]
fn adapters_share_the_weights_and_need_little_more() {
    let adapters = vec![(17_000_000, true), (17_000_000, true)];
    let shared = Base { trained: false, adapters, ..base() };
    let plan = plan(&shared, &TrainConfig::default(), 140_000_000_000).unwrap();
    assert_eq!(plan.weights, 2 * (1_720_574_976 + 34_000_000));
    assert_eq!(plan.optimizer, 12 * 34_000_000);
    let line = plan.to_string();
    assert!(line.starts_with("plan: 1.75 B parameters (34.0 M trained) · weights 3.5 GB"));
    assert!(line.contains("gradients 136 MB · optimizer 408 MB · cache up to 8.6 GB"), "{line}");
}

#[test]
fn qwen3_8b_with_an_adapter_for_each_of_two_roles_fits_one_large_card() {
    let adapters = vec![(43_646_976, true); 2];
    let shared = Base { trained: false, adapters, ..large_base() };
    // Groups of 8 answers of 2,048 tokens; 139 GiB.
    let rollout = RolloutConfig { max_completion_tokens: 2048, ..rollout() };
    let machine = Machine { host_memory: Some(1 << 37), ..card(139 << 30) };
    let train = TrainConfig::default();
    let plan = Plan::of(&[shared], &train, &rollout, &load(2048), &machine).unwrap();
    assert!(!plan.offload, "{plan}");
    assert!(plan.needed() < 139 << 30, "{plan}");
}

/// Qwen3-8B in 16 bits.
fn large_base() -> Base {
    let mut base = base();
    (base.shape.hidden_size, base.shape.num_hidden_layers) = (4096, 36);
    base.shape.num_attention_heads = 32;
    base.shape.intermediate_size = 12_288;
    base.parameters = 8_190_735_360;
    base
}

#[test]
fn the_plans_that_stand_in_the_configurations_for_cards_are_what_is_printed_there() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/language-models");
    // Qwen3's adapters of rank 16 on all maps, one for each of two roles.
    for (file, base, adapter, memory) in [
        ("card-24gb.toml", base(), 17_432_576, 24_000_000_000),
        ("card-80gb.toml", large_base(), 43_646_976, 80_000_000_000),
    ] {
        let path = folder.join(file);
        let Config { rollout, train, validation, .. } = Config::load(Some(&path), &[]).unwrap();
        let base = Base { trained: false, adapters: vec![(adapter, true); 2], ..base };
        let asked = 2 * rollout.tasks_per_step as u64;
        let examined = validation.tasks as u64;
        let groups = asked * rollout.max_turns as u64;
        let load = Load { prompt: 600, groups, asked, examined, roles: 2, critics: 0 };
        let plan = Plan::of(&[base], &train, &rollout, &load, &card(memory)).unwrap();
        assert!(!plan.offload, "{plan}");
        let text = std::fs::read_to_string(&path).unwrap();
        let said: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("# ")).collect();
        assert!(said.join(" ").contains(&plan.to_string()), "{file} says otherwise: {plan}");
    }
}

#[test]
fn an_evaluation_keeps_half_of_the_prompts_of_every_role() {
    let rollout = RolloutConfig { cache_gib: 1e3, ..rollout() };
    let of = |roles| {
        let load = Load { prompt: 100, examined: 64, roles, ..load(512) };
        let card = card(1 << 40);
        Plan::of(&[base()], &TrainConfig::default(), &rollout, &load, &card).unwrap().examined
    };
    assert_eq!(of(3) - of(1), base().cache(64 * 100));
}

#[test]
fn what_does_not_fit_is_refused_with_what_would() {
    let off = TrainConfig {
        gradient_checkpointing: Choice::Off,
        offload_optimizer: Choice::Off,
        ..TrainConfig::default()
    };
    let refused =
        |train: &TrainConfig, memory| plan(&base(), train, memory).unwrap_err().to_string();
    let message = refused(&off, 48_000_000_000);
    assert!(message.contains("train.gradient_checkpointing = \"on\""), "{message}");
    assert!(message.contains("and there are 48.0 GB"), "{message}");
    let message = refused(&off, 24_000_000_000);
    assert!(message.contains("together"), "{message}");
    let message = refused(&TrainConfig::default(), 8_000_000_000);
    assert!(message.contains("adapter"), "{message}");
}

/// Published shapes: layers, hidden, intermediate, heads, key heads, width, vocabulary, and whether
/// the head is the embedding.
const SHAPES: [(&str, [i64; 7], bool); 8] = [
    ("SmolLM2-135M", [30, 576, 1536, 9, 3, 64, 49_152], true),
    ("Qwen3-0.6B", [28, 1024, 3072, 16, 8, 128, 151_936], true),
    ("Qwen3-1.7B", [28, 2048, 6144, 16, 8, 128, 151_936], true),
    ("Qwen3-4B", [36, 2560, 9728, 32, 8, 128, 151_936], true),
    ("Qwen3-8B", [36, 4096, 12_288, 32, 8, 128, 151_936], false),
    ("Qwen3-14B", [40, 5120, 17_408, 40, 8, 128, 151_936], false),
    ("Qwen3-32B", [64, 5120, 25_600, 64, 8, 128, 151_936], false),
    ("Llama-3.3-70B", [80, 8192, 28_672, 64, 8, 128, 128_256], false),
];

/// A base of this shape, and the numbers of an adapter of rank 16 on all its maps.
fn shaped(
    [layers, hidden, inner, heads, key_heads, width, vocabulary]: [i64; 7],
    tied: bool,
) -> (Base, u64) {
    let mut base = base();
    let shape = &mut base.shape;
    (shape.num_hidden_layers, shape.hidden_size, shape.intermediate_size) = (layers, hidden, inner);
    (shape.num_attention_heads, shape.num_key_value_heads) = (heads, key_heads);
    (shape.head_dim, shape.vocab_size) = (width, vocabulary);
    let (queries, keys) = (heads * width, key_heads * width);
    let maps = [(hidden, queries), (hidden, keys), (hidden, keys), (queries, hidden)];
    let maps = maps.into_iter().chain([(hidden, inner), (hidden, inner), (inner, hidden)]);
    let (weights, adapter) = maps.fold((0, 0), |(weights, adapter), (inputs, outputs)| {
        (weights + inputs * outputs, adapter + 16 * (inputs + outputs))
    });
    let heads_of_words = if tied { 1 } else { 2 };
    base.parameters = (layers * weights + heads_of_words * hidden * vocabulary) as u64;
    (base, (layers * adapter) as u64)
}

#[test]
fn the_page_on_larger_models_says_what_is_planned() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/larger-models.md");
    let page = std::fs::read_to_string(page).unwrap();
    let train = |offload_optimizer| TrainConfig {
        gradient_checkpointing: Choice::On,
        offload_optimizer,
        ..TrainConfig::default()
    };
    let rollout = RolloutConfig { max_completion_tokens: 1024, ..rollout() };
    let planned = |base: &Base, offload| {
        let machine = Machine { host_memory: None, ..card(1 << 50) };
        let bases = std::slice::from_ref(base);
        let plan = Plan::of(bases, &train(offload), &rollout, &load(1024), &machine).unwrap();
        match plan.needed() {
            bytes @ 0..1_000_000_000_000 => format!("{:.0} GB", bytes as f64 / 1e9),
            bytes => format!("{:.1} TB", bytes as f64 / 1e12),
        }
    };
    let rows = SHAPES.map(|(name, shape, tied)| {
        let (whole, adapter) = shaped(shape, tied);
        let shared = Base { trained: false, adapters: vec![(adapter, true); 2], ..whole.clone() };
        format!(
            "| {name} | {} | {} | {} |",
            planned(&shared, Choice::Off),
            planned(&whole, Choice::Off),
            planned(&whole, Choice::On)
        )
    });
    assert!(page.contains(&rows.join("\n")), "{}", rows.join("\n"));
}
