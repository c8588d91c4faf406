"""What the SDK does for both games: chance that follows from a task, and reading answers."""

import re

STEPS = {"U": (-1, 0), "D": (1, 0), "L": (0, -1), "R": (0, 1)}
NAMES = {"up": "U", "down": "D", "left": "L", "right": "R"}
BITS = (1 << 64) - 1


def mixed(bits):
    bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9 & BITS
    bits = (bits ^ bits >> 27) * 0x94D049BB133111EB & BITS
    return bits ^ bits >> 31


def hashed(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & BITS
    return mixed(value)


def is_train(problem):
    return hashed(problem) % 10 > 1


class Chance:
    """The numbers of a training task, as docs/contract.md has them: both sides draw the same."""

    def __init__(self, seed, purpose):
        self.state = hashed(bytes([0]) + seed.to_bytes(4, "little") + purpose.encode())

    def below(self, bound):
        self.state = self.state + 0x9E3779B97F4A7C15 & BITS
        return mixed(self.state) * bound >> 64

    def choice(self, items):
        index = self.below(len(items))
        return items[index] if items else None

    def shuffle(self, items):
        for last in range(len(items) - 1, 0, -1):
            other = self.below(last + 1)
            items[last], items[other] = items[other], items[last]


MARKED = re.compile(r".*<answer>(.*?)</answer>", re.DOTALL)
BLOCK = re.compile(r".*```\w*\n(.*?)```", re.DOTALL)
LABEL = re.compile(r"(?:final answer|answer|moves|plan|actions?)\s*:", re.IGNORECASE)
BETWEEN = re.compile(r"[\s,;\[\]()\"'`*]+")


def passages(text):
    """Where an answer is looked for: what is marked, all of it, a code block, line by line."""
    if marked := MARKED.match(text):
        yield marked[1]
    yield text
    if block := BLOCK.match(text):
        yield block[1]
    yield from reversed(text.splitlines())


def words(passage):
    """The moves in a passage in which there is nothing else, or the first word that is none."""
    passage = passage.strip(" \t\n`*\"$")
    if label := LABEL.match(passage):
        passage = passage[label.end() :]
    moves = []
    for word in BETWEEN.split(passage.removesuffix(".")):
        if word.lower() in NAMES:
            moves.append(NAMES[word.lower()])
        elif all(letter in STEPS for letter in word.upper()):
            moves.extend(word.upper())
        else:
            return None, word
    return moves, None


def read(text, limit):
    """The moves of an answer, and what is wrong with it."""
    wrong = ""
    for passage in passages(text.strip()):
        moves, wrong = words(passage)
        if moves is not None:
            if len(moves) > limit:
                return None, f"{len(moves)} moves are more than {limit}."
            return moves, ""
    return None, f"`{wrong[:24]}` is not a move."
