"""What scorers may read of an answer, and for how long. Some of them run it as code, and an answer is
code that somebody else wrote: it could pay itself, or take for ever."""

from __future__ import annotations

import ast
import contextlib
import re
import sys
from fractions import Fraction
from typing import Any, Iterator

# Sums have no powers, which grow beyond every bound.
_SUM = re.compile(r"(?!.*\*\s*\*)[0-9+\-*/(). ]{1,200}")
_TERM = re.compile(r"[0-9A-Za-z+\-*/^(),. ]{1,400}")
_WORD = re.compile(r"[A-Za-z]+")
_POWER = re.compile(r"(?:\*\s*\*|\^)\s*")
_SMALL = re.compile(r"-?\d{1,2}(?![\d.])|\(\s*-?\d{1,2}(?:\s*/\s*\d{1,2})?\s*\)")
_LONG = re.compile(r"\d{13}")
_LARGE = re.compile(r"[eE][-+_0]*[1-9][\d_]{2}")
_FUNCTIONS = {
    "Abs", "C", "E", "acos", "asin", "atan", "cos", "cosh", "cot", "csc", "erf", "exp", "ln", "log",
    "pi", "sec", "sin", "sinh", "sqrt", "tan", "tanh",
}  # fmt: skip


def literal(text: str) -> Any:
    """What `eval` makes of a literal."""
    return ast.literal_eval(text.strip())


def fraction(text: str) -> Fraction:
    """The fraction that a text names, unless it takes many digits to write."""
    if _LARGE.search(text):
        raise ValueError("this number is too large")
    return Fraction(text)


def is_no_number(text: str) -> bool:
    """Whether it names the number that is none, which no comparison refuses."""
    return "nan" in text.lower()


def is_sum(text: str) -> bool:
    """Whether it is a sum, or the like, of numbers."""
    return bool(_SUM.fullmatch(text)) and not _LONG.search(text)


def is_term(text: str) -> bool:
    """Whether it is a term with letters, known functions and small powers."""
    known = all(len(word) == 1 or word in _FUNCTIONS for word in _WORD.findall(text))
    if not known or not _TERM.fullmatch(text) or _LONG.search(text):
        return False
    powers = [match.end() for match in _POWER.finditer(text)]
    small = [_SMALL.match(text, at) for at in powers]
    # A power of a power can be large again.
    return all(small) and not any(_POWER.match(text, match.end()) for match in small)


class Exhausted(BaseException):
    """It went on for too long; no handler of the package takes it for an error of its own."""


@contextlib.contextmanager
def at_most(calls: int) -> Iterator[None]:
    """Let nothing inside call more functions than this."""

    def count(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal calls
        calls -= event == "call"
        if calls < 0:
            raise Exhausted

    sys.setprofile(count)
    try:
        yield
    finally:
        sys.setprofile(None)


@contextlib.contextmanager
def at_most_lines(lines: int) -> Iterator[None]:
    """Let nothing inside run more lines than this."""

    def count(_frame: Any, event: str, _argument: Any) -> Any:
        nonlocal lines
        lines -= event == "line"
        if lines < 0:
            raise Exhausted
        return count

    sys.settrace(count)
    try:
        yield
    finally:
        sys.settrace(None)
