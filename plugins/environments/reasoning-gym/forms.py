"""Which answers have the form that is asked for. What has another cannot be nearly right,
however much of the right answer is somewhere in it."""

from __future__ import annotations

import re

# A number may be negative, broken, or one of several.
_WITH_NUMBERS = set("+-*/.,()")
# Elsewhere it separates nothing.
_SPACE = re.compile(r"(?<=\w)\s+(?=\w)")


def is_near(answer: str, right: str) -> bool:
    """Whether an answer that is not right can be worth something: it consists of nothing
    that the right one has no kind of, and does not merely contain it."""
    answer, right = answer.strip().lower(), right.strip().lower()
    return right not in answer and _kinds(answer) <= _kinds(right) | _usual(right)


def _kinds(text: str) -> set[str]:
    """Letters, digits, spaces between words, and every other sign by itself."""
    kinds = {_kind(sign) for sign in text if not sign.isspace()}
    return kinds | ({" "} if _SPACE.search(text) else set())


def _kind(sign: str) -> str:
    return "a" if sign.isalpha() else "0" if sign.isdecimal() else sign


def _usual(right: str) -> set[str]:
    """What may stand beside numbers, if there are some."""
    return _WITH_NUMBERS if any(map(str.isdecimal, right)) else set()


def uses(answer: str, numbers: list[int]) -> bool:
    """Whether a sum consists of these numbers, each once."""
    return sorted(map(int, re.findall(r"\d+", answer))) == sorted(numbers)
