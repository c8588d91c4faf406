"""Run `host check-answer` and the Python package math-verify over one file of pairs.

    pip install 'math-verify==0.9.0' 'latex2sympy2_extended[antlr4_13_2]'
    python against_math_verify.py pairs.jsonl [--host target/release/host]

Prints where the two differ, what each gets wrong, and pairs per second on one core.
"""

import argparse
import json
import subprocess
import time

from math_verify import parse, verify

# Pairs that take longer are left out of the package's speed: it stops at five seconds.
LONGEST = 2.0


def wrapped(answer):
    """A bare answer as a formula, which is what the package wants to see."""
    prose = ("\\boxed", "$", "####", "nswer", " is ", " are ", " total ", "\n")
    return answer if any(mark in answer for mark in prose) else f"${answer}$"


def theirs(pairs):
    """The verdicts of math-verify, and its pairs per second without those that time out."""
    verdicts, times = [], []
    for pair in pairs:
        start = time.perf_counter()
        try:
            gold = parse(f"${pair['gold']}$")
            answer = parse(wrapped(pair["answer"]))
            verdicts.append("correct" if verify(gold, answer) else "wrong")
        except Exception as error:
            verdicts.append(f"undecided: {type(error).__name__}")
        times.append(time.perf_counter() - start)
    in_time = [seconds for seconds in times if seconds < LONGEST]
    return verdicts, len(in_time) / sum(in_time)


def ours(path, pairs, host):
    """The verdicts of host, and what it says they add up to."""
    command = [host, "check-answer", "--pairs", path, "--list", "--json"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    verdicts = [pair.get("expect", "either") for pair in pairs]
    for line in lines[:-1]:
        if line.startswith("{"):
            row = json.loads(line)
            verdicts[row["line"] - 1] = row["verdict"]
    return verdicts, json.loads(lines[-1])


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("pairs")
    arguments.add_argument("--host", default="target/release/host")
    arguments = arguments.parse_args()
    with open(arguments.pairs, encoding="utf-8") as file:
        pairs = [json.loads(line) for line in file]
    own, summary = ours(arguments.pairs, pairs, arguments.host)
    other, per_second = theirs(pairs)
    counts = {"host": [0, 0, 0], "math-verify": [0, 0, 0]}
    for pair, one, two in zip(pairs, own, other):
        expected = pair.get("expect", "either")
        if expected == "either":
            continue
        for name, verdict in (("host", one), ("math-verify", two)):
            counts[name][0] += expected == "wrong" and verdict == "correct"
            counts[name][1] += expected == "correct" and verdict == "wrong"
            counts[name][2] += verdict.startswith("undecided")
        if one.split(":")[0] != two.split(":")[0]:
            row = (pair.get("class", ""), expected, one, two, pair["gold"], pair["answer"])
            print(json.dumps(row, ensure_ascii=False))
    for name, (false_correct, false_wrong, undecided) in counts.items():
        print(f"{name}: false correct {false_correct}, false wrong {false_wrong}, "
              f"undecided {undecided}")
    of_ours = summary["pairs_per_second"]
    print(f"{of_ours:.0f} and {per_second:.0f} pairs per second: "
          f"{of_ours / per_second:.0f} times as fast")


if __name__ == "__main__":
    main()
