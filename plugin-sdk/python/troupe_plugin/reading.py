"""Reading what language models write: what counts may stand in a code block, or
in the last lines."""

from __future__ import annotations

from typing import Callable, Iterator, TypeVar

T = TypeVar("T")

# Lines, counted from the end, in which an answer is looked for, and bytes.
_LINES = 64
_BYTES = 64 << 10
WHITE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009"
    "\u200a\u2028\u2029\u202f\u205f\u3000"
)
"""White space, the same in every language; `str.isspace` knows more."""
# What may stand around an answer without meaning anything.
_AROUND = WHITE + '`*"$'
_LABELS = ("final answer:", "answer:", "moves:", "plan:")
_OPEN, _CLOSE = "<answer>", "</answer>"
_BOX = "\\boxed{"


def last(text: str, parse: Callable[[str], T]) -> T:
    """What `parse` makes of what is `marked`, of the text, of its last code block,
    of its last lines together, or of the last line that it can read. It raises
    `ValueError` for what it cannot read; what it raises in the end is about the
    last line.

    >>> [last(text, int) for text in ["7", "It is 7, so\\n**7**", "Answer: 7\\nDone."]]
    [7, 7, 7]
    """
    text = _end(text.strip(WHITE))
    lines = _last_lines(text)
    for passage in _passages(text, lines):
        passage = bare(passage)
        if passage:
            try:
                return parse(passage)
            except ValueError:
                continue
    return parse(bare(lines[-1][1] if lines else ""))


def _passages(text: str, lines: list[tuple[int, str]]) -> Iterator[str]:
    for passage in (marked(text), text, last_block(text)):
        if passage is not None:
            yield passage
    begin = max(text.rfind("\n\n"), 0)
    for start, _ in lines:
        if start >= begin:
            yield text[start:]
    for _, line in reversed(lines):
        yield line


def bare(text: str) -> str:
    """The text without white space and marks of emphasis around it, and without a
    word before it that says what it is."""
    text = text.strip(_AROUND)
    for label in _LABELS:
        head = text[: len(label)]
        if head.isascii() and head.lower() == label:
            return text[len(label) :].strip(_AROUND)
    return text


def marked(text: str) -> str | None:
    """What was marked as the answer, the last time: `<answer>7</answer>` or
    `\\boxed{7}`."""
    end = text.rfind(_CLOSE)
    start = text.rfind(_OPEN, 0, end) if end >= 0 else -1
    if start >= 0:
        return text[start + len(_OPEN) : end]
    start = text.rfind(_BOX)
    if start < 0:
        return None
    inside, depth = text[start + len(_BOX) :], 1
    for at, letter in enumerate(inside):
        depth += (letter == "{") - (letter == "}")
        if depth == 0:
            return inside[:at]
    return None


def final_answer(text: str) -> str:
    """The answer that a text comes to: what is `marked`, or its last line.

    >>> final_answer("2 + 2\\nThe answer is 4.\\nAnswer: **4**")
    '4'
    """
    inside = marked(text)
    if inside is not None:
        return bare(inside)
    lines = _last_lines(text)
    return bare(bare(lines[-1][1] if lines else "").rstrip("."))


def program(text: str) -> str:
    """A program: what stands in the last fenced block, or all of it."""
    block = last_block(text)
    return text if block is None else block


def last_block(text: str) -> str | None:
    """What stands in the last fenced block."""
    trimmed = text.rstrip(WHITE)
    if trimmed.endswith("```"):
        before = trimmed[:-3]
    else:
        end = text.rfind("\n```")
        if end < 0:
            return None
        before = text[:end]
    start = before.rfind("```")
    if start < 0:
        return None
    _language, line, inside = before[start + 3 :].partition("\n")
    return inside if line else None


def _end(text: str) -> str:
    """The text, if it is long only the lines at its end, so that reading is
    bounded."""
    if len(text) * 4 <= _BYTES:
        return text
    data = text.encode()
    if len(data) < _BYTES:
        return text
    tail = data[-_BYTES:].decode(errors="ignore")
    _, line, rest = tail.partition("\n")
    return rest if line else tail


def _last_lines(text: str) -> list[tuple[int, str]]:
    """The last lines that are not blank, in their order, and where they start."""
    lines: list[tuple[int, str]] = []
    end = len(text)
    while end >= 0 and len(lines) < _LINES:
        start = text.rfind("\n", 0, end) + 1
        line = text[start:end]
        if line.strip(WHITE):
            lines.append((start, line))
        end = start - 1
    lines.reverse()
    return lines
