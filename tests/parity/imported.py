"""What transformers makes of a GGUF file, for host/model/src/gguf/parity.rs.

    imported.py FILE OUT [--strings N] [--texts N] [--seed S]

writes to OUT, as JSON, the tokens of N strings, half of them lines of Python's own library and
half drawn at random, and the tokens and logits (32 bits, every position) of four texts (or fewer).
Of a large vocabulary, the logits of each 31st token.

Three things transformers does not take from the file, and they are mended here as the models were
made with them: SmolLM cuts digits apart; Qwen composes letters (NFC), so the strings are composed
already; Gemma 3 scales queries by the width of a head, which transformers takes to be 256.

Needs the packages of requirements.txt. The same arguments and versions give the same file.
"""

import argparse
import json
import pathlib
import random
import sysconfig
import unicodedata

import gguf
import torch
import transformers
from tokenizers import pre_tokenizers

TEXTS = [
    "Paris, 12 + 30 = 42.",
    "def he(x):\n    return x * 12  # hello\n",
    "Zwölf Boxkämpfer jagen Viktor; he said: «12 ≠ 21».",
    "<|im_start|>user\nWhat is 13 + 19?<|im_end|>\n<|im_start|>assistant\n",
]
PIECES = [
    "he", "12", " ", "  ", "\n", "\t", "\r\n", "'s", "'LL", "hello", " World", "3.14159", "1,000",
    "naïve", "Straße", "日本語", "тест", "عربي", "🙂", "👩‍👩‍👧", "e\u0301", "\u00a0", "\u200b", "!?", "...",
    "<|im_start|>", "<|im_end|>", "<b>", "{x}", "a_b", "CamelCase", "#", "\\frac{1}{2}", "٣٤", "Ⅻ",
]

LARGE = 100_000
GEMMA_PIECES = [
    "<start_of_turn>", "<end_of_turn>", "<bos>", "<eos>", "<unk>", "[multimodal]", "\u2581", "   ",
    "    ", "\n\n", "\n\n\n", "\t\t", "\x00", "the", " the", "<0x0A>", "))", "\ud7a3", "\u0378",
]


def real_lines(rng, count):
    """Lines of Python's own modules, with their line ends."""
    files = sorted(pathlib.Path(sysconfig.get_path("stdlib")).glob("*.py"))
    lines = [line for file in files for line in file.read_text("utf-8").splitlines(True)]
    return rng.sample([line for line in lines if line.strip()], count)


def drawn(rng, pieces):
    """A string of pieces and of letters from anywhere."""
    def letter():
        low, high = rng.choice([(0x20, 0x7F), (0x80, 0xD800), (0xE000, 0x20000)])
        return chr(rng.randrange(low, high))

    chosen = (rng.choice(pieces) if rng.random() < 0.6 else letter()
              for _ in range(rng.randint(1, 24)))
    return unicodedata.normalize("NFC", "".join(chosen))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--strings", type=int, default=10_000)
    parser.add_argument("--texts", type=int, default=len(TEXTS))
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    source = dict(pretrained_model_name_or_path=args.file.parent, gguf_file=args.file.name)
    tokenizer = transformers.AutoTokenizer.from_pretrained(**source)
    said = gguf.GGUFReader(args.file).fields
    is_gemma = said["general.architecture"].contents() == "gemma3"
    if said["tokenizer.ggml.pre"].contents() == "smollm":
        cut = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                       pre_tokenizers.ByteLevel(add_prefix_space=False)])
        tokenizer.backend_tokenizer.pre_tokenizer = cut
    if is_gemma:
        source["query_pre_attn_scalar"] = said["gemma3.attention.key_length"].contents()
    model = transformers.AutoModelForCausalLM.from_pretrained(**source, dtype=torch.float32)
    model.eval()

    def tokens(text):
        return tokenizer.encode(text, add_special_tokens=False)

    def text(told):
        with torch.no_grad():
            logits = model(torch.tensor([tokens(told)])).logits[0]
        every = 1 if len(tokenizer) < LARGE else 31
        rows = [[round(value, 5) for value in row] for row in logits[:, ::every].tolist()]
        return dict(text=told, tokens=tokens(told), every=every, logits=rows)

    rng = random.Random(args.seed)
    half = args.strings // 2
    pieces = PIECES + (GEMMA_PIECES if is_gemma else [])
    strings = real_lines(rng, args.strings - half) + [drawn(rng, pieces) for _ in range(half)]
    found = dict(strings=[dict(text=string, tokens=tokens(string)) for string in strings],
                 texts=[text(said) for said in TEXTS[:args.texts]])
    args.out.write_text(json.dumps(found), "utf-8")


if __name__ == "__main__":
    main()
