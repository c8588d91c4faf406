"""How the package's own searches are kept short: a task that takes long to draw is given
up, and the next one is drawn instead."""

from __future__ import annotations

import contextlib
import importlib
from collections import deque, namedtuple
from types import SimpleNamespace
from typing import Any, Callable, Iterator

import guards
import terms

# What is called often while a task is drawn that takes long, and how often it may be.
_COUNTED = {
    "futoshiki": ("games.futoshiki", "FutoshikiDataset", "_is_valid", 5_000),
    "knight_swap": ("games.knight_swap", None, "GameState", 2_000),
    "quantum_lock": ("graphs.quantum_lock", "deque", "append", 5_000),
    "sokoban": ("games.contrib.sokoban.src.astar", None, "heappop", 3_000),
    "sudoku": ("games.sudoku", "SudokuDataset", "_get_possible_values", 12_000),
}
# Now and then it tries all divisors of a large number.
_BY_LINES = {"basic_arithmetic"}
# How many lines a drawn program may run.
_LINES = 20_000
# No sequence that is asked for has larger numbers.
_LARGEST = 1_000
# Its larger boards all take too long.
OPTIONS = {"futoshiki": {"max_board_size": 6}}

_left = 0


class GivesUp(Exception):
    """A task that takes too long to draw; the next one is drawn instead."""


@contextlib.contextmanager
def short(name: str) -> Iterator[None]:
    """Let a task of this generator be drawn in a short time, or not at all."""
    global _left
    _left = _COUNTED[name][-1] if name in _COUNTED else 0
    bounded = guards.at_most_lines(_LINES) if name in _BY_LINES else contextlib.nullcontext()
    try:
        with bounded:
            yield
    except guards.Exhausted:
        raise GivesUp("it takes too long") from None


def shorten() -> None:
    """Let nothing be drawn that takes for ever."""
    sokoban = _module("games.contrib.sokoban.src.player").ReversePlayer
    # The same text, without a look at each place of the board.
    sokoban.get_state = lambda player: "".join(
        element.char for element in player.game.puzzle.data if element
    )
    knights = _module("games.knight_swap")
    # It defines the same class for each search.
    knights.GameState = namedtuple("GameState", ("white_set", "black_set", "turn"))
    knights.dataclass = lambda *_, **__: lambda _: knights.GameState
    _module("graphs.quantum_lock").deque = type("Queue", (deque,), {"append": deque.append})
    for name in _COUNTED:
        _count(*_COUNTED[name][:3])
    _module("games.puzzle24").symbols = terms.symbols
    # The solution that it looks for is neither asked for nor shown.
    _module("cognition.rubiks_cube").BasicSolver = lambda _: SimpleNamespace(solve=list)
    rule = _module("cognition.number_sequences").PatternRule
    rule.apply = _small(rule.apply)
    codeio = _module("code.codeio").CodeIODataset
    codeio._generate_io_pair = _run_soon(codeio._generate_io_pair)
    _module("code.codeio").print = lambda *_: None


def _module(name: str) -> Any:
    return importlib.import_module(f"reasoning_gym.{name}")


def _count(module: str, kind: str | None, name: str) -> None:
    """Let a function be called only so often for a task."""
    owner = getattr(_module(module), kind) if kind else _module(module)
    kept = vars(owner)[name]
    call = kept.__func__ if isinstance(kept, staticmethod) else kept

    def counted(*arguments: Any) -> Any:
        global _left
        _left -= 1
        if _left < 0:
            raise guards.Exhausted
        return call(*arguments)

    setattr(owner, name, staticmethod(counted) if isinstance(kept, staticmethod) else counted)


def _small(apply: Callable[..., int]) -> Callable[..., int]:
    """Sequences that become large are not asked for; of squares of squares, the numbers
    would fill the memory before that is seen."""

    def applied(*arguments: Any) -> int:
        term = apply(*arguments)
        if abs(term) > _LARGEST:
            raise OverflowError("no such sequence is asked for")
        return term

    return applied


def _run_soon(run: Callable[..., Any]) -> Callable[..., Any]:
    """Programs that fail or take long make no task."""

    def generate(*arguments: Any, **more: Any) -> Any:
        with guards.at_most_lines(_LINES):
            pair = run(*arguments, **more)
        if pair == ({}, {}):
            raise GivesUp("the program fails")
        return pair

    return generate
