"""What transformers makes of a GGUF file, for host/src/policy/gguf/parity.rs.

    imported.py FILE OUT [--strings N] [--texts N] [--seed S]

writes to OUT, as JSON, the tokens of N strings, half of them lines of Python's own library and
half drawn at random, and the tokens and logits (32 bits, every position) of four texts (or fewer).

Two things of a tokenizer transformers does not take from the file, and they are mended here as
the tokenizers that the models were made with have them: SmolLM cuts digits apart, and Qwen
composes letters (NFC), so the strings are composed already.

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


def real_lines(rng, count):
    """Lines of Python's own modules, with their line ends."""
    files = sorted(pathlib.Path(sysconfig.get_path("stdlib")).glob("*.py"))
    lines = [line for file in files for line in file.read_text("utf-8").splitlines(True)]
    return rng.sample([line for line in lines if line.strip()], count)


def drawn(rng):
    """A string of pieces and of letters from anywhere."""
    def letter():
        low, high = rng.choice([(0x20, 0x7F), (0x80, 0xD800), (0xE000, 0x20000)])
        return chr(rng.randrange(low, high))

    pieces = (rng.choice(PIECES) if rng.random() < 0.6 else letter()
              for _ in range(rng.randint(1, 24)))
    return unicodedata.normalize("NFC", "".join(pieces))


def pre_tokenizer_of(file):
    """What the file says of how texts are cut."""
    field = gguf.GGUFReader(file).fields["tokenizer.ggml.pre"]
    return bytes(field.parts[field.data[0]]).decode()


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
    if pre_tokenizer_of(args.file) == "smollm":
        cut = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                       pre_tokenizers.ByteLevel(add_prefix_space=False)])
        tokenizer.backend_tokenizer.pre_tokenizer = cut
    model = transformers.AutoModelForCausalLM.from_pretrained(**source, dtype=torch.float32)
    model.eval()

    def tokens(text):
        return tokenizer.encode(text, add_special_tokens=False)

    def text(said):
        with torch.no_grad():
            logits = model(torch.tensor([tokens(said)])).logits[0]
        rows = [[round(value, 5) for value in row] for row in logits.tolist()]
        return dict(text=said, tokens=tokens(said), logits=rows)

    rng = random.Random(args.seed)
    half = args.strings // 2
    strings = real_lines(rng, args.strings - half) + [drawn(rng) for _ in range(half)]
    found = dict(strings=[dict(text=string, tokens=tokens(string)) for string in strings],
                 texts=[text(said) for said in TEXTS[:args.texts]])
    args.out.write_text(json.dumps(found), "utf-8")


if __name__ == "__main__":
    main()
