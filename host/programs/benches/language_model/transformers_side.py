"""A language model in `transformers` and plain PyTorch, for `main.rs`.

`generate` has all prompts in one padded batch, each repeated by
`num_return_sequences`; `generate_batch` is continuous batching; `train` is one
update.

The update is what one writes without a trainer's tricks: one row per sample,
prompt and answer, padded on the right, in micro-batches of the same number of
rows; logits only where answers are predicted; PyTorch's fused attention and
fused AdamW.
"""

import torch
import torch.nn.functional as F
from transformers import AutoModelForCausalLM, ContinuousBatchingConfig, GenerationConfig

import side


class Side:
    def __init__(self, folder, work):
        self.work = work
        torch.set_num_threads(work["threads"])
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        kind = getattr(torch, work["dtype"])
        self.model = AutoModelForCausalLM.from_pretrained(
            folder, dtype=kind, attn_implementation="sdpa"
        ).to(self.device)
        self.model.eval()
        self.optimizer = None

    def settings(self, tokens=None, **more):
        return GenerationConfig(
            do_sample=True,
            temperature=1.0,
            top_k=0,
            top_p=1.0,
            max_new_tokens=tokens or self.work["max_completion_tokens"],
            eos_token_id=self.work["end"],
            pad_token_id=self.work["pad"],
            **more,
        )

    def generate(self, rows=None, tokens=None):
        prompts, answers = side.share(self.work, rows)
        longest = max(map(len, prompts))
        pad = self.work["pad"]
        ids = torch.tensor([[pad] * (longest - len(p)) + p for p in prompts])
        mask = torch.tensor([[0] * (longest - len(p)) + [1] * len(p) for p in prompts])
        with torch.inference_mode():
            out = self.model.generate(
                input_ids=ids.to(self.device),
                attention_mask=mask.to(self.device),
                generation_config=self.settings(tokens, num_return_sequences=answers),
            )
        return side.count(out[:, longest:].tolist(), self.work["end"])

    def generate_batch(self):
        prompts = [p for p in self.work["prompts"] for _ in range(self.work["answers"])]
        # It works in a thread of its own, which does without gradients itself.
        out = self.model.generate_batch(
            inputs=prompts,
            generation_config=self.settings(),
            continuous_batching_config=self.batching(prompts),
            progress_bar=False,
        )
        errors = [answer.error for answer in out.values() if answer.error]
        if errors:
            raise RuntimeError(errors[0])
        answers = [answer.generated_tokens for answer in out.values()]
        if len(answers) != len(prompts):
            raise RuntimeError(f"{len(answers)} of {len(prompts)} requests were answered")
        return side.count(answers, self.work["end"])

    def batching(self, prompts):
        """Enough pages for all; it finds out by itself only on a GPU."""
        if self.device == "cuda":
            return None
        page = 256
        pages = [-(-(len(p) + self.work["max_completion_tokens"]) // page) for p in prompts]
        return ContinuousBatchingConfig(
            page_size=page, num_blocks=sum(pages) + len(prompts), max_batch_tokens=2048
        )

    def train(self):
        if self.optimizer is None:
            self.model.train()
            self.optimizer = torch.optim.AdamW(
                self.model.parameters(), lr=1e-7, betas=(0.9, 0.98), weight_decay=0.0, fused=True
            )
        samples = sorted(self.work["samples"], key=lambda s: len(s["prompt"]) + len(s["tokens"]))
        total = sum(len(sample["tokens"]) for sample in samples)
        rows = self.work["rows_per_micro_batch"]
        self.optimizer.zero_grad()
        for start in range(0, len(samples), rows):
            self.loss(samples[start : start + rows], total).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        if self.device == "cuda":
            torch.cuda.synchronize()
        return sum(len(sample["prompt"]) + len(sample["tokens"]) for sample in samples)

    def loss(self, samples, total):
        longest = max(len(s["prompt"]) + len(s["tokens"]) for s in samples)
        tokens, keep, targets, old, advantages = [], [], [], [], []
        for row, sample in enumerate(samples):
            own = sample["prompt"] + sample["tokens"]
            first = row * longest + len(sample["prompt"]) - 1
            tokens.append(own + [self.work["pad"]] * (longest - len(own)))
            keep.extend(range(first, first + len(sample["tokens"])))
            targets.extend(sample["tokens"])
            old.extend(sample["logprobs"])
            advantages.extend([sample["advantage"]] * len(sample["tokens"]))
        move = lambda values: torch.tensor(values, device=self.device)
        states = self.model.model(input_ids=move(tokens), use_cache=False).last_hidden_state
        logits = self.model.lm_head(states.flatten(0, 1)[move(keep)]).float()
        logprobs = F.log_softmax(logits, -1)
        chosen = logprobs.gather(1, move(targets).unsqueeze(1)).squeeze(1)
        ratio = (chosen - move(old)).exp()
        gain = torch.minimum(
            ratio * move(advantages), ratio.clamp(0.8, 1.28) * move(advantages)
        )
        return -gain.sum() / total


side.serve(Side)
