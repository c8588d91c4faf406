"""What transformers and peft make of small models, for host/model/src/parity.rs.

    make.py golden FOLDER        the golden files: weights by a formula, answers as text;
                                 with `--cases`, of these models
    make.py write FOLDER --seed  the same models with random weights, as checkpoints
    make.py check FOLDER SAVED   whether what the host saved is what was written

Needs the packages of requirements.txt. The same arguments give the same files.
"""

import argparse
import copy
import json
import math
import pathlib
import random as random_numbers
import tempfile

import numpy
import peft
import tokenizers
import torch
import transformers
from transformers.utils.chat_template_utils import render_jinja_template

HERE = pathlib.Path(__file__).parent
LENGTH = 16
VOCABULARY = 40
MODULES = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
TEMPLATE = "{% for message in messages %}{{ message.content }} {% endfor %}<|assistant|>"

SHAPE = dict(
    hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
    intermediate_size=48, vocab_size=VOCABULARY, max_position_embeddings=128, rms_norm_eps=1e-6,
    hidden_act="silu", bos_token_id=None, eos_token_id=2, pad_token_id=0,
)
QWEN3 = dict(SHAPE, model_type="qwen3", head_dim=16, tie_word_embeddings=True,
             rope_parameters=dict(rope_type="default", rope_theta=1e6))
QWEN2 = dict(SHAPE, model_type="qwen2", tie_word_embeddings=True,
             rope_parameters=dict(rope_type="default", rope_theta=1e6))
LLAMA = dict(SHAPE, model_type="llama", tie_word_embeddings=False, head_dim=16,
             rope_parameters=dict(rope_type="llama3", rope_theta=5e5, factor=8.0,
                                  low_freq_factor=1.0, high_freq_factor=4.0,
                                  original_max_position_embeddings=16))
QWEN3_MOE = dict(QWEN3, model_type="qwen3_moe", num_experts=5, num_experts_per_tok=2,
                 moe_intermediate_size=24, norm_topk_prob=True)
MISTRAL = dict(SHAPE, model_type="mistral", tie_word_embeddings=False, head_dim=12,
               sliding_window=128, rope_parameters=dict(rope_type="default", rope_theta=1e6))
SMOLLM3 = dict(SHAPE, model_type="smollm3", num_hidden_layers=5,
               rope_parameters=dict(rope_type="default", rope_theta=5e4))
GEMMA3 = dict(SHAPE, model_type="gemma3_text", num_hidden_layers=3, head_dim=12,
              query_pre_attn_scalar=10, sliding_window=5, tie_word_embeddings=True,
              layer_types=["sliding_attention", "full_attention", "sliding_attention"],
              rope_parameters=dict(
                  full_attention=dict(rope_type="linear", rope_theta=1e6, factor=8.0),
                  sliding_attention=dict(rope_type="default", rope_theta=1e4)))
YARN = dict(rope_type="yarn", rope_theta=1e4, factor=4.0, original_max_position_embeddings=32)

# Name: configuration, type of the weights, and what is special.
CASES = {
    "qwen3": (QWEN3, "float32", {}),
    "qwen3-untied-yarn": (
        dict(QWEN3, tie_word_embeddings=False, attention_bias=True, rope_parameters=YARN),
        "float32", {}),
    "qwen3-bf16": (QWEN3, "bfloat16", {}),
    "qwen3-lora": (QWEN3, "float32", dict(lora=dict(r=4, lora_alpha=8))),
    "qwen3-rslora": (QWEN3, "float32", dict(lora=dict(r=4, lora_alpha=6, use_rslora=True))),
    "qwen2": (QWEN2, "float32", dict(old=True)),
    "qwen2-mha-sharded": (
        dict(QWEN2, num_key_value_heads=4, tie_word_embeddings=False), "float32",
        dict(shards="20KB")),
    "qwen2-bf16": (QWEN2, "bfloat16", dict(old=True)),
    "llama3": (LLAMA, "float32", {}),
    "llama-linear-biases": (
        dict(LLAMA, num_key_value_heads=4, attention_bias=True, mlp_bias=True, head_dim=None,
             rope_parameters=dict(rope_type="linear", rope_theta=1e4, factor=2.5)),
        "float32", dict(old=True)),
    "llama-yarn": (
        dict(LLAMA, tie_word_embeddings=True,
             rope_parameters=dict(YARN, attention_factor=1.25, beta_fast=8, beta_slow=2)),
        "float32", {}),
    "llama3-bf16": (LLAMA, "bfloat16", {}),
    "qwen3-moe": (QWEN3_MOE, "float32", {}),
    "qwen3-moe-mixed": (
        dict(QWEN3_MOE, num_hidden_layers=4, decoder_sparse_step=2, mlp_only_layers=[3],
             norm_topk_prob=False, tie_word_embeddings=False, attention_bias=True),
        "float32", dict(old=True)),
    "qwen3-moe-bf16": (QWEN3_MOE, "bfloat16", {}),
    "qwen3-moe-lora": (QWEN3_MOE, "float32", dict(
        lora=dict(r=4, lora_alpha=8, target_modules=["q_proj", "k_proj", "v_proj", "o_proj"]))),
    "mistral": (MISTRAL, "float32", {}),
    "smollm3": (SMOLLM3, "float32", dict(left_out=["no_rope_layers", "layer_types"])),
    "smollm3-listed": (
        dict(SMOLLM3, num_hidden_layers=2, no_rope_layers=[0, 1], tie_word_embeddings=False,
             mlp_bias=True),
        "float32", dict(old=True)),
    "smollm3-lora": (dict(SMOLLM3, num_hidden_layers=2, no_rope_layer_interval=2), "float32",
                     dict(left_out=["no_rope_layers", "layer_types"],
                          lora=dict(r=4, lora_alpha=8))),
    "gemma3": (GEMMA3, "float32", {}),
    "gemma3-pattern": (
        dict(GEMMA3, num_hidden_layers=2, layer_types=["sliding_attention", "full_attention"],
             attention_bias=True), "float32",
        dict(old=True, left_out=["layer_types"], added=dict(sliding_window_pattern=2))),
    "gemma3-bf16": (GEMMA3, "bfloat16", {}),
    "gemma3-lora": (GEMMA3, "float32", dict(lora=dict(r=4, lora_alpha=8))),
    "mistral-window": (dict(MISTRAL, sliding_window=5), "float32", {}),
    "qwen3-window": (
        dict(QWEN3, use_sliding_window=True, sliding_window=6, max_window_layers=1), "float32",
        dict(left_out=["layer_types"])),
    "smollm3-window": (
        dict(SMOLLM3, num_hidden_layers=2, no_rope_layer_interval=2, use_sliding_window=True,
             sliding_window=5), "float32", dict(left_out=["layer_types"])),
}

# What `config.json` may say about rotary positions, for heads of 64.
ROTARY = {
    "plain": {},
    "linear": dict(rope_theta=5e5, rope_scaling=dict(type="linear", factor=2.5)),
    "llama3": dict(rope_theta=5e5, max_position_embeddings=131072, rope_scaling=dict(
        rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
        original_max_position_embeddings=8192)),
    "yarn": dict(rope_theta=1e6, max_position_embeddings=131072, rope_scaling=dict(
        rope_type="yarn", factor=4.0, original_max_position_embeddings=32768)),
    "yarn with scales": dict(rope_scaling=dict(
        rope_type="yarn", factor=40.0, mscale=0.7, mscale_all_dim=1.3, beta_fast=16, beta_slow=2,
        original_max_position_embeddings=4096, truncate=False)),
    "yarn with an attention factor": dict(rope_parameters=dict(
        rope_theta=1e4, rope_type="yarn", factor=2.0, attention_factor=1.5)),
    "yarn by lengths": dict(
        max_position_embeddings=16384, original_max_position_embeddings=4096,
        rope_parameters=dict(rope_theta=1e4, rope_type="yarn", factor=None)),
}


def fnv(text):
    """FNV-1a of 64 bits."""
    state = 0xCBF29CE484222325
    for byte in text.encode():
        state = (state ^ byte) * 0x100000001B3 % 2**64
    return state


def formula(name, shape):
    """The tensor of this name: SplitMix64 from the hash of its name, in [-1, 1), scaled."""
    count = math.prod(shape)
    with numpy.errstate(over="ignore"):
        steps = numpy.arange(1, count + 1, dtype=numpy.uint64)
        bits = numpy.uint64(fnv(name)) + steps * numpy.uint64(0x9E3779B97F4A7C15)
        bits = (bits ^ (bits >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
        bits = bits ^ (bits >> numpy.uint64(31))
    values = (bits >> numpy.uint64(40)).astype(numpy.float32) / numpy.float32(2**23) - 1
    return torch.from_numpy(scaled(name, values.astype(numpy.float32)).reshape(shape))


def scaled(name, values):
    """Numbers in [-1, 1) to the size that this tensor should have."""
    if "norm" in name:
        return 1 + values / 4
    if name.endswith("bias"):
        return values / 2
    return values if "embed_tokens" in name else values / 4


def random(seed):
    """Tensors at random, in place of the formula."""
    generator = torch.Generator().manual_seed(seed)
    return lambda name, shape: scaled(name, torch.rand(shape, generator=generator) * 2 - 1)


def model_of(case, fill, attention="eager"):
    """The model of a case with its weights, and with its adapter if it has one."""
    config, dtype, special = CASES[case]
    config = transformers.AutoConfig.for_model(**copy.deepcopy(config))
    config.dtype = getattr(torch, dtype)
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(
        config, dtype=config.dtype, attn_implementation=attention)
    with torch.no_grad():
        for parameter, tensor in model.named_parameters():
            for name, part in parts(parameter, tensor):
                part.copy_(fill(name, tuple(part.shape)))
    if "lora" in special:
        lora = dict(dict(target_modules=MODULES), **special["lora"])
        model = peft.get_peft_model(model, peft.LoraConfig(task_type="CAUSAL_LM", **lora))
        state = peft.get_peft_model_state_dict(model)
        filled = {name: fill(name, tuple(tensor.shape)) for name, tensor in state.items()}
        peft.set_peft_model_state_dict(model, filled)
    return model.eval()


def tokens_of(case):
    return [4 + fnv(f"{case}/{index}") % (VOCABULARY - 4) for index in range(LENGTH)]


def run(model, tokens):
    """Logits, log-probabilities of each next token, and gradients of their negated mean."""
    ids = torch.tensor([tokens])
    model.zero_grad()
    logits = model(input_ids=ids, use_cache=False).logits[0].float()
    logprobs = logits[:-1].log_softmax(-1).gather(1, ids[0, 1:, None])[:, 0]
    (-logprobs.mean()).backward()
    gradients = {name: gradient.float()
                 for parameter, tensor in model.named_parameters() if tensor.requires_grad
                 for name, gradient in parts(parameter, tensor.grad)}
    return logits.detach(), logprobs.detach(), gradients


def parts(parameter, tensor):
    """A parameter as files have it: experts one by one, and without peft's name for the adapter."""
    prefix, _, kind = parameter.rpartition("experts.")
    if kind not in ("gate_up_proj", "down_proj"):
        return [(parameter.replace(".default.", "."), tensor)]
    maps = dict(gate_up_proj=["gate_proj", "up_proj"], down_proj=["down_proj"])[kind]
    return [(f"{prefix}experts.{index}.{name}.weight", part) for index, expert in enumerate(tensor)
            for name, part in zip(maps, expert.chunk(len(maps)))]


def sample(gradient):
    """A few entries, at places that a test can find again."""
    flat = gradient.reshape(-1)
    return [flat[k * 7919 % flat.numel()].item() for k in range(4)]


def spread(one, other):
    """How far two runs that compute the same are apart."""
    apart = [float((a - b).norm() / b.norm()) for a, b in zip(one[:2], other[:2])]
    gradients = [float((one[2][name] - other[2][name]).norm() / other[2][name].norm())
                 for name in one[2] if other[2][name].norm() > 0]
    return dict(logits=apart[0], logprobs=apart[1], gradients=max(gradients))


def answers(case, fill):
    """All that a test compares."""
    model, tokens = model_of(case, fill), tokens_of(case)
    logits, logprobs, gradients = run(model, tokens)
    result = dict(
        tokens=tokens,
        logits=logits.tolist(),
        logprobs=logprobs.tolist(),
        gradients={name: dict(norm=gradient.norm().item(), entries=sample(gradient))
                   for name, gradient in gradients.items()},
    )
    if CASES[case][1] == "bfloat16":
        fused = run(model_of(case, fill, "sdpa"), tokens)
        result["spread"] = spread((logits, logprobs, gradients), fused)
    return model, result


def old_style(config):
    """The same in the words of transformers before version 5."""
    config = dict(config)
    rope = config.pop("rope_parameters")
    if "sliding_attention" in rope:
        config["rope_local_base_freq"] = rope["sliding_attention"]["rope_theta"]
        rope = rope["full_attention"]
    config["rope_theta"] = rope.pop("rope_theta")
    kind = rope.pop("rope_type")
    config["rope_scaling"] = dict(rope, type=kind) if kind != "default" else None
    config["torch_dtype"] = config.pop("dtype")
    return config


def files_of(case, model):
    """`config.json` and, of an adapter, `adapter_config.json`."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        base = model.get_base_model() if "lora" in CASES[case][2] else model
        base.config.save_pretrained(folder)
        config = json.loads((folder / "config.json").read_text())
        for key in CASES[case][2].get("left_out", []):
            del config[key]
        config.update(CASES[case][2].get("added", {}))
        if base is model:
            return old_style(config) if CASES[case][2].get("old") else config, None
        model.save_pretrained(folder)
        adapter = json.loads((folder / "adapter_config.json").read_text())
        return config, dict(adapter, target_modules=sorted(adapter["target_modules"]))


def shapes_of(model):
    found = {name: list(part.shape) for parameter, tensor in model.named_parameters()
             for name, part in parts(parameter, tensor)}
    base = {name.removeprefix("base_model.model.").replace(".base_layer", ""): shape
            for name, shape in found.items() if ".lora_" not in name}
    return base, {name: shape for name, shape in found.items() if ".lora_" in name}


def golden(folder, cases):
    for case in cases:
        model, result = answers(case, formula)
        config, adapter = files_of(case, model)
        shapes, added = shapes_of(model)
        result = dict(config=config, shapes=shapes, **result)
        if adapter is not None:
            result.update(adapter=adapter, adapter_shapes=added)
        write_json(folder / f"{case}.json", result)
    write_json(folder / "rotary.json", rotary())
    write_json(folder / "templates.json", templates())


def rotary():
    """Frequencies and magnitudes of `ROTARY`."""
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    result = {}
    for name, entries in ROTARY.items():
        shape = dict(SHAPE, model_type="llama", hidden_size=256)
        config = dict(shape, **entries)
        embedding = LlamaRotaryEmbedding(
            transformers.LlamaConfig.from_dict(copy.deepcopy(config)))
        result[name] = dict(
            config=config,
            inverse_frequencies=embedding.inv_freq.tolist(),
            magnitude=embedding.attention_scaling,
        )
    return result


def templates():
    """Prompts of the templates in templates/."""
    def message(role, content):
        return dict(role=role, content=content)

    weather = dict(type="function", function=dict(
        name="weather", description="It's <b>hot</b> or \"cold\" — 7 °C",
        parameters=dict(type="object", required=["place"], properties=dict(
            place=dict(type="string", enum=["Zürich", "東京"]), days=dict(type="integer", minimum=1.5e-7)))))
    talks = {
        "ask": [message("user", "banana ")],
        "system": [message("system", "  be brief\n"), message("user", "a {{ b }} c")],
        "systems": [message("system", "one"), message("system", "two"), message("user", "hi"),
                    message("system", "three"), message("user", "go on")],
        "history": [message("user", "q"), message("assistant", "<think>\nhm\n</think>\n\nA b"),
                    message("user", "<result>4</result>"), message("user", "and?")],
        "answered": [message("user", "q"), message("assistant", "<think>\nhm\n</think>\n\nA b")],
    }
    options = {
        "plain": {}, "quiet": dict(enable_thinking=False), "loud": dict(enable_thinking=True),
        "tools": dict(tools=[weather, dict(name="noop")]),
    }
    tokens = dict(bos_token="<|begin|>", eos_token="<|eot_id|>")
    paths = sorted((HERE / "templates").glob("*.jinja"))
    asked = [(path, messages, chosen) for path in paths
             for messages in talks.values() for chosen in options.values()]
    rng = random_numbers.Random(7)
    for _ in range(100):
        chosen = dict(rng.choice(list(options.values()))) | (
            dict(tools=rng.sample([weather, dict(name="noop"), dict(name="λ", strict=None)], 2))
            if rng.random() < 0.3 else {})
        asked.append((rng.choice(paths), conversation(rng, message), chosen))
    cases = []
    for path, messages, chosen in asked:
        case = dict(template=path.name, messages=messages, options=chosen)
        try:
            rendered, _ = render_jinja_template(
                conversations=[messages], chat_template=path.read_text(),
                add_generation_prompt=True, **chosen, **tokens)
            case["text"] = rendered[0]
        except Exception as error:  # Jinja's own, and those of templates
            case["error"] = str(error)
        cases.append(case)
    return dict(tokens=tokens, cases=cases)


def conversation(rng, message):
    """One that nobody thought of: up to six turns of odd text, thoughts and results."""
    pieces = ["What is 2 + 2?", " ", "\n", "\t", "naïve", "東京", "🙂", "<|im_end|>", "{{ x }}",
              "{% if %}", "</think>", "<think>", "\"quoted\"", "back\\slash", "a < b && c > d",
              "```python\nprint('hi')\n```", "\r\n", "  two  spaces  ", "null", "\u00a0", "'"]

    def text():
        return "".join(rng.choice(pieces) for _ in range(rng.randrange(1, 7)))

    def answer():
        thought = f"<think>\n{text()}\n</think>\n\n" if rng.random() < 0.5 else ""
        return message("assistant", thought + text())

    def question():
        is_result = rng.random() < 0.2
        return message("user", f"<result>{text()}</result>" if is_result else text())

    messages = [message("system", text())] if rng.random() < 0.6 else []
    for _ in range(rng.randrange(6)):
        messages += [question(), answer()]
        if rng.random() < 0.1:
            messages.append(message("system", text()))
    return messages + [question()]


def write(folder, seed):
    for case, (_, _, special) in CASES.items():
        fill = random(seed + fnv(case) % 1000)
        made = {}

        def once(name, shape):
            """The second model of a case has the weights of the first."""
            if name not in made:
                made[name] = fill(name, shape)
            return made[name]

        model, result = answers(case, once)
        target = folder / case
        base = model
        if "lora" in special:
            model.save_pretrained(folder / f"{case}-adapter")
            base = model.unload()
        base.generation_config = transformers.GenerationConfig(
            eos_token_id=[2, 3], pad_token_id=0, temperature=0.7, do_sample=True)
        base.save_pretrained(target, max_shard_size=special.get("shards", "5GB"))
        tokenizer().save_pretrained(target)
        (folder / f"{case}.json").write_text(json.dumps(result))


def tokenizer():
    words = ["<pad>", "<unk>", "<eos>", "<|assistant|>"]
    words += [f"w{index}" for index in range(VOCABULARY - len(words))]
    inner = tokenizers.Tokenizer(tokenizers.models.WordLevel(
        {word: index for index, word in enumerate(words)}, unk_token="<unk>"))
    inner.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    inner.add_special_tokens(words[:4])
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="<pad>", unk_token="<unk>", eos_token="<eos>",
        chat_template=TEMPLATE)


def check(folder, saved):
    """Load both with transformers; they must be equal in every respect."""
    for path in sorted(saved.iterdir()):
        if path.name.endswith("-adapter"):
            check_adapter(folder / path.name.removesuffix("-adapter"), folder / path.name, path)
        else:
            check_model(folder / path.name, path)
        print(f"{path.name}: equal")


def check_model(original, saved):
    models = []
    for source in (original, saved):
        model, report = transformers.AutoModelForCausalLM.from_pretrained(
            source, dtype="auto", output_loading_info=True)
        assert not any(report.values()), f"{source}: {report}"
        models.append(model.eval())
    one, other = (logits_of(model, original.name) for model in models)
    assert one.dtype == other.dtype and torch.equal(one, other), f"{saved}: other logits"
    configs = [model.config.to_dict() | dict(_name_or_path="") for model in models]
    assert configs[0] == configs[1], f"{saved}: {configs}"
    settings = [model.generation_config.to_dict() for model in models]
    assert settings[0] == settings[1], f"{saved}: {settings}"
    one, other = map(transformers.AutoTokenizer.from_pretrained, (original, saved))
    talk = [dict(role="user", content="w3 w5 nowhere")]
    prompts = [kind.apply_chat_template(talk, tokenize=False) for kind in (one, other)]
    assert prompts[0] == prompts[1], f"{saved}: {prompts}"
    assert one(prompts[0])["input_ids"] == other(prompts[1])["input_ids"], f"{saved}: other tokens"
    assert one.eos_token_id == other.eos_token_id == 2, f"{saved}: other end of text"


def check_adapter(base, original, saved):
    one, other = (
        logits_of(peft.PeftModel.from_pretrained(
            transformers.AutoModelForCausalLM.from_pretrained(base), source), base.name)
        for source in (original, saved))
    assert torch.equal(one, other), f"{saved}: other logits"


def logits_of(model, case):
    with torch.no_grad():
        return model.eval()(input_ids=torch.tensor([tokens_of(case)])).logits


def rounded(value):
    """Floats to seven digits, as they are compared to fewer."""
    if isinstance(value, float):
        return float(f"{value:.7g}")
    if isinstance(value, dict):
        return {key: rounded(entry) for key, entry in value.items()}
    return [rounded(entry) for entry in value] if isinstance(value, list) else value


def write_json(path, value, depth=2):
    """Indented to a depth, so that rows of numbers are lines."""
    def text(value, depth, margin):
        if depth == 0 or not isinstance(value, (dict, list)) or not value:
            return json.dumps(value, ensure_ascii=False)
        inner = margin + " "
        if isinstance(value, dict):
            items = [f"{inner}{json.dumps(key)}: {text(entry, depth - 1, inner)}"
                     for key, entry in value.items()]
            return "{\n" + ",\n".join(items) + f"\n{margin}}}"
        return "[\n" + ",\n".join(inner + text(entry, depth - 1, inner) for entry in value) + f"\n{margin}]"
    path.write_text(text(rounded(value), depth, "") + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mode", choices=["golden", "write", "check"])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("saved", type=pathlib.Path, nargs="?")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    arguments = parser.parse_args()
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    if arguments.mode == "golden":
        golden(arguments.folder, arguments.cases)
    elif arguments.mode == "write":
        write(arguments.folder, arguments.seed)
    else:
        check(arguments.folder, arguments.saved)


if __name__ == "__main__":
    main()
