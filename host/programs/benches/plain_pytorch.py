"""The tiny policy in plain PyTorch, as one would write it without an engine.

Reads a saved policy and `work.json` from the folder given, and then a line at a
time from standard input: `generate <threads>` samples answers to all prompts,
`train <threads>` makes one update. Answers each with a line of JSON.

Generation: each prompt repeated once per answer, padded on the left, with a
key-value cache. Training: one row per sample, prompt and answer, padded on the
right. The head sees only the rows it is needed for, attention is PyTorch's
fused one, and AdamW is its fused one.
"""

import json
import struct
import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as F


def read_safetensors(path):
    data = bytearray(path.read_bytes())
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        assert entry["dtype"] == "F32", entry["dtype"]
        start, end = entry["data_offsets"]
        flat = torch.frombuffer(
            data, dtype=torch.float32, count=(end - start) // 4, offset=8 + length + start
        )
        tensors[name] = flat.view(entry["shape"]).clone()
    return tensors


class Model:
    """Qwen3; weights by checkpoint name."""

    def __init__(self, folder):
        self.config = json.loads((folder / "config.json").read_text())
        self.weights = read_safetensors(folder / "model.safetensors")
        for weight in self.weights.values():
            weight.requires_grad_(True)
        width = self.config["head_dim"]
        exponents = torch.arange(0, width, 2, dtype=torch.float32) / width
        self.frequencies = self.config["rope_theta"] ** -exponents

    def weight(self, name):
        return self.weights[name + ".weight"]

    def norm(self, states, name):
        weight = self.weight(name)
        return F.rms_norm(states, weight.shape, weight, self.config["rms_norm_eps"])

    def rotate(self, heads, cosine, sine):
        first, second = heads.chunk(2, dim=-1)
        return heads * cosine + torch.cat((-second, first), dim=-1) * sine

    def forward(self, tokens, positions, mask, cache=None):
        """Final states of `tokens` [rows, length]; `cache` is a list to extend."""
        angles = positions.unsqueeze(-1).float() * self.frequencies
        angles = torch.cat((angles, angles), dim=-1).unsqueeze(1)
        cosine, sine = angles.cos(), angles.sin()
        states = F.embedding(tokens, self.weight("model.embed_tokens"))
        rows, length, _ = states.shape
        for layer in range(self.config["num_hidden_layers"]):
            at = f"model.layers.{layer}."
            normed = self.norm(states, at + "input_layernorm")

            def heads(name):
                projected = F.linear(normed, self.weight(at + "self_attn." + name))
                return projected.view(rows, length, -1, self.config["head_dim"])

            queries = self.norm(heads("q_proj"), at + "self_attn.q_norm").transpose(1, 2)
            keys = self.norm(heads("k_proj"), at + "self_attn.k_norm").transpose(1, 2)
            values = heads("v_proj").transpose(1, 2)
            queries, keys = self.rotate(queries, cosine, sine), self.rotate(keys, cosine, sine)
            if cache is not None:
                if layer < len(cache):
                    keys = torch.cat((cache[layer][0], keys), dim=2)
                    values = torch.cat((cache[layer][1], values), dim=2)
                    cache[layer] = (keys, values)
                else:
                    cache.append((keys, values))
            group = queries.shape[1] // keys.shape[1]
            attended = F.scaled_dot_product_attention(
                queries,
                keys.repeat_interleave(group, dim=1),
                values.repeat_interleave(group, dim=1),
                attn_mask=mask,
            )
            attended = attended.transpose(1, 2).reshape(rows, length, -1)
            states = states + F.linear(attended, self.weight(at + "self_attn.o_proj"))
            normed = self.norm(states, at + "post_attention_layernorm")
            gate = F.silu(F.linear(normed, self.weight(at + "mlp.gate_proj")))
            up = F.linear(normed, self.weight(at + "mlp.up_proj"))
            states = states + F.linear(gate * up, self.weight(at + "mlp.down_proj"))
        return self.norm(states, "model.norm")

    def logits(self, states):
        return F.linear(states, self.weight("model.embed_tokens"))  # tied


@torch.inference_mode()
def generate(model, work):
    """Sample all answers; returns the number of their tokens."""
    prompts = [prompt for prompt in work["prompts"] for _ in range(work["answers"])]
    longest, end = max(map(len, prompts)), model.config["eos_token_id"]
    tokens = torch.tensor([[0] * (longest - len(prompt)) + prompt for prompt in prompts])
    lengths = torch.tensor([len(prompt) for prompt in prompts])
    seen = torch.arange(longest) >= (longest - lengths).unsqueeze(1)  # [rows, longest]
    positions = (seen.cumsum(1) - 1).clamp(min=0)
    causal = torch.ones(longest, longest, dtype=torch.bool).tril()
    # Padding sees itself, so that no softmax is over nothing.
    mask = (seen[:, None, :] & causal | torch.eye(longest, dtype=torch.bool)).unsqueeze(1)
    cache, alive, count = [], torch.ones(len(prompts), dtype=torch.bool), 0
    states = model.forward(tokens, positions, mask, cache)[:, -1]
    for step in range(work["max_completion_tokens"]):
        scores = model.logits(states).log_softmax(-1)
        tokens = torch.multinomial(scores.exp(), 1)
        scores.gather(1, tokens)  # the log-probabilities to learn with
        count += int(alive.sum())
        alive &= tokens.squeeze(1) != end
        if step + 1 == work["max_completion_tokens"] or not alive.any():
            return count
        seen = torch.cat((seen, torch.ones(len(prompts), 1, dtype=torch.bool)), dim=1)
        positions = (lengths + step).unsqueeze(1)
        states = model.forward(tokens, positions, seen[:, None, None, :], cache)[:, -1]
    return count


def batch(work, samples):
    """Padded rows of a mini-batch, and where its answers' tokens are predicted."""
    rows = [work["prompts"][sample["prompt"]] + sample["tokens"] for sample in samples]
    longest = max(map(len, rows))
    tokens = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
    places, targets, old, advantages = [], [], [], []
    for index, (row, sample) in enumerate(zip(rows, samples)):
        first = len(row) - len(sample["tokens"]) - 1
        places += range(index * longest + first, index * longest + len(row) - 1)
        targets += sample["tokens"]
        old += sample["logprobs"]
        advantages += [sample["advantage"]] * len(sample["tokens"])
    return tokens, *map(torch.tensor, (places, targets, old, advantages))


def score(model, tokens, places, targets):
    """Log-probabilities of all words, and of the targets."""
    rows, longest = tokens.shape
    positions = torch.arange(longest).expand(rows, longest)
    # Padding is on the right, where causal attention never looks.
    mask = torch.ones(longest, longest, dtype=torch.bool).tril()
    states = model.forward(tokens, positions, mask).flatten(0, 1)[places]
    scores = model.logits(states).log_softmax(-1)
    return scores, scores.gather(1, targets.unsqueeze(1)).squeeze(1)


def train(model, optimizer, work):
    """One pass over the samples; returns their tokens, a group's prompt counted once."""
    samples, settings = work["samples"], work["train"]
    size = settings["minibatch_samples"]
    for start in range(0, len(samples), size):
        tokens, places, targets, old, advantages = batch(work, samples[start : start + size])
        scores, chosen = score(model, tokens, places, targets)
        ratio = (chosen - old).exp()
        clipped = ratio.clamp(1 - settings["clip_low"], 1 + settings["clip_high"])
        gain = torch.minimum(ratio * advantages, clipped * advantages)
        entropy = -(scores.exp() * scores).sum(-1)
        loss = -(gain + settings["entropy_coefficient"] * entropy).mean()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.weights.values(), settings["max_gradient_norm"])
        optimizer.step()
    prompts = {sample["prompt"] for sample in samples}
    return sum(len(work["prompts"][prompt]) for prompt in prompts) + sum(
        len(sample["tokens"]) for sample in samples
    )


def main():
    folder = Path(sys.argv[1])
    model, work = Model(folder), json.loads((folder / "work.json").read_text())
    settings = work["train"]
    optimizer = torch.optim.AdamW(
        model.weights.values(),
        lr=settings["learning_rate"],
        betas=(settings["beta1"], settings["beta2"]),
        eps=settings["epsilon"],
        weight_decay=settings["weight_decay"],
        fused=True,
    )
    with torch.no_grad():
        tokens, places, targets, old, _ = batch(work, work["samples"])
        difference = (score(model, tokens, places, targets)[1] - old).abs().max().item()
    print(json.dumps({"torch": torch.__version__, "largest_difference": difference}), flush=True)
    for line in sys.stdin:
        what, threads = line.split()
        torch.set_num_threads(int(threads))
        start = time.perf_counter()
        if what == "generate":
            tokens = generate(model, work)
        else:
            tokens = train(model, optimizer, work)
        seconds = time.perf_counter() - start
        print(json.dumps({"tokens": tokens, "seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
