"""Decoding in llama.cpp, for `main.rs`.

`generate` reads each prompt once, shares what it read among its answers
(`llama_memory_seq_cp`), and has llama.cpp draw for all answers that go on, one
token each at a time, at temperature 1 from the whole vocabulary. The model is the file
that `work.json` names, made F16 (or BF16) before, as llama.cpp's own tools
make it.
"""

import llama_cpp as llama

import side

KINDS = {
    "float32": llama.LLAMA_FTYPE_MOSTLY_F16,
    "bfloat16": llama.LLAMA_FTYPE_MOSTLY_BF16,
}
BATCH = 2048


class Side:
    def __init__(self, folder, work):
        self.work = work
        llama.llama_backend_init()
        file = folder / "model.gguf"
        self.convert(work["gguf"], file)
        settings = llama.llama_model_default_params()
        self.model = llama.llama_model_load_from_file(str(file).encode(), settings)
        self.sampler = llama.llama_sampler_init_dist(4)

    def convert(self, source, file):
        if file.exists():
            return
        how = llama.llama_model_quantize_default_params()
        how.ftype = KINDS[self.work["dtype"]]
        how.allow_requantize = True
        if llama.llama_model_quantize(source.encode(), str(file).encode(), how):
            raise RuntimeError(f"llama.cpp cannot convert {source}")

    def context(self, prompts, answers, tokens):
        settings = llama.llama_context_default_params()
        rows = len(prompts) * answers
        settings.n_ctx = sum(map(len, prompts)) + rows * tokens + 64
        settings.n_batch = settings.n_ubatch = BATCH
        settings.n_seq_max = len(prompts) + rows
        settings.n_threads = settings.n_threads_batch = self.work["threads"]
        settings.kv_unified = True  # what was read once is seen by all that share it
        return llama.llama_init_from_model(self.model, settings)

    def generate(self, rows=None, tokens=None):
        prompts, answers = side.share(self.work, rows)
        tokens = tokens or self.work["max_completion_tokens"]
        context = self.context(prompts, answers, tokens)
        try:
            return side.count(self.answer(context, prompts, answers, tokens), self.work["end"])
        finally:
            llama.llama_free(context)

    def answer(self, context, prompts, answers, tokens):
        memory = llama.llama_get_memory(context)
        batch = llama.llama_batch_init(BATCH, 0, 1)
        said = [[] for _ in range(len(prompts) * answers)]
        for index, prompt in enumerate(prompts):
            self.decode(context, batch, [(token, at, index) for at, token in enumerate(prompt)])
            for row in range(index * answers, (index + 1) * answers):
                llama.llama_memory_seq_cp(memory, index, len(prompts) + row, -1, -1)
                said[row].append(llama.llama_sampler_sample(self.sampler, context, -1))
        goes_on = lambda row: len(said[row]) < tokens and said[row][-1] != self.work["end"]
        while alive := [row for row in range(len(said)) if goes_on(row)]:
            place = lambda row: len(prompts[row // answers]) + len(said[row]) - 1
            entries = [(said[row][-1], place(row), len(prompts) + row) for row in alive]
            self.decode(context, batch, entries, every=True)
            for index, row in enumerate(alive):
                said[row].append(llama.llama_sampler_sample(self.sampler, context, index))
        llama.llama_batch_free(batch)
        return said

    def decode(self, context, batch, entries, every=False):
        """Read (token, position, sequence); logits are for the last, or for every one."""
        batch.n_tokens = len(entries)
        for index, (token, position, sequence) in enumerate(entries):
            batch.token[index] = token
            batch.pos[index] = position
            batch.n_seq_id[index] = 1
            batch.seq_id[index][0] = sequence
            batch.logits[index] = every or index + 1 == len(entries)
        if llama.llama_decode(context, batch):
            raise RuntimeError("llama.cpp could not decode")


side.serve(Side)
