"""A step of TRL's `GRPOTrainer`, for `main.rs`.

`step` is one optimizer step on as many answers as it is given: the prompts
are generated from, rewarded by a function that costs nothing, and learned
from, all weights trained, as TRL does it by itself.
"""

import tempfile
import time

import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

import side


class Clock(TrainerCallback):
    def on_step_begin(self, *_, **__):
        self.start = time.perf_counter()

    def on_step_end(self, *_, **__):
        self.seconds = time.perf_counter() - self.start


class Side:
    def __init__(self, folder, work):
        self.work = work
        torch.set_num_threads(work["threads"])
        self.model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.tokenizer.pad_token = self.tokenizer.pad_token or self.tokenizer.eos_token

    def step(self, rows):
        prompts, answers = side.share(self.work, rows)
        clock, handled = Clock(), []

        def reward(completions, prompts, **_):
            length = lambda text: len(self.tokenizer(text)["input_ids"])
            handled.extend(length(p) + length(c) for p, c in zip(prompts, completions))
            return [float(len(set(text)) % 7) for text in completions]

        settings = GRPOConfig(
            output_dir=tempfile.mkdtemp(),
            per_device_train_batch_size=len(prompts) * answers,
            num_generations=answers,
            max_completion_length=self.work["max_completion_tokens"],
            max_steps=1,
            learning_rate=1e-7,
            temperature=1.0,
            beta=0.0,
            use_cpu=not torch.cuda.is_available(),
            bf16=self.work["dtype"] == "bfloat16",
            report_to=[],
            save_strategy="no",
            disable_tqdm=True,
        )
        texts = [self.tokenizer.decode(prompt) for prompt in prompts]
        trainer = GRPOTrainer(
            model=self.model,
            args=settings,
            train_dataset=Dataset.from_dict({"prompt": texts}),
            reward_funcs=reward,
            processing_class=self.tokenizer,
            callbacks=[clock],
        )
        trainer.train()
        return {"tokens": sum(handled), "seconds": clock.seconds}


side.serve(Side)
